"""The live view of a run never fails the load."""

import json
import socket
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.request import urlopen

import pytest
from rich.console import Console

from loadgen.live import live_run
from loadgen.live.live_run import LiveRun
from loadgen.live.priority import Priority
from loadgen.progress import Progress
from loadgen.run_record import RunRecord
from loadgen.storage import Storage
from tests.loadgen.live.made_batches import PLAN, TARGET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_SPARK = cast("SparkSession", None)


def record() -> RunRecord:
    return RunRecord("small-1", PLAN, TARGET, "a:1", "local[3]", "then", 2)


def test_a_port_that_is_taken_is_one_line_and_the_load_continues(tmp_path: Path) -> None:
    shown = StringIO()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        live = LiveRun("127.0.0.1", port, Console(file=shown, width=200))
    assert live.url is None
    with live.reading(NO_SPARK, record(), Storage(str(tmp_path))):
        live.read_all()
    live.finish({"verdicts": []})
    live.close()
    assert shown.getvalue() == (
        f"no live page at 127.0.0.1:{port}: Address already in use; the load continues\n"
    )


def test_a_query_that_does_not_start_is_one_line_and_the_page_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no memory\nstack")

    monkeypatch.setattr(live_run, "warm_up", fail)
    shown = StringIO()
    live = LiveRun("127.0.0.1", 0, Console(file=shown, width=200))
    try:
        with live.reading(NO_SPARK, record(), Storage(str(tmp_path))):
            live.read_all()
            with urlopen(f"{live.url}live.json", timeout=10) as response:
                content = json.load(response)
    finally:
        live.close()
    assert content["note"] == "the figures stopped: no memory"
    assert content["run"]["run"] == "small-1"
    assert shown.getvalue() == "the live page stopped: no memory; the load continues\n"


def test_the_jvm_gives_way_once_the_workers_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Priority] = []

    def begin(priority: Priority) -> None:
        begun.append(priority)

    monkeypatch.setattr(live_run, "jvm_pid", lambda _: 4711)
    monkeypatch.setattr(live_run, "warm_up", lambda *_: None)
    monkeypatch.setattr(Priority, "begin", begin)
    live = LiveRun("127.0.0.1", 0, Console(file=StringIO()))
    try:
        live.take(Progress({0: {"worker": 0}}))  # nothing is read yet
        with live.reading(NO_SPARK, record(), Storage(str(tmp_path))):
            live.take(Progress())
            assert begun == []
            live.take(Progress({0: {"worker": 0}}))
            assert len(begun) == 1
    finally:
        live.close()
