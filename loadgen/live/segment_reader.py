"""Read the segments of a run while its workers write them, in a thread of the driver."""

import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.live import queries
from loadgen.live.batch_sums import BatchSums
from loadgen.live.figures import Batch
from loadgen.spark_session import first_line
from loadgen.storage import Storage
from loadgen.worker.segments import segment_name

INTERVAL_S = 2.0
"""The time between batches; the workers write segments as often."""
ROWS_MAX = 65_536
"""More rows are several batches; 10 MB."""
FINISH_TIMEOUT_S = 120.0


class SegmentReader:
    """Reads what workers write within the block; has read all rows after `finish`.

    The segments of a worker have consecutive numbers, so that it looks for the next ones only:
    the time that this takes does not depend on how many there are.

    Attributes:
        failure: why it ended early, as one line.
    """

    def __init__(
        self,
        storage: Storage,
        folder: tuple[str, ...],
        workers: int,
        sums: BatchSums,
        take: Callable[[Batch], None],
        fail: Callable[[str], None],
    ) -> None:
        """Read the segments of workers in a folder of the storage.

        Args:
            storage: where the results are.
            folder: the folder of the rows, which need not exist yet.
            workers: the number of workers.
            sums: reduces the batches.
            take: gets what each batch adds; called in the thread.
            fail: is called once with the reason if the rows cannot be read.
        """
        self.failure: str | None = None
        self._storage, self._folder = storage, folder
        self._next = [0] * workers
        """The number of the next segment of each worker."""
        self._sums, self._take, self._fail = sums, take, fail
        self._is_ending = threading.Event()
        self._is_abandoned = False
        self._thread = threading.Thread(target=self._read_all, name="live-rows", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def finish(self) -> None:
        """Wait until all rows that are in the folder have been read."""
        self._is_ending.set()
        # A storage that hangs must not keep the run from its summary.
        self._thread.join(FINISH_TIMEOUT_S)
        if self._thread.is_alive():
            self._failed(TimeoutError(f"the rows were not read within {FINISH_TIMEOUT_S:g} s"))

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_abandoned = True
        self._is_ending.set()

    def _read_all(self) -> None:
        try:
            is_last = False
            while not is_last:
                is_last = self._is_ending.wait(INTERVAL_S)
                for rows in self._batches():
                    if self._is_abandoned or self.failure is not None:
                        return
                    self._take(self._sums.read(rows))
        except Exception as error:  # noqa: BLE001 - nothing here may fail the load
            self._failed(error)

    def _batches(self) -> Iterator[pa.Table]:
        """Yield the rows of all segments that are complete, in batches of a bounded size."""
        batches: list[pa.RecordBatch] = []
        while names := self._names():
            for name in names:
                content = pa.BufferReader(self._storage.read(*self._folder, name))
                columns = list(queries.COLUMNS)
                # The workers need the other cores.
                file = pq.ParquetFile(content)
                for batch in file.iter_batches(ROWS_MAX, columns=columns, use_threads=False):
                    batches.append(batch)
                    if sum(map(len, batches)) >= ROWS_MAX:
                        yield pa.Table.from_batches(batches)
                        batches = []
        if batches:
            yield pa.Table.from_batches(batches)

    def _names(self) -> list[str]:
        """Return the names of the next segments that are complete, at most one of each worker."""
        names = [segment_name(worker, number) for worker, number in enumerate(self._next)]
        found = set(self._storage.existing(names, *self._folder))
        for worker, name in enumerate(names):
            self._next[worker] += name in found
        return [name for name in names if name in found]

    def _failed(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = first_line(error)
            self._fail(self.failure)
