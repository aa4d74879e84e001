"""Measure consumers against a synthetic topic, which costs the broker little and has no end.

python -m benchmarks.consumers [--rounds N] [--seconds S] [--only CLIENT] [--write]

Each client reads partition 0 of each topic of `TOPICS` with its defaults. Broker and client have a
CPU each, if there are two. The first tenth of the records is not measured. What the broker needs is
its CPU time over all records. Whichever needs more CPU time for a MB limits the rate on a quiet
machine; CPU times are about the same on a busy one.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.consumer_work import PYTHON_CLIENTS, Reading
from benchmarks.docs_page import markdown_table, write_part
from benchmarks.report import print_line, progress
from benchmarks.server_process import PROJECT, ServerProcess, cpu_seconds, pinned, serve, two_cpus
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.java import java_command, kafka_clients_jars
from scenarios.maven import CannotRunError
from tests.interop.go_and_node_clients import build_franz_go
from tests.interop.java_clients import SOURCE

KAFKA_CLIENTS_VERSION = "4.4.0"
MB = 1_000_000
SECONDS_MAX = 300
TRIAL_RECORDS = 20_000
RECORDS_MAX = 20_000_000
TOPICS: dict[str, dict[str, str]] = {
    "100 bytes": {},
    "100 bytes, keys that count": {"synthetic.key": "counter"},
    "1,000 bytes, batches of 1,000": {
        "synthetic.value.size": "1000",
        "synthetic.batch.records": "1000",
    },
    "lognormal, zstd": {
        "synthetic.value.size": "lognormal(300,0.7)",
        "synthetic.compression.type": "zstd",
    },
}
"""The configuration of topics beside `log.records`, by what is in them."""
HEADER = (
    "records",
    "client",
    "records/s",
    "MB/s",
    "CPU of the client, µs per MB",
    "of the broker",
    "client / broker",
)


class Run(NamedTuple):
    """What a consumer read, and the CPU time of the broker for each MB of it."""

    reading: Reading
    server_s_per_mb: float

    @property
    def mb_per_s(self) -> float:
        """MB of keys and values per second."""
        return self.reading.size_bytes / MB / self.reading.wall_s


def _commands(folder: Path) -> dict[str, list[str]]:
    """Return the command of each client that can run here, without its arguments."""
    commands = {
        name: [sys.executable, "-m", "benchmarks.consumer_work", name] for name in PYTHON_CLIENTS
    }
    try:
        jars = f"{kafka_clients_jars(KAFKA_CLIENTS_VERSION)}/*"
        source = str(SOURCE.with_name("Measure.java"))
        java = java_command(jars, source, log_level="error")
        # A consumer that reads for long is compiled to the end.
        commands[f"Java {KAFKA_CLIENTS_VERSION}"] = [
            part for part in java if part != "-XX:TieredStopAtLevel=1"
        ]
    except CannotRunError as error:
        progress(f"without Java: {error}")
    try:
        commands["franz-go"] = [*build_franz_go(folder).command, "measure"]
    except CannotRunError as error:
        progress(f"without franz-go: {error}")
    return commands


def _read(
    command: Sequence[str], server: ServerProcess, topic: str, count: int, cpu: int | None
) -> Run:
    arguments = server.bootstrap_servers, topic, str(count), "0"
    before_s = cpu_seconds(server.pid)
    with pinned(cpu):
        done = subprocess.run(
            [*command, *arguments],
            cwd=PROJECT,
            check=True,
            timeout=SECONDS_MAX,
            stdout=subprocess.PIPE,
            text=True,
        )
    server_s = cpu_seconds(server.pid) - before_s
    reading = Reading.of_line(done.stdout)
    # The client reads ahead, so the broker sends a little more than this.
    all_mb = reading.size_bytes / reading.records * count / MB
    return Run(reading, server_s / all_mb)


def measure(command: Sequence[str], settings: dict[str, str], seconds: float, rounds: int) -> Run:
    """Return the median run of a client, which alone uses a broker; one takes about `seconds`."""
    server_cpu, client_cpu = two_cpus()
    with serve("ours", cpu=server_cpu) as server:
        config = {"log.records": "synthetic", **settings}
        create_topic(server.bootstrap_servers, "t", config=config)
        trial = _read(command, server, "t", TRIAL_RECORDS, client_cpu).reading
        count = int(min(RECORDS_MAX, trial.records / trial.wall_s * seconds))
        runs = [_read(command, server, "t", count, client_cpu) for _ in range(rounds)]
    middle = median(run.mb_per_s for run in runs)
    return min(runs, key=lambda run: abs(run.mb_per_s - middle))


def main() -> None:
    """Measure, and print lines or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a run")
    parser.add_argument("--only", metavar="CLIENT", help="one of the clients")
    parser.add_argument("--write", action="store_true", help="write the table of the document")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(Path(folder))
        for described, settings in TOPICS.items():
            for name, command in commands.items():
                if options.only not in {None, name}:
                    continue
                run = measure(command, settings, options.seconds, options.rounds)
                reading = run.reading
                records_per_s = reading.records / reading.wall_s
                client_us = reading.cpu_s * MB / reading.size_bytes * 1e6
                server_us = run.server_s_per_mb * 1e6
                print_line(
                    {
                        "measurement": "consumers",
                        "records": described,
                        "client": name,
                        "records_per_s": round(records_per_s),
                        "mb_per_s": round(run.mb_per_s, 1),
                        "client_us_per_mb": round(client_us),
                        "server_us_per_mb": round(server_us),
                    }
                )
                rows.append(
                    (
                        described,
                        name,
                        f"{records_per_s:,.0f}",
                        f"{run.mb_per_s:.1f}",
                        f"{client_us:,.0f}",
                        f"{server_us:,.0f}",
                        f"{client_us / server_us:.1f}",
                    )
                )
    if options.write:
        write_part("consumers", markdown_table(HEADER, rows))


if __name__ == "__main__":
    main()
