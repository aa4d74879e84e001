"""The response to a Fetch with few partitions, as bytes.

The result is that of the schema's codec for the message that `handle_fetch` would return.
"""

from collections.abc import Sequence
from uuid import UUID  # noqa: TC003 - plain imports show the layers

from broker.cluster.fetch_sessions import SentPartition
from protocol import fetch

_TAGS_OF_PARTITION = b"\x00"


def encode_sent(version: int, sent: Sequence[SentPartition]) -> list[bytes] | None:
    """Return the parts of the array of topics: an entry for each run of one topic's partitions.

    None if a partition has a tagged field, or if something is too long.
    """
    is_flexible = version >= fetch.FLEXIBLE_VERSION_MIN
    topics: list[tuple[bytes, int, list[bytes]]] = []
    last: str | UUID | None = None
    for cached, data in sent:
        if data.diverging_epoch is not None:
            return None
        aborted = data.aborted_transactions
        partition = fetch.encode_partition(
            version,
            cached.partition_index,
            data.error_code,
            data.high_watermark,
            data.last_stable_offset,
            data.log_start_offset,
            None
            if aborted is None
            else [(entry.producer_id, entry.first_offset) for entry in aborted],
            data.preferred_read_replica,
            data.record_bytes,
        )
        if partition is None:
            return None
        parts = [partition, *data.batches]
        if is_flexible:
            parts.append(_TAGS_OF_PARTITION)
        topic = cached.topic_name if cached.topic_id is None else cached.topic_id
        if topics and topic == last:
            beginning, count, before = topics[-1]
            before += parts
            topics[-1] = beginning, count + 1, before
            continue
        beginning_or_none = fetch.encode_topic(version, cached.topic_name or "", cached.topic_id)
        if beginning_or_none is None:
            return None
        topics.append((beginning_or_none, 1, parts))
        last = topic
    return fetch.encode_topics(version, topics)
