"""The response to a Fetch without rare fields, as bytes.

The result is that of the schema's codec for the message that `handle_fetch` would return.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import groupby
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from broker.cluster.fetch_sessions import CachedPartition, FetchPartitionData, SentPartition
from broker.cluster.transaction_index import AbortedTransaction
from broker.responses import PARTS_BYTES_MIN
from protocol import fetch
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY, may_pause, paced_elements
from protocol.short_fields import write_count

LEADER_VERSION_MIN = 16
"""From here on a response names the leader of a partition that has moved."""
MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})

_NO_REPLICA = -1


@lru_cache(maxsize=1024)
def _count(number: int, is_flexible: bool) -> bytes:
    """Return a number of elements or bytes; most batches have one of few sizes."""
    return write_count(number, is_flexible=is_flexible)


@lru_cache(maxsize=1024)
def _beginning(
    version: int, topic_count: int | None, name: str, topic_id: UUID | None, partition_count: int
) -> bytes | None:
    """Return what is in front of the partitions of a topic; None if its name is too long.

    For the first topic this includes the number of topics.
    """
    topic, is_flexible = (
        fetch.encode_topic(version, name, topic_id),
        _constants(version).is_flexible,
    )
    if topic is None:
        return None
    counted = b"" if topic_count is None else _count(topic_count, is_flexible)
    return counted + topic + _count(partition_count, is_flexible)


class _Constants(NamedTuple):
    """What nearly all partitions have in a version: one of two middles, often without records."""

    is_flexible: bool
    names_leaders: bool
    pack: Callable[[int, int, int, int, int], bytes]
    """Takes index, error code, high watermark, last stable offset and log start offset."""
    tags: bytes
    no_aborted: bytes
    none_aborted: bytes
    """The middle of a partition read with READ_COMMITTED."""


@cache
def _constants(version: int) -> _Constants:
    is_flexible = version >= fetch.FLEXIBLE_VERSION_MIN
    has_start = version >= fetch.LOG_START_OFFSET_VERSION_MIN
    return _Constants(
        is_flexible,
        version >= LEADER_VERSION_MIN,
        fetch.DATA.pack if has_start else lambda *fields: fetch.DATA_OF_OLD.pack(*fields[:-1]),
        b"\x00" if is_flexible else b"",
        fetch.encode_middle(version, None, _NO_REPLICA) or b"",
        fetch.encode_middle(version, (), _NO_REPLICA) or b"",
    )


@lru_cache(maxsize=1024)
def _around_one(
    version: int, name: str, topic_id: UUID | None, is_uncommitted: bool
) -> tuple[Callable[..., bytes], bytes, bytes, bytes] | None:
    """Return how to pack the fields of a response with one partition, and what is around them."""
    constants = _constants(version)
    beginning = _beginning(version, 1, name, topic_id, 1)
    if version < fetch.SESSION_VERSION_MIN or beginning is None:
        return None
    middle = constants.no_aborted if is_uncommitted else constants.none_aborted
    layout = f">ihi{len(beginning)}sihqqq{len(middle)}s"
    return Struct(layout).pack, beginning, middle, constants.tags * 3


def encode_only(
    version: int, session_id: int, cached: CachedPartition, data: FetchPartitionData
) -> bytes | None:
    """Return the body of a response with one partition that has a few records and nothing rare.

    It is what `encode_sent` and `protocol.fetch.encode_response` make of it; None for any other. A
    partition with records has no error.
    """
    # fmt: off
    (
        _error_code, high_watermark, stable_offset, log_start_offset, batches, _replica_id,
        _diverging_epoch, aborted, _is_beyond_end, record_bytes,
    ) = data
    # fmt: on
    if not batches or aborted or record_bytes >= PARTS_BYTES_MIN:
        return None
    around = _around_one(version, cached.topic_name or "", cached.topic_id, aborted is None)
    if around is None:
        return None
    pack, beginning, middle, end = around
    # fmt: off
    start = pack(
        0, 0, session_id, beginning, cached.partition_index, 0, high_watermark, stable_offset,
        log_start_offset, middle,
    )
    # fmt: on
    return b"".join((start, _count(record_bytes, end != b""), *batches, end))


@may_pause
def encode_sent(version: int, sent: Sequence[SentPartition]) -> tuple[list[bytes], int] | None:
    """Return the parts of the array of topics, and how many bytes of records they have.

    There is an entry for each run of one topic's partitions. None if a partition has a tagged
    field, or if something is too long.
    """
    is_flexible, names_leaders, pack, tags, no_aborted, none_aborted = _constants(version)
    if not sent:
        return [no_topics(version)], 0
    runs = (sent,) if len(sent) == 1 else _runs(sent)
    parts: list[bytes] = []
    topic_count: int | None = len(runs)
    total_bytes = 0
    for run in runs if len(runs) <= LOOK_EVERY else paced_elements(runs):
        cached = run[0][0]
        name, topic_id = cached.topic_name or "", cached.topic_id
        beginning = _beginning(version, topic_count, name, topic_id, len(run))
        if beginning is None:
            return None
        parts.append(beginning)
        topic_count = None
        for cached, data in paced_elements(run):
            # fmt: off
            (
                error_code, high_watermark, stable_offset, log_start_offset, batches, replica_id,
                diverging_epoch, aborted, _is_beyond_end, record_bytes,
            ) = data
            # fmt: on
            if diverging_epoch is not None or (names_leaders and error_code in MOVED):
                return None
            middle = no_aborted if aborted is None else none_aborted
            if aborted or replica_id != _NO_REPLICA:
                rare = fetch.encode_middle(version, _pairs(aborted), replica_id)
                if rare is None:
                    return None
                middle = rare
            total_bytes += record_bytes
            index = cached.partition_index
            offsets = pack(index, error_code, high_watermark, stable_offset, log_start_offset)
            parts += (offsets, middle, _count(record_bytes, is_flexible), *batches, tags)
        parts.append(tags)
    parts.append(tags)
    return parts, total_bytes


@may_pause
def _runs(sent: Sequence[SentPartition]) -> list[list[SentPartition]]:
    """Return the partitions in lists: those of one topic that are behind each other."""
    return [list(run) for _, run in groupby(paced_elements(sent), _topic_of)]


def _topic_of(sent: SentPartition) -> str | UUID | None:
    cached = sent[0]
    return cached.topic_name if cached.topic_id is None else cached.topic_id


def no_topics(version: int) -> bytes:
    """Return an array without topics."""
    is_flexible = version >= fetch.FLEXIBLE_VERSION_MIN
    return write_count(0, is_flexible=is_flexible) + (b"\x00" if is_flexible else b"")


def _pairs(
    aborted: Sequence[AbortedTransaction] | None,
) -> list[tuple[int, int]] | None:
    if aborted is None:
        return None
    return [(entry.producer_id, entry.first_offset) for entry in aborted]
