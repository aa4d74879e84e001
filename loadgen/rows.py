"""One row per request, packed into a buffer; `row_encoder` makes Arrow columns of it.

`begin` adds a row when a request is sent; `end` completes it with the response. Each is one
`pack_into`, because many requests call both. A run is packed once for all its requests.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

import numpy as np
import pyarrow as pa

SCHEMA = (
    "worker int, event_id bigint, tenant string, user string, client int, api string,"
    " version smallint, intended_us bigint, submitted_us bigint, sent_us bigint,"
    " response_us bigint, producer_id bigint, epoch smallint, sequence int, topic string,"
    " partition int, records int,"
    " bytes int, error_code smallint, throttle_time_ms int, attempt smallint, status string,"
    " kind string, base_offset bigint, mutations int, early_us bigint, node int,"
    " worker_cpu_us bigint, worker_wall_us bigint"
)
"""The schema of the results in Spark; docs/load.md describes each column."""

SEQUENCE_MAX = 0x7FFFFFFF
EVENT_STEP = 2**32
"""The difference between the ids of two events of a closed loop."""
NONE = -(2**62)
"""A time that is missing."""
CHUNK_ROWS = 32_768
"""4 MB: several chunks wait to be written without much memory."""


class Status(IntEnum):
    """How a request ended."""

    NO_RESPONSE = 0
    RESPONDED = 1
    LOST = 2
    """The connection closed before the response; the client may have closed it."""
    EXPIRED = 3
    """The delivery timeout of the batch expired; `response_us` is when the producer said so."""
    NOT_SENT = 4


class Kind(IntEnum):
    """Which stored batch a batch duplicates that is sent again; what EndTxn or Fetch is for."""

    NEW = 0
    LATEST = 1
    OLD = 2
    WRAPAROUND = 3
    COMMIT = 4
    ABORT = 5
    CATCH_UP = 6


_FIELDS: tuple[tuple[str, str], ...] = (
    ("event_id", "q"),
    ("intended_us", "q"),
    ("submitted_us", "q"),
    ("sent_us", "q"),
    ("attempt", "h"),
    ("kind", "h"),
    ("producer_id", "q"),
    ("epoch", "h"),
    ("sequence", "i"),
    ("early_us", "q"),
)
STAMPED_FIELDS: tuple[tuple[str, str], ...] = (
    ("client", "i"),
    ("api", "h"),
    ("version", "h"),
    ("topic", "i"),
    ("partition", "i"),
    ("records", "i"),
    ("bytes", "i"),
    ("node", "i"),
)
"""The fields that all requests of one kind over one connection share."""
_ENDING: tuple[tuple[str, str], ...] = (
    ("response_us", "q"),
    ("error_code", "h"),
    ("throttle_time_ms", "i"),
    ("base_offset", "q"),
    ("mutations", "i"),
    ("status", "h"),
)
COLUMNS = _FIELDS + STAMPED_FIELDS + _ENDING
"""The fields of a packed row, with their codes of `struct`."""
NUMPY_CODES = {"q": "<i8", "i": "<i4", "h": "<i2"}
ROW_DTYPE = np.dtype([(name, NUMPY_CODES[code]) for name, code in COLUMNS])


def _codes(fields: tuple[tuple[str, str], ...]) -> str:
    return "".join(code for _, code in fields)


_STAMP = Struct("<" + _codes(STAMPED_FIELDS))
_END = Struct("<" + _codes(_ENDING))
_NO_END = _END.pack(NONE, 0, 0, -1, 0, Status.NO_RESPONSE)
_ROW = Struct(f"<{_codes(_FIELDS)}{_STAMP.size}s{_END.size}s")
_COMPLETE_ROW = Struct(f"<{_codes(_FIELDS)}{_STAMP.size}s{_codes(_ENDING)}")
_END_POSITION = _ROW.size - _END.size
RUN_FIELDS: tuple[tuple[str, str], ...] = (
    ("count", "i"),
    ("event_id", "q"),
    ("intended_us", "q"),
    ("submitted_us", "q"),
    ("sent_us", "q"),
    ("response_us", "q"),
    ("attempt", "h"),
    ("producer_id", "q"),
    ("epoch", "h"),
    ("sequence", "i"),
    ("early_us", "q"),
)
"""The fields that all requests of a run share, before those of a stamp."""
_RUN = Struct(f"<{_codes(RUN_FIELDS)}{_STAMP.size}s")
RUN_DTYPE = np.dtype([(name, NUMPY_CODES[code]) for name, code in RUN_FIELDS + STAMPED_FIELDS])


class Chunk(NamedTuple):
    """Rows that are complete, and others between them that are not."""

    buffer: bytearray
    rows: int
    incomplete: Sequence[int]
    """The indices of rows that a later chunk has."""


class RunChunk(NamedTuple):
    """Complete rows of requests that were sent and answered together."""

    runs: list[bytes]
    """For each run its `RUN_DTYPE`: what its requests share, and how many they are."""
    base_offsets: list[int]
    """Those of all requests."""

    @property
    def rows(self) -> int:
        """The number of requests."""
        return len(self.base_offsets)


class Rows:
    """The rows of one worker, in times of `clock.now_us`; `RowEncoder` makes them relative.

    Rows are passed on in chunks, so that memory does not depend on the length of the run. A row
    whose response is outstanding then waits outside the buffer, and is in a later chunk.
    """

    def __init__(self, chunk_rows: int = CHUNK_ROWS) -> None:
        """Pass on at most `chunk_rows` rows together."""
        self.sink: Callable[[Chunk | RunChunk], None] | None = None
        """Takes the chunks; until it is set they are kept."""
        self.free: deque[bytearray] = deque()
        """Buffers of earlier chunks, to be used again."""
        self.taken = 0
        """The number of rows in all chunks so far."""
        self._kept: list[Chunk | RunChunk] = []
        self._size = chunk_rows * _ROW.size
        self._buffer = bytearray(self._size)
        self._base = self._end = 0
        self._limit = self._size
        self._incomplete: dict[int, bytearray] = {}
        self._chunk_rows = chunk_rows
        self._runs = RunChunk([], [])
        self._topics: dict[str, int] = {"": 0}

    def __len__(self) -> int:
        in_buffer = (self._end - self._base) // _ROW.size
        return self.taken + in_buffer + len(self._incomplete) + self._runs.rows

    @property
    def topics(self) -> list[str | None]:
        """The names of the topics, by number."""
        return [name or None for name in list(self._topics)]

    def flush(self, *, is_last: bool = False) -> None:
        """Pass on all complete rows; at the end also those that will have no response."""
        if is_last:
            for waiting in list(self._incomplete.values()):
                self._append(waiting)
            self._incomplete.clear()
        if self._end > self._base:
            self._pass_on(keeps_incomplete=not is_last)
        self._pass_on_runs()
        if self.sink is not None:
            for chunk in self._kept:
                self.sink(chunk)
            self._kept.clear()

    def _pass_on(self, *, keeps_incomplete: bool = True) -> None:
        """Start another buffer; rows without a response wait outside of it."""
        count = (self._end - self._base) // _ROW.size
        incomplete: list[int] = []
        if keeps_incomplete:
            table = np.frombuffer(self._buffer, ROW_DTYPE, count=count)
            incomplete = np.flatnonzero(table["status"] == Status.NO_RESPONSE).tolist()
            for index in incomplete:
                start = index * _ROW.size
                row = self._buffer[start : start + _ROW.size]
                self._incomplete[self._base + start] = row
        chunk = Chunk(self._buffer, count, incomplete)
        self.taken += count - len(incomplete)
        self._buffer = self.free.popleft() if self.free else bytearray(self._size)
        self._base = self._end
        self._limit = self._base + self._size
        (self.sink or self._kept.append)(chunk)

    def _pass_on_runs(self) -> None:
        if self._runs.rows:
            self.taken += self._runs.rows
            (self.sink or self._kept.append)(self._runs)
            self._runs = RunChunk([], [])

    def add_run(
        self,
        stamp: bytes,
        count: int,
        event_id: int,
        intended_us: int,
        submitted_us: int,
        sent_us: int,
        response_us: int,
        attempt: int,
        producer_id: int,
        epoch: int,
        sequence: int,
        early_us: int,
        base_offsets: Sequence[int],
    ) -> None:
        """Add complete rows of requests that were sent together and succeeded at the same time.

        Event id and sequence are those of the first request. Event ids differ by EVENT_STEP,
        sequences by the records of a request; without idempotence all of them are -1.
        """
        runs = self._runs
        runs.runs.append(
            _RUN.pack(
                count, event_id, intended_us, submitted_us, sent_us, response_us, attempt,
                producer_id, epoch, sequence, early_us, stamp,
            )
        )  # fmt: skip
        runs.base_offsets.extend(base_offsets)
        if len(runs.base_offsets) >= self._chunk_rows:
            self._pass_on_runs()

    def add_stamped(
        self,
        stamp: bytes,
        event_id: int,
        intended_us: int,
        submitted_us: int,
        sent_us: int,
        attempt: int,
        producer_id: int,
        epoch: int,
        sequence: int,
        early_us: int,
        response_us: int,
        error_code: int,
        throttle_time_ms: int,
        base_offset: int,
    ) -> None:
        """Do what `begin_stamped` and `end` do, faster, once there is a response."""
        row = self._end
        if row == self._limit:
            self._pass_on()
        _COMPLETE_ROW.pack_into(
            self._buffer, row - self._base, event_id, intended_us, submitted_us, sent_us, attempt,
            0, producer_id, epoch, sequence, early_us, stamp, response_us, error_code,
            throttle_time_ms, base_offset, 0, 1,
        )  # fmt: skip
        self._end = row + _ROW.size

    def _append(self, row: bytearray) -> None:
        if self._end == self._limit:
            self._pass_on()
        start = self._end - self._base
        self._buffer[start : start + _ROW.size] = row
        self._end += _ROW.size

    def topic_number(self, topic: str) -> int:
        """Return the number of a topic for `begin` and `stamp`."""
        return self._topics.setdefault(topic, len(self._topics))

    def begin(
        self,
        *,
        event_id: int,
        intended_us: int,
        submitted_us: int,
        sent_us: int,
        client: int,
        api: int,
        version: int,
        attempt: int = 1,
        kind: int = 0,
        topic: int = 0,
        partition: int = -1,
        producer_id: int = -1,
        epoch: int = -1,
        sequence: int = -1,
        records: int = 0,
        request_bytes: int = 0,
        early_us: int = 0,
        node: int = -1,
    ) -> int:
        """Add the row of a request that is being sent; return its position for `end`."""
        stamp = _STAMP.pack(client, api, version, topic, partition, records, request_bytes, node)
        return self.begin_stamped(
            stamp, event_id, intended_us, submitted_us, sent_us, attempt, producer_id, epoch,
            sequence, early_us, kind,
        )  # fmt: skip

    def stamp(
        self,
        *,
        client: int,
        api: int,
        version: int,
        topic: int,
        partition: int,
        records: int,
        request_bytes: int,
        node: int,
    ) -> bytes:
        """Pack the fields that several requests share, for `begin_stamped`."""
        return _STAMP.pack(client, api, version, topic, partition, records, request_bytes, node)

    def begin_stamped(
        self,
        stamp: bytes,
        event_id: int,
        intended_us: int,
        submitted_us: int,
        sent_us: int,
        attempt: int,
        producer_id: int,
        epoch: int,
        sequence: int,
        early_us: int,
        kind: int = 0,
    ) -> int:
        """Do what `begin` does, faster: the producer that pipelines calls it for each request."""
        row = self._end
        if row == self._limit:
            self._pass_on()
        _ROW.pack_into(
            self._buffer, row - self._base, event_id, intended_us, submitted_us, sent_us, attempt,
            kind, producer_id, epoch, sequence, early_us, stamp, _NO_END,
        )  # fmt: skip
        self._end = row + _ROW.size
        return row

    def end(
        self,
        row: int,
        response_us: int,
        error_code: int,
        throttle_time_ms: int = 0,
        base_offset: int = -1,
        mutations: int = 0,
        status: int = 1,
    ) -> None:
        """Complete a row: its response arrived, or `status` says how else it ended."""
        position = row - self._base
        if position < 0:
            self._end_waiting(
                row, (response_us, error_code, throttle_time_ms, base_offset, mutations, status)
            )
            return
        _END.pack_into(
            self._buffer, position + _END_POSITION,
            response_us, error_code, throttle_time_ms, base_offset, mutations, status,
        )  # fmt: skip

    def mark_lost(self, row: int) -> None:
        """Complete a row whose connection closed before the response."""
        self.end(row, NONE, 0, status=Status.LOST)

    def _end_waiting(self, row: int, ending: tuple[int, ...]) -> None:
        """Complete a row that waits outside the buffer; the first ending of a row counts."""
        waiting = self._incomplete.pop(row, None)
        if waiting is not None:
            _END.pack_into(waiting, _END_POSITION, *ending)
            self._append(waiting)

    def chunks(self) -> Iterator[Chunk | RunChunk]:
        """Return all rows so far, if there is no sink."""
        count = (self._end - self._base) // _ROW.size
        waiting = bytearray().join(self._incomplete.values())
        open_chunks = (
            Chunk(self._buffer, count, ()),
            Chunk(waiting, len(self._incomplete), ()),
        )
        for chunk in (*self._kept, *open_chunks, self._runs):
            if chunk.rows:
                yield chunk


RESULTS = "results"
"""The folder of the rows."""
_ARROW = {"bigint": pa.int64(), "int": pa.int32(), "smallint": pa.int16(), "string": pa.string()}
ARROW_SCHEMA = pa.schema(
    [
        pa.field(name, _ARROW[kind])
        for name, kind in (column.split() for column in SCHEMA.split(", "))
    ]
)
