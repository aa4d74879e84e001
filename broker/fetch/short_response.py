"""The response to a Fetch without rare fields, as bytes.

The result is that of the schema's codec for the message that `handle_fetch` would return.
"""

from collections.abc import Sequence
from uuid import UUID  # noqa: TC003 - plain imports show the layers

from broker.cluster.fetch_sessions import SentPartition
from broker.cluster.transaction_index import AbortedTransaction
from protocol import fetch
from protocol.pacing import may_pause, paced_elements

_TAGS_OF_PARTITION = b"\x00"
_NO_REPLICA = -1
_DATA = fetch.DATA.pack
_DATA_OF_OLD = fetch.DATA_OF_OLD.pack


@may_pause
def encode_sent(version: int, sent: Sequence[SentPartition]) -> list[bytes] | None:
    """Return the parts of the array of topics: an entry for each run of one topic's partitions.

    None if a partition has a tagged field, or if something is too long.
    """
    tags = _TAGS_OF_PARTITION if version >= fetch.FLEXIBLE_VERSION_MIN else b""
    has_start = version >= fetch.LOG_START_OFFSET_VERSION_MIN
    # Nearly all partitions have one of two middles, and in a long response no records.
    middles = {
        aborted: fetch.encode_middle(version, aborted, _NO_REPLICA) or b"" for aborted in (None, ())
    }
    no_records = fetch.encode_size(version, 0)
    bare = {aborted: middle + no_records + tags for aborted, middle in middles.items()}
    topics: list[tuple[bytes, int, list[bytes]]] = []
    parts: list[bytes] = []
    count = 0
    beginning = b""
    last: str | UUID | None = None
    for cached, data in paced_elements(sent):
        if data.diverging_epoch is not None:
            return None
        topic = cached.topic_name if cached.topic_id is None else cached.topic_id
        if not count or (topic is not last and topic != last):
            if count:
                topics.append((beginning, count, parts))
            found = fetch.encode_topic(version, cached.topic_name or "", cached.topic_id)
            if found is None:
                return None
            beginning, parts, count, last = found, [], 0, topic
        count += 1
        fields = (
            cached.partition_index,
            data.error_code,
            data.high_watermark,
            data.last_stable_offset,
        )
        offsets = _DATA(*fields, data.log_start_offset) if has_start else _DATA_OF_OLD(*fields)
        aborted = data.aborted_transactions
        is_plain = not aborted and data.preferred_read_replica == _NO_REPLICA
        if is_plain and not data.batches:
            parts.append(offsets + bare[aborted if aborted is None else ()])
            continue
        middle = (
            middles[aborted if aborted is None else ()]
            if is_plain
            else fetch.encode_middle(version, _pairs(aborted), data.preferred_read_replica)
        )
        if middle is None:
            return None
        parts.append(offsets + middle + fetch.encode_size(version, data.record_bytes))
        parts += data.batches
        parts.append(tags)
    if count:
        topics.append((beginning, count, parts))
    return fetch.encode_topics(version, topics)


def _pairs(
    aborted: Sequence[AbortedTransaction] | None,
) -> list[tuple[int, int]] | None:
    if aborted is None:
        return None
    return [(entry.producer_id, entry.first_offset) for entry in aborted]
