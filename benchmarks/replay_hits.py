"""Count which requests of real clients the broker replays, and what CPU time this saves.

python -m benchmarks.replay_hits [--rounds N] [--records N] [--only CLIENT] [--write]

Each client does the work that `benchmarks/client_work.py` describes, and alone uses a broker. The
same work is done without the replay of Produce, and without that of Fetch, too. A time is the CPU
time of the broker's process from its first request on, with its system calls: the median of the
rounds.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.client_work import CLIENTS
from benchmarks.counting_broker import PATHS, PRODUCE_REPLAY, REPLAYED
from benchmarks.docs_page import markdown_table, write_part
from benchmarks.report import print_line, progress
from benchmarks.server_process import PROJECT, cpu_seconds, serve
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.java import java_command, kafka_clients_jars
from scenarios.maven import CannotRunError
from tests.interop.go_and_node_clients import build_franz_go, install_kafkajs
from tests.interop.java_clients import SOURCE

KAFKA_CLIENTS_VERSION = "4.1.0"
TOPIC, WARM_UP_TOPIC = "orders", "warm-up"
WARM_UP_COUNT = 20
PARTITION_COUNT = 3
WORK_SECONDS_MAX = 120
MODES = {"all": "-", "no Produce replay": PRODUCE_REPLAY, "none": ",".join(PATHS)}
"""The replays in use, and what the broker does without."""
HEADER = (
    "client",
    "requests",
    "Produce",
    "replayed",
    "Fetch",
    "replayed",
    "server CPU of a request",
    "of a Produce",
    "of a Fetch",
)

Work = Callable[[str, str, int], None]
"""Does the work of a client: the bootstrap servers, a topic, and the number of records."""


class Run(NamedTuple):
    """One run: CPU time of the server in seconds, and counts of requests."""

    cpu_s: float
    by_api: Mapping[str, int]
    by_path: Mapping[str, int]
    read_us: dict[str, float]

    @property
    def cpu_us_per_request(self) -> float:
        """CPU time of the server for each request, in µs."""
        return self.cpu_s * 1e6 / sum(self.by_api.values())


def _run_program(command: Sequence[str], *arguments: object) -> None:
    subprocess.run(
        [*command, *map(str, arguments)], cwd=PROJECT, check=True, timeout=WORK_SECONDS_MAX
    )


def _python_work(name: str) -> Work:
    command = [sys.executable, "-m", "benchmarks.client_work", name]
    return lambda *arguments: _run_program(command, *arguments)


def _java_work(_folder: Path) -> Work:
    source = str(SOURCE.with_name("Work.java"))
    jars = f"{kafka_clients_jars(KAFKA_CLIENTS_VERSION)}/*"
    command = java_command(jars, source, log_level="error")
    return lambda *arguments: _run_program(command, *arguments)


def _go_work(folder: Path) -> Work:
    program = build_franz_go(folder)
    return lambda *arguments: _ignore(program.run("work", *arguments))


def _node_work(folder: Path) -> Work:
    program = install_kafkajs(folder)
    return lambda *arguments: _ignore(program.run("work", *arguments))


def _ignore(_lines: object) -> None:
    """Drop the output of a program."""


BUILDERS: dict[str, Callable[[Path], Work]] = {
    **{name: lambda _folder, name=name: _python_work(name) for name in CLIENTS},  # type: ignore[misc]
    f"Java {KAFKA_CLIENTS_VERSION}": _java_work,
    "franz-go": _go_work,
    "kafkajs": _node_work,
}


def run_work(work: Work, count: int, off: str, folder: Path) -> Run:
    """Do the work of a client on a new broker."""
    counts_file = folder / "counts.json"
    with serve("ours", program=("benchmarks.counting_broker", str(counts_file), off)) as server:
        servers = server.bootstrap_servers
        for topic in (WARM_UP_TOPIC, TOPIC):
            create_topic(servers, topic, PARTITION_COUNT)
        work(servers, WARM_UP_TOPIC, WARM_UP_COUNT)
        os.kill(server.pid, signal.SIGUSR1)
        before_s = cpu_seconds(server.pid)
        work(servers, TOPIC, count)
        cpu_s = cpu_seconds(server.pid) - before_s
    counts: dict[str, Any] = json.loads(counts_file.read_text(encoding="utf-8"))
    return Run(cpu_s, counts["by_api"], counts["by_path"], counts["read_us"])


def cells(client: str, runs: dict[str, list[Run]]) -> tuple[str, ...]:
    """Return the row of a client; counts are those of its first run with all replays."""
    first = runs["all"][0]
    counts = (
        sum(first.by_api.values()),
        *(
            count
            for api_key, path in REPLAYED.items()
            for count in (first.by_api.get(api_key.name, 0), first.by_path.get(path, 0))
        ),
    )
    return (
        client,
        *(f"{count:,}" for count in counts),
        _times(runs, lambda run: run.cpu_us_per_request, 0),
        _times(runs, lambda run: run.read_us["PRODUCE"], 1),
        _times(runs, lambda run: run.read_us["FETCH"], 1),
    )


def _times(runs: dict[str, list[Run]], time_us: Callable[[Run], float], decimals: int) -> str:
    """Return the medians with all replays, without that of Produce, and with none."""
    medians_us = [median(map(time_us, runs[mode])) for mode in MODES]
    return " / ".join(f"{found_us:.{decimals}f}" for found_us in medians_us) + " µs"


def measure(client: str, work: Work, count: int, rounds: int) -> tuple[str, ...]:
    """Measure a client, print lines, and return its row."""
    runs: dict[str, list[Run]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for mode, off in MODES.items():
                progress(f"replay-hits: {client}, replays: {mode}, round {number + 1}")
                runs[mode].append(run_work(work, count, off, Path(folder)))
    for mode, found in runs.items():
        line: dict[str, Any] = {
            "measurement": "replay-hits",
            "client": client,
            "replays": mode,
            "records": count,
            "server_cpu_us_per_request": [round(run.cpu_us_per_request, 1) for run in found],
            "read_us": [run.read_us for run in found],
            "requests": dict(sorted(found[0].by_api.items())),
            "by_path": dict(sorted(found[0].by_path.items())),
            "command": "scripts/bench replay-hits",
        }
        print_line(line)
    return cells(client, runs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind (default 3)")
    parser.add_argument("--records", type=int, default=4000, help="of each client (default 4000)")
    parser.add_argument("--only", choices=BUILDERS, help="one client")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for client, build in BUILDERS.items():
            if options.only not in (None, client):
                continue
            try:
                work = build(Path(folder))
            except CannotRunError as error:
                progress(f"replay-hits: without {client}: {error}")
                continue
            rows.append(measure(client, work, options.records, options.rounds))
    table = markdown_table(HEADER, rows)
    progress(table)
    if options.write:
        write_part("replay hits", table)


if __name__ == "__main__":
    main()
