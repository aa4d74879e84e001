"""Measure what an open page of the admin port costs the Produce requests of Kafka clients.

python -m benchmarks.page [--topics 1000] [--partitions 5] [--groups 200] [--seconds 5] [--rounds 6]

A client sends Produce requests to a large cluster, one after the other, and takes the time of each
round trip. Rounds with the page open in a headless Chromium take turns with rounds without it. The
broker has one CPU, and the client the other one; Chromium shares the client's, with the lowest
priority: its own work is not what is measured. `ratio` is the median of the ratios of a round with
the page to the round before it. Where others use the CPUs, raise the priority of all this first:
`echo -20 >/proc/self/autogroup; nice -n -10 python -m benchmarks.page`.
"""

import argparse
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median, quantiles

from playwright.sync_api import Browser, sync_playwright

from benchmarks.report import print_line
from benchmarks.request_bytes import UnmeasuredConnection, produce_frame, record_batch
from benchmarks.server_process import cpu_seconds, pinned, two_cpus
from mock_kafka import MockKafka
from tests.interop.chromium import CHROMIUM

WARM_UP_S = 3.0
"""The page loads, and has all its parts, before a round begins."""
HEIGHT = 1000


def setup(kafka: MockKafka, topics: int, partitions: int, groups: int) -> None:
    """Create topics with a record in each partition, and groups with an offset of each topic."""
    record = {"value": "x"}
    kafka.load_snapshot(
        {
            "topics": [
                {"name": f"orders-{n}", "partitions": [{"records": [record]}] * partitions}
                for n in range(topics)
            ],
            "offsets": [
                {
                    "group": f"billing-{n}",
                    "topic": f"orders-{n % topics}",
                    "partition": partition,
                    "offset": 0,
                }
                for n in range(groups)
                for partition in range(partitions)
            ],
        }
    )


@contextmanager
def browser(cpu: int | None) -> Iterator[Browser]:
    """Start a Chromium that yields to all others, on one CPU."""
    assert CHROMIUM is not None, "there is no Chromium"
    on_cpu = "" if cpu is None else f"taskset -c {cpu} "
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = Path(folder) / "chromium"
        # It begins a session, whose group of processes has a separate priority.
        line = f'exec nice -n 19 {on_cpu}{shlex.quote(CHROMIUM)} "$@"'
        program.write_text(f"#!/bin/sh\necho 19 >/proc/self/autogroup\n{line}\n")
        program.chmod(0o700)
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


class Client:
    """A producer with one request in flight."""

    def __init__(self, kafka: MockKafka, topics: int) -> None:
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        self._connection = UnmeasuredConnection((host, int(port)))
        self._frames = [
            produce_frame(f"orders-{n}", record_batch(-1, -1, -1), 0) for n in range(topics)
        ]
        self._numbers = count()

    def p99_us(self, seconds: float) -> tuple[float, int]:
        """Send for a time; return the p99 of the round trips, and how many there were."""
        times_us: list[float] = []
        end_s = time.perf_counter() + seconds
        began_s = 0.0
        while began_s < end_s:
            frame = self._frames[next(self._numbers) % len(self._frames)]
            began_s = time.perf_counter()
            self._connection.send(frame)
            self._connection.receive_frame()
            times_us.append((time.perf_counter() - began_s) * 1e6)
        return quantiles(times_us, n=100)[-1], len(times_us)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=5)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=6)
    arguments = parser.parse_args()
    broker_cpu, client_cpu = two_cpus()
    with pinned(broker_cpu):
        kafka = MockKafka()
    with kafka, browser(client_cpu) as chromium:
        assert kafka.pid is not None
        setup(kafka, arguments.topics, arguments.partitions, arguments.groups)
        client = Client(kafka, arguments.topics)
        if client_cpu is not None:
            os.sched_setaffinity(0, {client_cpu})
        client.p99_us(1)
        pairs: list[tuple[float, float]] = []
        requests = [0, 0]
        cpus_us: tuple[list[float], list[float]] = ([], [])
        for _ in range(arguments.rounds):
            began_s = cpu_seconds(kafka.pid)
            without_us, sent = client.p99_us(arguments.seconds)
            cpus_us[0].append((cpu_seconds(kafka.pid) - began_s) / sent * 1e6)
            requests[0] += sent
            page = chromium.new_page(viewport={"width": 1440, "height": HEIGHT})
            page.goto(kafka.admin_url)
            page.wait_for_selector("#topics .topic")
            client.p99_us(WARM_UP_S)
            began_s = cpu_seconds(kafka.pid)
            with_us, sent = client.p99_us(arguments.seconds)
            cpus_us[1].append((cpu_seconds(kafka.pid) - began_s) / sent * 1e6)
            page.close()
            requests[1] += sent
            pairs.append((without_us, with_us))
        ratios = [with_ / without for without, with_ in pairs]
        print_line(
            {
                "measurement": "page",
                "topics": arguments.topics,
                "partitions": arguments.topics * arguments.partitions,
                "groups": arguments.groups,
                "p99_us_without": round(median(without for without, _ in pairs)),
                "p99_us_with": round(median(with_ for _, with_ in pairs)),
                "ratio": round(median(ratios), 2),
                "ratios": [round(ratio, 2) for ratio in ratios],
                "requests_per_s_without": round(requests[0] / arguments.rounds / arguments.seconds),
                "requests_per_s_with": round(requests[1] / arguments.rounds / arguments.seconds),
                "broker_cpu_us_without": round(median(cpus_us[0]), 1),
                "broker_cpu_us_with": round(median(cpus_us[1]), 1),
            }
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
