"""Carry out the faults of a plan over the admin port, at their times, in a thread of the driver.

Time zero is that of the workers, whose progress reports say how far they are.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from loadgen import clock
from loadgen.admin_port import AdminPort, AdminPortError, NotFoundError
from loadgen.command_error import CommandError
from loadgen.fault_rows import FaultRow, write_rows
from loadgen.plan.faults import Fault
from loadgen.progress import Progress
from loadgen.storage import Storage

_GATE = "mock-kafka load: never fires"


class FaultError(CommandError):
    """A fault of the plan cannot be carried out; the message is one line."""


def check_faults(
    faults: Sequence[Fault], port: AdminPort | None, leaders: Mapping[str, Sequence[int]]
) -> None:
    """Check before the load that all faults can be carried out.

    Args:
        faults: those of the plan.
        port: the admin port of the cluster, if there is one.
        leaders: the leader of each partition of the plan's topics.

    Raises:
        FaultError: there is no port, the port refuses a rule, or has no such broker or partition.
    """
    if not faults:
        return
    if port is None:
        raise FaultError(
            "the plan has faults, which need the URL of mock-kafka's admin port: --admin URL"
        )
    for fault in faults:
        try:
            _check(fault, port, leaders)
        except NotFoundError as error:
            raise FaultError(
                f"fault {fault.name!r}: {fault.action} needs the admin port of the brokers: {error}"
            ) from error
        except AdminPortError as error:
            raise FaultError(f"fault {fault.name!r}: {error}") from error


def _check(fault: Fault, port: AdminPort, leaders: Mapping[str, Sequence[int]]) -> None:
    if fault.rule is not None:
        if not {"after", "until", "at_once"} & fault.rule.keys():
            # The port checks a rule when it is added. Behind this gate it can match nothing.
            gate = {"name": _GATE, "api": "ApiVersions", "client_id": _GATE, "delay_ms": 0}
            for rule_id in reversed(port.add_rules([gate, {**fault.rule, "after": _GATE}])):
                port.remove_rule(rule_id)
        return
    move, cut = fault.move_leader, fault.cut_broker
    node_id = move.to if move is not None else cut.broker if cut is not None else -1
    known = port.node_ids()
    if node_id not in known:
        raise FaultError(f"fault {fault.name!r}: there is no broker {node_id}; brokers: {known}")
    if move is not None and move.partition >= len(leaders.get(move.topic, ())):
        raise FaultError(
            f"fault {fault.name!r}: {move.topic!r} has no partition {move.partition}"
            if move.topic in leaders
            else f"fault {fault.name!r}: {move.topic!r} is not among topics: {sorted(leaders)}"
        )


class FaultTimeline:
    """Carries out the faults of a plan between `__enter__` and `__exit__`.

    Attributes:
        rows: one for each fault.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        port: AdminPort | None,
        show: Callable[[Sequence[FaultRow]], None] = lambda _rows: None,
    ) -> None:
        """Use the port, which only a plan without faults lacks; call `show` after each change."""
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
        self._faults, self._port, self._show = faults, port, show
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
        row, port = self.rows[index], self._port
        assert port is not None, "check_faults refuses faults without a port"
        try:
            undo = self._carry_out(self._faults[index], row, port)
            row.begun_us = self._now_us()
            if undo is not None:
                self._undo[index] = undo
            row.broker_clock_ms = port.clock_ms()
        except AdminPortError as error:
            row.error = str(error)
        self._show(self.rows)

    def _end(self, index: int) -> None:
        undo = self._undo.pop(index, None)
        if undo is None:
            return
        row, port = self.rows[index], self._port
        assert port is not None, "the fault has begun"
        try:
            if row.rule_id is not None:
                row.fired = port.fired_counts().get(row.rule_id)
            undo()
            row.ended_us = self._now_us()
        except AdminPortError as error:
            row.error = str(error)
        self._show(self.rows)

    def _carry_out(self, fault: Fault, row: FaultRow, port: AdminPort) -> Callable[[], None] | None:
        """Carry out a fault; return what ends it, or None for a move that stays."""
        if fault.rule is not None:
            [row.rule_id] = port.add_rules([fault.rule])
            return partial(port.remove_rule, row.rule_id)
        if fault.move_leader is not None:
            move = fault.move_leader
            before = port.leader(move.topic, move.partition)
            port.move_leader(move.topic, move.partition, move.to)
            back = partial(port.move_leader, move.topic, move.partition, before)
            return None if fault.for_s is None else back
        cut = fault.cut_broker
        assert cut is not None, "a fault has one action"
        cut_off = port.stop_broker if fault.stop_broker is not None else port.isolate_broker
        cut_off(cut.broker, elect=cut.elect)
        return partial(port.start_broker, cut.broker)
