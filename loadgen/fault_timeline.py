"""Carry out the faults of a plan at their times, in a thread of the driver.

Time zero is that of the workers, whose progress reports say how far they are.
"""

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from loadgen import clock
from loadgen.command_error import CommandError
from loadgen.fault_rows import FaultRow, write_rows
from loadgen.fault_target import FaultTarget
from loadgen.plan.faults import Fault
from loadgen.progress import Progress
from loadgen.storage import Storage


class FaultTimeline:
    """Carries out the faults of a plan between `__enter__` and `__exit__`.

    Attributes:
        rows: one for each fault.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        target: FaultTarget,
        show: Callable[[Sequence[FaultRow]], None] = lambda _rows: None,
    ) -> None:
        """Carry them out at a target that has checked them; call `show` after each change."""
        self.rows = [
            FaultRow(
                index,
                fault.name,
                fault.action,
                round(fault.at_s * 1e6),
                has_end=fault.move_leader is None or fault.for_s is not None,
            )
            for index, fault in enumerate(faults)
        ]
        self._faults, self._target, self._show = faults, target, show
        self._zero_us: int | None = None
        self._has_zero, self._is_over = threading.Event(), threading.Event()
        self._undo: dict[int, Callable[[], None]] = {}
        self._thread = threading.Thread(target=self._run, name="load-faults", daemon=True)

    def take(self, progress: Progress) -> None:
        """Learn time zero from the workers' progress: the earliest one, as reports may be late."""
        if progress.by_worker:
            zero_us = clock.now_us() - round(progress.t_s * 1e6)
            self._zero_us = zero_us if self._zero_us is None else min(self._zero_us, zero_us)
            self._has_zero.set()

    def __enter__(self) -> Self:
        if self._faults:
            self._thread.start()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the faults that still last, so that the topics can be read back."""
        self._is_over.set()
        self._has_zero.set()
        if self._faults:
            self._thread.join()

    @property
    def reasons(self) -> list[str]:
        """Why the faults are incomplete."""
        return [
            f"fault {row.name!r}: {row.error or 'the load ended before it'}"
            for row in self.rows
            if row.error is not None or row.begun_us is None
        ]

    def write(self, storage: Storage, folder: tuple[str, ...]) -> None:
        """Write the rows as Parquet, if the plan has faults.

        Raises:
            StorageError: they cannot be written.
        """
        if self._faults:
            write_rows(storage, folder, self.rows)

    def _run(self) -> None:
        steps: list[tuple[float, int, Callable[[int], None]]] = []
        for index, fault in enumerate(self._faults):
            steps.append((fault.at_s, index, self._begin))
            if fault.for_s is not None:
                steps.append((fault.at_s + fault.for_s, index, self._end))
        self._has_zero.wait()
        for at_s, index, step in sorted(steps, key=lambda found: found[:2]):
            while not self._is_over.is_set() and (left_s := at_s - self._now_us() / 1e6) > 0:
                self._is_over.wait(left_s)
            if self._is_over.is_set():
                break
            step(index)
        self._is_over.wait()
        for index in list(self._undo):
            self._end(index)

    def _now_us(self) -> int:
        return clock.now_us() - (self._zero_us or 0)

    def _begin(self, index: int) -> None:
        row = self.rows[index]
        try:
            undo = self._target.carry_out(self._faults[index], row)
            row.begun_us = self._now_us()
            if undo is not None:
                self._undo[index] = undo
            row.broker_clock_ms = self._target.clock_ms()
        except CommandError as error:
            row.error = str(error)
        self._show(self.rows)

    def _end(self, index: int) -> None:
        undo = self._undo.pop(index, None)
        if undo is None:
            return
        row = self.rows[index]
        try:
            if row.rule_id is not None:
                row.fired = self._target.fired(row.rule_id)
            undo()
            row.ended_us = self._now_us()
        except CommandError as error:
            row.error = str(error)
        self._show(self.rows)
