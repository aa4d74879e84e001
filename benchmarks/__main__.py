"""Command line of the benchmarks, which `scripts/bench` calls.

It runs the given measurements (default: all) with mock-kafka, librdkafka's mock cluster, kfake if
Go is installed, and Apache Kafka if Java and Maven are, and prints JSON lines to stdout. A missed
bar is reported and is not a failure, except for bars that do not depend on time. The status is 1
when such a bar was missed or a measurement failed.
"""

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import confluent_kafka

from benchmarks import (
    batched,
    idle,
    kfake,
    produce,
    requests,
    results_page,
    speed_figures,
    start,
    storm,
)
from benchmarks.load_process import LoadProcessError
from benchmarks.report import Measurement, lines, measure, print_line, progress
from benchmarks.request_bytes import LoadError
from benchmarks.server_process import (
    KAFKA_VERSION,
    PROJECT,
    SERVER_NAMES,
    ServerError,
    ServerName,
    machine_busy_seconds,
    two_cpus,
    with_options,
)
from scenarios.maven import CannotRunError
from tests.interop.apache_kafka import fetch_kafka_jars

MEASUREMENTS: dict[str, tuple[Measurement, ...]] = {
    "start": start.MEASUREMENTS,
    "idle": idle.MEASUREMENTS,
    "produce": produce.MEASUREMENTS,
    "requests": requests.MEASUREMENTS,
    "batched": batched.MEASUREMENTS,
    "storm": storm.MEASUREMENTS,
}
PROGRAMS = {
    "producer-state": "benchmarks.producer_state_memory",
    "quotas": "benchmarks.quotas",
    "producer-id-quota": "benchmarks.producer_id_quota",
    "reset": "benchmarks.reset",
    "fixture": "benchmarks.fixture",
    "throttled-neighbour": "benchmarks.throttled_neighbour",
    "transactions": "benchmarks.transactions",
    "groups": "benchmarks.groups",
    "growth": "benchmarks.growth",
    "instructions": "benchmarks.instructions",
    "accounting": "benchmarks.accounting",
    "produce-profile": "benchmarks.produce_profile",
    "spark": "benchmarks.spark_load",
    "durations": "benchmarks.durations",
    "attack": "benchmarks.attack",
    "attacked-neighbour": "benchmarks.attacked_neighbour",
    "long-requests": "benchmarks.long_requests",
    "followers": "benchmarks.followers",
    "page": "benchmarks.page",
    "scale": "benchmarks.scale",
    "simulated-time": "benchmarks.simulated_time",
    "replay-hits": "benchmarks.replay_hits",
    "consumers": "benchmarks.consumers",
    "proxy": "benchmarks.proxy",
    "proxied-restart-loop": "benchmarks.proxied_restart_loop",
}
"""Programs that measure only parts of mock-kafka and print their own lines."""
NAMES = (*MEASUREMENTS, *PROGRAMS)


def print_machine() -> None:
    """Print the machine and the versions that the figures apply to."""
    print_line(
        {
            "measurement": "machine",
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus_of_server_and_client": two_cpus(),
            "librdkafka": confluent_kafka.libversion()[0],
            "uvloop": version("uvloop"),
            "kafka-python": version("kafka-python"),
            "machine_busy_s_so_far": machine_busy_seconds(),
        }
    )


def run_measurement(
    measurement: Measurement,
    servers: Sequence[ServerName],
    rounds: int,
    kept: list[dict[str, Any]],
) -> bool:
    """Measure, print and add to `kept`; return False when a server or its load failed."""
    reproduce = f"scripts/bench {measurement.name} --rounds {rounds}"
    try:
        results = measure(measurement, servers, rounds)
    except (LoadError, ServerError, LoadProcessError, OSError) as error:
        progress(f"{measurement.name} {measurement.case}: not measured: {error}")
        print_line(
            {
                "measurement": measurement.name,
                "case": measurement.case,
                "not_measured": str(error).splitlines()[-1],
                "met": False,
                "command": reproduce,
            }
        )
        return False
    found = lines(measurement, results, reproduce)
    for line in found:
        print_line(line)
    kept += found
    return True


def run_program(name: str, kept: list[dict[str, Any]]) -> bool:
    """Run a program, and add the lines that a page shows to `kept`; return whether it succeeded."""
    module = PROGRAMS[name]
    if find_spec(module) is None:
        progress(f"{name}: {module} is not there")
        return False
    command = [sys.executable, "-m", module]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            print(text, end="", flush=True)
            line = results_page.with_server(json.loads(text)) if text.startswith("{") else None
            if line is not None:
                kept.append(dict(line))
    return process.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=3, help="rounds per server (default 3)")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="of our broker's configuration; may be repeated",
    )
    parser.add_argument(
        "--servers",
        default=",".join(SERVER_NAMES),
        help=f"comma-separated: {', '.join(SERVER_NAMES)}",
    )
    parser.add_argument(
        "--write", action="store_true", help="write tables and chart into docs/benchmarks.md"
    )
    arguments = parser.parse_args()
    names = arguments.names or NAMES
    unknown = set(names) - set(NAMES)
    servers: list[ServerName] = [
        name for name in SERVER_NAMES if name in arguments.servers.split(",")
    ]
    if unknown or not servers or arguments.rounds < 1:
        parser.error(f"unknown: {', '.join(sorted(unknown)) or arguments.servers}; see --help")
    if arguments.write and arguments.option:
        parser.error("--write keeps results without --option only")
    if "kfake" in servers:
        try:
            kfake.executable()
        except CannotRunError as error:
            progress(f"without kfake: {error}")
            servers.remove("kfake")
    if "kafka" in servers:
        try:
            fetch_kafka_jars(KAFKA_VERSION)
        except CannotRunError as error:
            progress(f"without Apache Kafka: {error}")
            servers.remove("kafka")
    print_machine()
    is_complete = True
    kept: list[dict[str, Any]] = []
    for name in names:
        if name in PROGRAMS:
            is_complete &= run_program(name, kept)
        with with_options(*arguments.option):
            for measurement in MEASUREMENTS.get(name, ()):
                is_complete &= run_measurement(measurement, servers, arguments.rounds, kept)
    if arguments.write:
        results_page.keep(kept)
        results_page.draw()
        speed_figures.write()
    return 0 if is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
