"""The live view of a run never fails the load."""

import json
import socket
from io import StringIO
from pathlib import Path
from urllib.request import urlopen

from rich.console import Console

from loadgen.live.live_run import LiveRun
from loadgen.rows import RESULTS
from loadgen.run_record import RunRecord
from loadgen.storage import Storage
from loadgen.worker.segments import segment_name
from tests.loadgen.live.made_batches import PLAN, TARGET
from tests.loadgen.live.made_rows import row, write


def record() -> RunRecord:
    return RunRecord("small-1", PLAN, TARGET, "a:1", "local[2]", "then", 2)


def test_a_port_that_is_taken_is_one_line_and_the_load_continues(tmp_path: Path) -> None:
    shown = StringIO()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        live = LiveRun("127.0.0.1", port, Console(file=shown, width=200))
    assert live.url is None
    with live.reading(record(), Storage(str(tmp_path))):
        live.read_all()
    live.finish({"verdicts": []})
    live.close()
    assert shown.getvalue() == (
        f"no live page at 127.0.0.1:{port}: Address already in use; the load continues\n"
    )


def test_rows_that_cannot_be_read_are_one_line_and_the_page_says_it(tmp_path: Path) -> None:
    segments = tmp_path.joinpath(*record().folder(RESULTS))
    segments.mkdir(parents=True)
    (segments / segment_name(0, 0)).write_bytes(b"no Parquet at all")
    shown = StringIO()
    live = LiveRun("127.0.0.1", 0, Console(file=shown, width=300))
    try:
        with live.reading(record(), Storage(str(tmp_path))):
            live.read_all()
            with urlopen(f"{live.url}live.json", timeout=10) as response:
                content = json.load(response)
    finally:
        live.close()
    assert content["note"].startswith("the figures stopped: ")
    assert content["run"]["run"] == "small-1"
    page, stopped = shown.getvalue().splitlines()
    assert page == f"live page: {live.url}"
    assert stopped.startswith("the live page stopped: ")
    assert stopped.endswith("; the load continues")


def test_the_page_shows_what_a_worker_has_written(tmp_path: Path) -> None:
    segments = tmp_path.joinpath(*record().folder(RESULTS))
    segments.mkdir(parents=True)
    write(segments, 1, 0, [row(number) for number in range(10)])
    live = LiveRun("127.0.0.1", 0, Console(file=StringIO()))
    try:
        with live.reading(record(), Storage(str(tmp_path))):
            live.read_all()
    finally:
        live.close()
    assert live.content["state"] == "read"
    assert live.content["figures"]["totals"]["requests"] == 10
