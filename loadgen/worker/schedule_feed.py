"""Read the schedule of a worker in a thread, a bounded number of batches ahead."""

import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

LOOK_AHEAD = 16
"""Batches that are read before they are due; Spark sends 10,000 events in each."""
_COLUMNS = ("event_id", "t_us", "client", "salt")


class DueEvents(NamedTuple):
    """The columns of one batch, sorted by time."""

    event_ids: "array[int]"
    times_us: "array[int]"
    owners: "array[int]"
    salts: "array[int]"


class ScheduleFeed:
    """Batches of the schedule in the order of their times.

    Attributes:
        on_ready: the thread calls it after `next` has returned None and there is more.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch], look_ahead: int = LOOK_AHEAD) -> None:
        """Read from `batches`, which other threads must not use."""
        self.on_ready: Callable[[], object] | None = None
        self._batches = batches
        self._ready: deque[DueEvents] = deque()
        self._room = threading.Semaphore(look_ahead)
        self._look_ahead = look_ahead
        self._changed = threading.Condition()
        self._is_read = False
        self._is_stopped = False
        self._is_starved = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)

    def fill(self) -> None:
        """Start to read; return when there are as many batches as may be read ahead.

        Raises:
            Exception: what reading the first batches has raised.
        """
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._is_read or len(self._ready) >= self._look_ahead)
        self._raise_error()

    def next(self) -> DueEvents | None:
        """Return the next batch; None if there is none yet, or none at all.

        Raises:
            Exception: what reading the batches has raised.
        """
        # In this order, so that a batch that arrives in between is not missed.
        self._is_starved = True
        if not self._ready:
            self._raise_error()
            return None
        self._is_starved = False
        self._room.release()
        return self._ready.popleft()

    def wait_for_next(self) -> DueEvents | None:
        """Return the next batch, or None at the end; wait until one of them is known."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_read or bool(self._ready))
        return self.next()

    @property
    def is_finished(self) -> bool:
        """Whether all batches were returned."""
        return self._is_read and not self._ready

    def stop(self) -> None:
        """Read no more batches."""
        self._is_stopped = True
        self._room.release()
        if self._thread.ident is not None:
            self._thread.join()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _read(self) -> None:
        try:
            for batch in self._batches:
                self._room.acquire()
                if self._is_stopped:
                    return
                if not batch.num_rows:
                    self._room.release()
                    continue
                columns = _columns(batch)
                with self._changed:
                    self._ready.append(columns)
                    self._changed.notify_all()
                self._wake()
        except Exception as error:  # noqa: BLE001 - `next` raises it in the other thread
            self._error = error
        finally:
            with self._changed:
                self._is_read = True
                self._changed.notify_all()
            self._wake()

    def _wake(self) -> None:
        if self._is_starved and self.on_ready is not None:
            self._is_starved = False
            self.on_ready()


def _columns(batch: pa.RecordBatch) -> DueEvents:
    # As compact as the columns, and faster to index.
    found = (
        array("q", batch.column(name).to_numpy().astype(np.int64).tobytes()) for name in _COLUMNS
    )
    return DueEvents(*found)
