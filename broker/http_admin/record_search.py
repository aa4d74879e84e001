"""Search the records of a topic over all its partitions, from either end, one page at a time."""

from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace
from typing import Annotated, Literal

import msgspec

from broker.cluster.topics import Partition
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Count, Input, PartitionIndex, operation
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
FIRST_WINDOW_OFFSETS = 16
WINDOW_OFFSETS = 500
"""Offsets that are read at once from the end of a log backwards: few at first, then ever more."""
OFFSETS_CHARACTERS_MAX = 5_000
"""Room for 500 partitions and more; the line of a request has a bound."""

_Found = tuple[Record, TransactionOutcome | None]


class SearchQuery(Input):
    """The records to find: of one partition or of all, with a text.

    `contains` is text in a part of the record, `within`; upper and lower case differ. For the page
    after another one, `offsets` has its `next_offsets`, such as `0:17,1:20`. Partitions that are
    not in it have no more records.
    """

    partition: PartitionIndex | None = None
    contains: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    within: Literal["any", "key", "value", "headers"] = "any"
    limit: Annotated[int, msgspec.Meta(ge=1, le=SEARCH_RECORDS_MAX)] = 50
    encoding: Literal["auto", "base64"] = "auto"
    offsets: Annotated[
        str,
        msgspec.Meta(
            max_length=OFFSETS_CHARACTERS_MAX, pattern=r"^(\d{1,9}:\d{1,18}(,\d{1,9}:\d{1,18})*)?$"
        ),
    ] = ""

    def begins(self) -> dict[int, int] | None:
        """Return where the page begins in each partition; None for the first page."""
        if not self.offsets:
            return None
        pairs = (pair.split(":") for pair in self.offsets.split(","))
        return {int(index): int(offset) for index, offset in pairs}

    def fits(self, record: Record) -> bool:
        """Return whether a record has the text."""
        if not self.contains:
            return True
        pattern = self.contains.encode()
        if self.within in {"any", "key"} and pattern in (record.key or b""):
            return True
        if self.within in {"any", "value"} and pattern in (record.value or b""):
            return True
        return self.within in {"any", "headers"} and any(
            pattern in key.encode() or pattern in (value or b"") for key, value in record.headers
        )


class OldestQuery(SearchQuery):
    """As for the newest records; those from `offset` on, or from `timestamp` on.

    `timestamp` is in ms since the epoch: in each partition the page begins at the first record that
    has it or a later one, and is not before `offset`.
    """

    offset: Count = 0
    timestamp: Count | None = None


class FoundRecordsView(msgspec.Struct):
    """Records in their order. `scanned` were read; others exist unless `is_complete`.

    `next_offsets` says where the next page begins in each partition that may have more records: at
    this offset, or, of the newest records, before it.
    """

    records: list[RecordView]
    scanned: int
    is_complete: bool
    next_offsets: dict[int, int]


class _Scan:
    """The records of one partition that fit, in one direction, within a budget."""

    def __init__(self, partition: Partition, query: SearchQuery, partition_count: int) -> None:
        self.partition = partition
        self.match: _Found | None = None
        """The next record that fits; None at the end of the log or of the budget."""
        self.scanned = 0
        self._query = query
        self._records_left = max(WINDOW_OFFSETS, SCANNED_RECORDS_MAX // partition_count)
        self._bytes_left = SCANNED_BYTES_MAX // partition_count
        self._is_backwards = not isinstance(query, OldestQuery)
        self._records: Iterator[_Found] = iter(())
        self.next_offset: int | None = None
        """Where a later page goes on; None at the end of the log."""

    @may_pause
    def begin(self, admin: Admin, begins: dict[int, int] | None) -> None:
        """Find the first match."""
        partition, query = self.partition, self._query
        end = partition.log.high_watermark
        default = end
        if isinstance(query, OldestQuery):
            default = query.offset
            if begins is None and query.timestamp is not None:
                default = max(default, admin.offset_from_time(partition, query.timestamp))
        begin = default if begins is None else begins[partition.partition_index]
        if self._is_backwards:
            self._records = _backwards(partition, min(begin, end))
        else:
            self._records = records_between(partition, begin, end)
        self.advance()

    def advance(self) -> None:
        """Go on to the next match."""
        self.match = None
        for record, outcome in self._records:
            self.next_offset = record.offset + self._is_backwards
            if self._records_left <= 0 or self._bytes_left <= 0:
                return
            self.scanned += 1
            self._records_left -= 1
            self._bytes_left -= _size(record)
            if self._query.fits(record):
                self.match = record, outcome
                return
        self.next_offset = None

    def end(self) -> int:
        """Leave the log, and return how many records were read."""
        self._records = iter(())
        return self.scanned

    @property
    def rank(self) -> int:
        """The place of the match among those of other partitions: the lowest comes first."""
        assert self.match is not None
        timestamp = self.match[0].timestamp
        return -timestamp if self._is_backwards else timestamp


@operation("GET", "/v1/topics/{name}/records/newest", tag="topics", turn_kind=TurnKind.READING)
@may_pause
def find_newest_records(admin: Admin, path: TopicPath, query: SearchQuery) -> FoundRecordsView:
    """Find the newest records over all partitions, newest first by timestamp.

    It reads at most 100,000 records or 64 MiB, from the ends of the logs backwards, and returns at
    most 16 MiB. Records of open and aborted transactions are included. In a partition the order is
    that of the offsets.
    """
    return _search(admin, path, query)


@operation("GET", "/v1/topics/{name}/records/oldest", tag="topics", turn_kind=TurnKind.READING)
@may_pause
def find_oldest_records(admin: Admin, path: TopicPath, query: OldestQuery) -> FoundRecordsView:
    """Find the records from an offset or a time on, over all partitions, oldest first.

    What it reads and returns at most is as for the newest records.
    """
    return _search(admin, path, query)


@may_pause
def _search(admin: Admin, path: TopicPath, query: SearchQuery) -> FoundRecordsView:
    begins = query.begins()
    partitions = [
        partition
        for partition in paced(admin.partitions(path.name, query.partition))
        if begins is None or partition.partition_index in begins
    ]
    scans = [_Scan(partition, query, len(partitions)) for partition in paced(partitions)]
    for scan in paced(scans):
        scan.begin(admin, begins)
    heads = [
        (scan.rank, scan.partition.partition_index, scan)
        for scan in paced(scans)
        if scan.match is not None
    ]
    heapify(heads)
    views: list[RecordView] = []
    left_bytes = RESULT_BYTES_MAX
    for _ in paced_stream(range(query.limit), LOOK_EVERY):
        if not heads or left_bytes <= 0:
            break
        _rank, index, scan = heads[0]
        assert scan.match is not None
        record, outcome = scan.match
        views.append(record_view(index, record, query.encoding, outcome))
        left_bytes -= _size(record)
        scan.advance()
        if scan.match is None:
            heappop(heads)
        else:
            heapreplace(heads, (scan.rank, index, scan))
    next_offsets = {
        scan.partition.partition_index: scan.next_offset
        for scan in paced(scans)
        if scan.next_offset is not None
    }
    scanned = sum(scan.end() for scan in paced(scans))
    return FoundRecordsView(views, scanned, not next_offsets, next_offsets)


@may_pause
def _backwards(partition: Partition, end: int) -> Iterator[_Found]:
    """Yield the records before an offset, the one with the highest offset first; it may pause."""
    window_offsets = FIRST_WINDOW_OFFSETS
    while end > partition.log.log_start_offset:
        start = max(partition.log.log_start_offset, end - window_offsets)
        window = list(records_between(partition, start, end))
        yield from paced_stream(reversed(window), LOOK_EVERY)
        end = start
        window_offsets = min(2 * window_offsets, WINDOW_OFFSETS)


def _size(record: Record) -> int:
    headers = sum(len(value or b"") for _key, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
