"""Write the rows of a worker in segments of a few seconds, in a thread.

A segment is one Parquet file, which appears when it is complete. A worker that is killed therefore
loses the rows of its last segment only.
"""

import queue
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen import clock
from loadgen.receipts import Receipt, Receipts, batch_of
from loadgen.row_encoder import ENCODED_SCHEMA, TEXTS, RowEncoder
from loadgen.rows import Chunk, Rows, RunChunk
from loadgen.storage import Storage

PENDING_MAX = 16
"""Chunks that may wait to be written; then the worker waits, and the report shows its lateness."""
STOP_FILE = "_stop"
"""A file with this name among the segments stops all workers."""


def segment_name(worker: int, number: int) -> str:
    """Return the name of a worker's segment; the numbers of complete ones follow each other."""
    return f"part-{worker:05}-{number:06}.parquet"


class _SegmentEnd(NamedTuple):
    """What the thread gets at the end of a segment."""

    receipts: list[Receipt]


class SegmentWriter:
    """Takes the chunks of `rows` and writes them as `segment_name` says.

    It writes receipts at the end of each segment, as files of the same names in their own folder.

    Attributes:
        error: why writing has failed, as one line; later rows are lost.
        is_stopping: whether there is a file `STOP_FILE`.
        segments: the number of complete segments.
    """

    def __init__(
        self,
        rows: Rows,
        encoder: RowEncoder,
        storage: Storage,
        folder: tuple[str, ...],
        worker: int,
        segment_s: float,
        receipts: tuple[Receipts, tuple[str, ...]] | None = None,
    ) -> None:
        """Write to `folder` of the storage; start a segment every `segment_s` seconds.

        `receipts` are those of the worker and their folder, if there may be some.
        """
        self.error: str | None = None
        self.is_stopping = False
        self.segments = 0
        self._rows, self._encoder, self._storage = rows, encoder, storage
        self._folder, self._worker = folder, worker
        self._receipts, self._receipts_files = receipts, 0
        self._segment_us = round(segment_s * 1e6)
        self._began_us, self._began_cpu_us = clock.now_us(), clock.cpu_us()
        self._flushed_us = self._began_us
        self._queue: queue.Queue[Chunk | RunChunk | _SegmentEnd] = queue.Queue(PENDING_MAX)
        self._thread = threading.Thread(target=self._write_all, daemon=True)
        self._is_last = False

    def start(self) -> None:
        """Begin to write; from now on CPU and time of the worker count."""
        self._began_us, self._began_cpu_us = clock.now_us(), clock.cpu_us()
        self._flushed_us = self._began_us
        self._thread.start()
        self._rows.sink = self._queue.put

    def tick(self) -> None:
        """End the segment if it is old enough."""
        now_us = clock.now_us()
        if now_us - self._flushed_us >= self._segment_us:
            self._flushed_us = now_us
            self._rows.flush()
            self._queue.put(self._segment_end())

    def close(self) -> None:
        """Write all rows that are left."""
        self._rows.flush(is_last=True)
        end = self._segment_end()
        self._is_last = True
        self._queue.put(end)
        self._thread.join()

    def _segment_end(self) -> _SegmentEnd:
        return _SegmentEnd([] if self._receipts is None else self._receipts[0].take())

    @property
    def cpu_us(self) -> int:
        """The CPU time of the worker since `start`."""
        return clock.cpu_us() - self._began_cpu_us

    @property
    def wall_us(self) -> int:
        """The time since `start`."""
        return clock.now_us() - self._began_us

    def _write_all(self) -> None:
        while not (self._is_last and self._queue.empty()):
            first = self._queue.get()
            if self.error is not None:
                continue  # a file system that is gone takes its time to say so, each time
            try:
                end = first if isinstance(first, _SegmentEnd) else self._write_segment(first)
                if end.receipts:
                    self._write_receipts(end.receipts)
                self.is_stopping = self._storage.has(*self._folder, STOP_FILE)
            except (OSError, pa.ArrowException) as error:
                reason = error.strerror if isinstance(error, OSError) else None
                [line, *_] = str(reason or error).strip().splitlines() or [type(error).__name__]
                self.error = f"worker {self._worker} cannot write its results: {line}"

    def _write_segment(self, first: Chunk | RunChunk) -> _SegmentEnd:
        """Write chunks until the end of the segment, and return it."""
        name = segment_name(self._worker, self.segments)
        with ExitStack() as stack:
            stream = stack.enter_context(self._storage.stream(*self._folder, name))
            writer = stack.enter_context(
                pq.ParquetWriter(
                    stream,
                    ENCODED_SCHEMA,
                    compression="lz4",
                    use_dictionary=TEXTS,
                    write_statistics=_SORTED,
                    store_schema=False,
                )
            )
            chunk: Chunk | RunChunk | _SegmentEnd = first
            while not isinstance(chunk, _SegmentEnd):
                self._write_chunk(writer.write_batch, chunk)
                chunk = self._queue.get()
        self.segments += 1
        return chunk

    def _write_receipts(self, receipts: list[Receipt]) -> None:
        if self._receipts is not None:
            batch = batch_of(receipts, self._worker, self._encoder.zero_us)
            name = segment_name(self._worker, self._receipts_files)
            with self._storage.stream(*self._receipts[1], name) as file:
                table = pa.Table.from_batches([batch])
                pq.write_table(table, file, compression="lz4", use_dictionary=_RECEIPT_TEXTS)
            self._receipts_files += 1

    def _write_chunk(
        self, write: Callable[[pa.RecordBatch], None], chunk: Chunk | RunChunk
    ) -> None:
        write(self._encoder.batch(chunk, self._rows.topics, self.cpu_us, self.wall_us))
        if isinstance(chunk, Chunk):
            self._rows.free.append(chunk.buffer)


_RECEIPT_TEXTS = ["tenant", "topic"]
_SORTED = ["intended_us", "sent_us", "event_id"]
"""Statistics are worth their time for these columns only."""
