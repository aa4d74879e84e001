"""A broker counts by which path it responds, and can do without a path."""

import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from benchmarks.client_work import due_s
from benchmarks.counting_broker import PATHS, PRODUCE_REPLAY, REPLAYED
from benchmarks.replay_hits import Run, cells
from benchmarks.request_bytes import produce_requests
from benchmarks.server_process import serve
from protocol.api_keys import ApiKey
from protocol.framing import SIZE_BYTES
from scenarios.clients.confluent_kafka import create_topic

REQUESTS = 5


def counts(folder: Path, off: str) -> dict[str, Any]:
    """Return what a broker counts that gets some Produce requests, one after the other."""
    counts_file = folder / "counts.json"
    program = ("benchmarks.counting_broker", str(counts_file), off)
    with serve("ours", program=program) as server:
        create_topic(server.bootstrap_servers, "orders")
        os.kill(server.pid, signal.SIGUSR1)
        requests = produce_requests("orders", REQUESTS)
        with socket.create_connection(server.address) as client, client.makefile("rb") as responses:
            for number in range(REQUESTS):
                client.sendall(requests.run(number, number + 1))
                responses.read(int.from_bytes(responses.read(SIZE_BYTES)))
    found: dict[str, Any] = json.loads(counts_file.read_text())
    return found


@pytest.mark.slow
def test_it_counts_requests_by_path_and_can_do_without_a_path(tmp_path: Path) -> None:
    found = counts(tmp_path, "-")
    assert found["by_api"]["PRODUCE"] == REQUESTS
    # The second request is learnt.
    assert found["by_path"] == {REPLAYED[ApiKey.PRODUCE]: REQUESTS - 2}
    assert found["read_us"].keys() == {"PRODUCE"}

    for off in (PRODUCE_REPLAY, ",".join(PATHS)):
        found = counts(tmp_path, off)
        assert found["by_api"]["PRODUCE"] == REQUESTS
        assert found["by_path"][REPLAYED[ApiKey.PRODUCE]] == 0


def test_a_row_has_the_counts_of_the_first_run_and_the_medians_of_all() -> None:
    def run(cpu_s: float, read_us: float) -> Run:
        by_api = {"PRODUCE": 6, "FETCH": 4}
        return Run(cpu_s, by_api, {REPLAYED[ApiKey.PRODUCE]: 5}, {"PRODUCE": read_us, "FETCH": 2.0})

    runs = {
        "all": [run(0.001, 8), run(0.003, 9), run(0.002, 30)],
        "no Produce replay": [run(0.004, 12)] * 3,
        "none": [run(0.005, 13)] * 3,
    }
    assert cells("kfk", runs) == (
        *("kfk", "10", "6", "5", "4", "0"),
        *("200 / 400 / 500 µs", "9.0 / 12.0 / 13.0 µs", "2.0 / 2.0 / 2.0 µs"),
    )


def test_half_of_the_records_is_sent_at_once_and_the_others_at_a_rate() -> None:
    assert [due_s(number, 4) for number in range(4)] == [0, 0, 0, 1 / 200]
