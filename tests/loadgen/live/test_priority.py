"""The reading runs in the background of a load with intended times, and nicer beside others."""

import os
import threading
from collections.abc import Callable

import pytest

from loadgen.live import priority
from loadgen.live.priority import NICENESS, Priority

JVM = 4711


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    made: list[tuple[object, ...]] = []

    def record(name: str) -> Callable[..., None]:
        return lambda *values, **named: made.append((name, *values, *named.values()))

    monkeypatch.setattr(priority, "set_background", record("background"))
    monkeypatch.setattr(priority, "set_niceness", record("niceness"))
    return made


def test_jvm_and_thread_are_in_the_background_until_the_end(calls: list[object]) -> None:
    gives_way = Priority(JVM, has_intended_times=True)
    gives_way.end()  # nothing has begun
    thread = threading.get_native_id()
    gives_way.add_thread()  # the same
    for _ in range(3):
        gives_way.begin()
        gives_way.add_thread()
    assert calls == [
        ("background", JVM, True),
        ("background", os.getpid(), True, {thread}),
    ]
    calls.clear()
    for _ in range(2):
        gives_way.end()
    assert calls == [
        ("background", JVM, False),
        ("background", os.getpid(), False, {thread}),
    ]


def test_beside_closed_loops_the_jvm_is_nicer(calls: list[object]) -> None:
    gives_way = Priority(JVM, has_intended_times=False)
    for _ in range(2):
        gives_way.begin()
        gives_way.add_thread()
    gives_way.end()
    assert calls == [("niceness", JVM, NICENESS), ("niceness", JVM, 0)]


def test_a_jvm_on_another_host_has_its_priority(calls: list[object]) -> None:
    gives_way = Priority(None, has_intended_times=True)
    gives_way.begin()
    gives_way.add_thread()
    gives_way.end()
    assert calls == []
