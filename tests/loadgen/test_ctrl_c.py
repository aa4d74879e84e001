"""What the first and the second Ctrl-C do."""

import signal
from io import StringIO
from threading import Semaphore
from typing import Any, cast

import pytest
from rich.console import Console

from loadgen.ctrl_c import CtrlC
from loadgen.progress import Progress


class Listener:
    """Stands in for the listener of a load."""

    def __init__(self, *reported: int) -> None:
        self.progress = Progress({worker: {} for worker in reported})
        self.stopped = 0

    def stop_workers(self) -> None:
        self.stopped += 1


def test_the_first_ctrl_c_stops_the_workers_and_the_second_interrupts() -> None:
    listener, ctrl_c = Listener(0), CtrlC()
    previous = signal.getsignal(signal.SIGINT)
    with ctrl_c.handled(Console(quiet=True)):
        ctrl_c.stop_workers(cast("Any", listener))
        signal.raise_signal(signal.SIGINT)
        assert listener.stopped == 1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is previous


def test_the_first_ctrl_c_interrupts_before_any_worker_has_reported() -> None:
    ctrl_c = CtrlC()
    with ctrl_c.handled(Console(quiet=True)):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        ctrl_c.stop_workers(cast("Any", Listener()))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_after_the_load_the_first_ctrl_c_ends_the_read_back_and_the_second_interrupts() -> None:
    out, calls, ctrl_c = StringIO(), Semaphore(0), CtrlC()
    with ctrl_c.handled(Console(file=out)):
        with ctrl_c.cancelling(calls.release):
            signal.raise_signal(signal.SIGINT)
            assert calls.acquire(timeout=10)
            assert calls.acquire(timeout=10), "a job that began later was not cancelled"
        assert "the topics are not read back" in out.getvalue()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_without_ctrl_c_nothing_is_cancelled() -> None:
    calls: list[str] = []
    ctrl_c = CtrlC()
    with ctrl_c.cancelling(lambda: calls.append("cancel")):
        pass
    assert calls == []


def test_the_first_ctrl_c_during_the_summary_does_not_interrupt_it() -> None:
    out, ctrl_c = StringIO(), CtrlC()
    with ctrl_c.handled(Console(file=out)):
        ctrl_c.finish()
        signal.raise_signal(signal.SIGINT)
    assert out.getvalue() == "writing the report (Ctrl-C again: quit at once)\n"
