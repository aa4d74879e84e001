"""The response to a Fetch without rare fields, as bytes.

The result is that of the schema's codec for the message that `handle_fetch` would return.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple
from uuid import UUID  # noqa: TC003 - plain imports show the layers

from broker.cluster.fetch_sessions import SentPartition
from broker.cluster.transaction_index import AbortedTransaction
from protocol import fetch
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_elements
from protocol.short_fields import write_count

LEADER_VERSION_MIN = 16
"""From here on a response names the leader of a partition that has moved."""
MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})

_NO_REPLICA = -1
_DATA = fetch.DATA.pack
_DATA_OF_OLD = fetch.DATA_OF_OLD.pack
_encode_topic = lru_cache(maxsize=1024)(fetch.encode_topic)


@lru_cache(maxsize=1024)
def _count(number: int, is_flexible: bool) -> bytes:
    """Return a number of elements or bytes; most batches have one of few sizes."""
    return write_count(number, is_flexible=is_flexible)


class _Constants(NamedTuple):
    """What nearly all partitions have in a version: one of two middles, often without records."""

    is_flexible: bool
    has_start: bool
    names_leaders: bool
    tags: bytes
    no_aborted: bytes
    none_aborted: bytes
    """The middle of a partition read with READ_COMMITTED."""


@cache
def _constants(version: int) -> _Constants:
    is_flexible = version >= fetch.FLEXIBLE_VERSION_MIN
    return _Constants(
        is_flexible,
        version >= fetch.LOG_START_OFFSET_VERSION_MIN,
        version >= LEADER_VERSION_MIN,
        b"\x00" if is_flexible else b"",
        fetch.encode_middle(version, None, _NO_REPLICA) or b"",
        fetch.encode_middle(version, (), _NO_REPLICA) or b"",
    )


@may_pause
def encode_sent(version: int, sent: Sequence[SentPartition]) -> tuple[list[bytes], int] | None:
    """Return the parts of the array of topics, and how many bytes of records they have.

    There is an entry for each run of one topic's partitions. None if a partition has a tagged
    field, or if something is too long.
    """
    is_flexible, has_start, names_leaders, tags, no_aborted, none_aborted = _constants(version)
    parts = [b""]
    topic_count = partition_count = count_at = total_bytes = 0
    last: str | UUID | None = None
    for cached, data in paced_elements(sent):
        error_code, batches, aborted = data.error_code, data.batches, data.aborted_transactions
        if data.diverging_epoch is not None or (names_leaders and error_code in MOVED):
            return None
        topic_id = cached.topic_id
        topic = cached.topic_name if topic_id is None else topic_id
        if not topic_count or (topic is not last and topic != last):
            if topic_count:
                parts[count_at] = _count(partition_count, is_flexible)
                parts.append(tags)
            beginning = _encode_topic(version, cached.topic_name or "", topic_id)
            if beginning is None:
                return None
            parts += (beginning, b"")
            count_at, partition_count, last = len(parts) - 1, 0, topic
            topic_count += 1
        partition_count += 1
        middle = no_aborted if aborted is None else none_aborted
        if aborted or data.preferred_read_replica != _NO_REPLICA:
            rare = fetch.encode_middle(version, _pairs(aborted), data.preferred_read_replica)
            if rare is None:
                return None
            middle = rare
        record_bytes = data.record_bytes if batches else 0
        total_bytes += record_bytes
        fields = (
            cached.partition_index,
            error_code,
            data.high_watermark,
            data.last_stable_offset,
        )
        offsets = _DATA(*fields, data.log_start_offset) if has_start else _DATA_OF_OLD(*fields)
        parts += (offsets, middle, _count(record_bytes, is_flexible), *batches, tags)
    if topic_count:
        parts[count_at] = _count(partition_count, is_flexible)
        parts.append(tags)
    parts[0] = _count(topic_count, is_flexible)
    parts.append(tags)
    return parts, total_bytes


def no_topics(version: int) -> list[bytes]:
    """Return the parts of an array without topics."""
    is_flexible = version >= fetch.FLEXIBLE_VERSION_MIN
    return [write_count(0, is_flexible=is_flexible), b"\x00" if is_flexible else b""]


def _pairs(
    aborted: Sequence[AbortedTransaction] | None,
) -> list[tuple[int, int]] | None:
    if aborted is None:
        return None
    return [(entry.producer_id, entry.first_offset) for entry in aborted]
