"""Terminal output and Ctrl-C."""

import signal
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from loadgen.progress import Progress
from loadgen.terminal import print_summary, stopping_by_ctrl_c
from tests.loadgen.summaries import summary_of


def test_the_first_ctrl_c_stops_the_workers_and_the_second_interrupts() -> None:
    calls: list[str] = []

    class Listener:
        progress = Progress({0: {}})

        def stop_workers(self) -> None:
            calls.append("stop")

    previous = signal.getsignal(signal.SIGINT)
    with stopping_by_ctrl_c(cast("Any", Listener()), Console(quiet=True)):
        signal.raise_signal(signal.SIGINT)
        assert calls == ["stop"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is previous


def test_the_first_ctrl_c_interrupts_before_any_worker_has_reported() -> None:
    class Listener:
        progress = Progress()

    with (
        stopping_by_ctrl_c(cast("Any", Listener()), Console(quiet=True)),
        pytest.raises(KeyboardInterrupt),
    ):
        signal.raise_signal(signal.SIGINT)


def test_the_summary_lists_verdicts_totals_and_reasons_as_plain_text() -> None:
    out = StringIO()
    summary = summary_of(is_complete=False, abort_reasons=["the [bold] target died"])
    print_summary(summary, Path("out/report.html"), Console(file=out, width=140))
    text = out.getvalue()
    assert "user <i>" in text
    assert "10 requests, 1,234 responses/s, 1 errors, 2 throttled" in text
    assert "incomplete: the [bold] target died" in text
    assert "report: out/report.html" in text
