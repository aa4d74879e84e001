"""A session is opened and closed in a thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from loadgen.phases import Phases
from loadgen.session_start import SessionStart


def test_a_session_opens_in_a_thread_and_closes_once() -> None:
    log: list[Any] = []

    @contextmanager
    def session() -> Iterator[Any]:
        log.append(threading.current_thread() is threading.main_thread())
        yield "spark"
        log.append("closed")

    phases = Phases()
    with SessionStart(session, phases) as start:
        opened: Any = start.result()
        assert opened == "spark"
        start.close()
    assert log == [False, "closed"]
    assert [row["phase"] for row in phases.as_rows()] == ["start of Spark", "end of Spark"]


def test_a_session_that_does_not_open_raises_when_it_is_needed() -> None:
    def broken() -> Any:
        raise ValueError("no JVM")

    with SessionStart(broken, Phases()) as start, pytest.raises(ValueError, match="no JVM"):
        start.result()


def test_a_run_that_fails_before_it_needs_its_session_closes_it() -> None:
    log: list[str] = []

    @contextmanager
    def session() -> Iterator[Any]:
        yield "spark"
        log.append("closed")

    with pytest.raises(ValueError, match="no target"), SessionStart(session, Phases()):
        raise ValueError("no target")
    assert log == ["closed"]
