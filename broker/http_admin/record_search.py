"""Search the newest records of a topic over all its partitions."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Annotated, Literal

import msgspec

from broker.cluster.topics import Partition
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Input, PartitionIndex, operation
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import (
    LOOK_EVERY,
    RecordView,
    TransactionOutcome,
    record_view,
    records_between,
)
from broker.http_admin.topics import TopicPath
from protocol.pacing import may_pause, paced, paced_stream
from protocol.records import Record

SEARCH_RECORDS_MAX = 1_000
SCANNED_RECORDS_MAX = 100_000
"""Bound of the records that one request reads, over all partitions."""
SCANNED_BYTES_MAX = 64 * 1024 * 1024
RESULT_BYTES_MAX = 16 * 1024 * 1024
WINDOW_OFFSETS = 500
"""Offsets that are read at once, from the end of a log backwards."""


class SearchQuery(Input):
    """The records to find: the newest ones, of one partition or of all.

    `contains` is text in the key, the value, or a header; upper and lower case differ.
    """

    partition: PartitionIndex | None = None
    contains: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=SEARCH_RECORDS_MAX)] = 50
    encoding: Literal["auto", "base64"] = "auto"


class FoundRecordsView(msgspec.Struct):
    """Records, newest first. `scanned` were read; older ones exist unless `is_complete`."""

    records: list[RecordView]
    scanned: int
    is_complete: bool


class _Budget:
    """What one search may still read, and what it has found."""

    def __init__(self, partition_count: int) -> None:
        self.records = max(WINDOW_OFFSETS, SCANNED_RECORDS_MAX // partition_count)
        self.bytes = SCANNED_BYTES_MAX // partition_count


@operation("GET", "/v1/topics/{name}/records/newest", tag="topics", turn_kind=TurnKind.READING)
@may_pause
def find_newest_records(admin: Admin, path: TopicPath, query: SearchQuery) -> FoundRecordsView:
    """Find the newest records over all partitions, newest first by timestamp.

    It reads at most 100,000 records or 64 MiB, from the ends of the logs backwards, and returns at
    most 16 MiB. Records of open and aborted transactions are included.
    """
    return _search(admin.partitions(path.name, query.partition), query)


@may_pause
def _search(partitions: list[Partition], query: SearchQuery) -> FoundRecordsView:
    pattern = query.contains.encode()
    scanned, is_complete = 0, True
    found: list[tuple[int, int, int, Record, TransactionOutcome | None]] = []
    for partition in paced(partitions):
        budget = _Budget(len(partitions))
        index = partition.partition_index
        matched = 0
        for record, outcome in _backwards(partition):
            if matched >= query.limit or budget.records <= 0 or budget.bytes <= 0:
                is_complete = False
                break
            scanned += 1
            budget.records -= 1
            budget.bytes -= _size(record)
            if _contains(record, pattern):
                matched += 1
                found.append((record.timestamp, record.offset, -index, record, outcome))
    newest = nlargest(query.limit, paced_stream(found), key=lambda row: row[:3])
    views, left_bytes = [], RESULT_BYTES_MAX
    for _timestamp, _offset, negative_index, record, outcome in paced(newest):
        views.append(record_view(-negative_index, record, query.encoding, outcome))
        left_bytes -= _size(record)
        if left_bytes <= 0:
            break
    return FoundRecordsView(views, scanned, is_complete and len(views) == len(found))


@may_pause
def _backwards(
    partition: Partition,
) -> Iterator[tuple[Record, TransactionOutcome | None]]:
    """Yield the records of a partition, the one with the highest offset first; it may pause."""
    end = partition.log.high_watermark
    while end > partition.log.log_start_offset:
        start = max(partition.log.log_start_offset, end - WINDOW_OFFSETS)
        window = list(records_between(partition, start, end))
        yield from paced_stream(reversed(window), LOOK_EVERY)
        end = start


def _size(record: Record) -> int:
    headers = sum(len(value or b"") for _key, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


def _contains(record: Record, pattern: bytes) -> bool:
    if pattern in (record.key or b"") or pattern in (record.value or b""):
        return True
    return any(
        pattern in key.encode() or pattern in (value or b"") for key, value in record.headers
    )
