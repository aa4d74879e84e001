"""Measure long requests beside a neighbour, and how long its requests take.

python -m benchmarks.long_requests [--only NAME,...] [--rates 0,20,100,500,closed] [--busy]

The broker is a process with a journal of 10,000 entries, an audit, a topic of 10,000 partitions and
one of 100,000 records. A request that has much to do is sent to it, first alone, then while a
neighbour on another connection sends Produce requests of one record: so many a second, or with
`closed` each as soon as it has the response to the one before. `ratio` is the duration of the
request divided by the CPU time that it takes alone; `scheduled_ratio` is the same without the time
in which the broker waited for a CPU that other processes used. A neighbour's latency counts from
the time at which its request was due. `ten together` sends ten long requests at once; `first_s` and
`last_s` are when the first and the last response came. With `--busy` two other processes keep the
CPUs busy.
"""

import argparse
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.report import print_line, progress
from benchmarks.request_bytes import (
    UnmeasuredConnection,
    frame_request,
    produce_frame,
    record_batch,
)
from benchmarks.server_process import cpu_seconds
from mock_kafka import MockKafka
from protocol import messages
from scenarios.table import text_table

MANY, RECORDS, NEIGHBOURS, NEW = "many", "records", "neighbours", "new"
PARTITIONS = 10_000
NEW_PARTITIONS = 9_999
JOURNAL_ENTRIES = 10_000
RECORD_COUNT = 100_000
RECORDS_AT_ONCE = 1_000
TOGETHER = 10
TIMEOUT_S = 300.0
SETTLE_S = 0.3
ALONE_S = 2.0
"""How long the neighbour is measured without a long request."""
CLOSED = -1
"""The rate of a neighbour that waits for nothing but its responses."""
SPIN = "while True: pass"


class Traffic(NamedTuple):
    """What the neighbour saw."""

    requests: int
    duration_s: float
    median_ms: float
    worst_ms: float


class Lab:
    """A broker with much to read, and clients for long requests."""

    def __init__(self, kafka: MockKafka) -> None:
        self._kafka = kafka
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        self.address = host, int(port)
        self._admin_address = urlsplit(kafka.admin_url).netloc
        for name, partitions in ((MANY, PARTITIONS), (RECORDS, 1), (NEIGHBOURS, 1)):
            kafka.create_topic(name, partitions)
        for _ in range(RECORD_COUNT // RECORDS_AT_ONCE):
            kafka.produce(RECORDS, *[b"x" * 20] * RECORDS_AT_ONCE)

    def cpu_s(self) -> float:
        """Return the CPU time of the broker's process so far."""
        return cpu_seconds(self._kafka.pid)

    def waited_s(self) -> float:
        """Return how long the broker's thread has waited for a CPU so far."""
        return int(Path(f"/proc/{self._kafka.pid}/schedstat").read_text().split()[1]) / 1e9

    def get(self, path: str) -> None:
        """Send a request to the admin port, and read the response."""
        client = HTTPConnection(self._admin_address, timeout=TIMEOUT_S)
        client.request("GET", path)
        response = client.getresponse()
        body = response.read()
        assert response.status == 200, body[:200]
        client.close()

    def send(self, frame: bytes) -> None:
        """Send a request to the broker, and read the response."""
        client = UnmeasuredConnection(self.address, timeout_s=TIMEOUT_S)
        client.send(frame)
        client.receive_frame()
        client.close()

    def fill_journal(self) -> None:
        """Fill the journal with requests of a producer."""
        self._kafka.control.ask("DELETE", "/v1/requests")
        client = UnmeasuredConnection(self.address)
        frame = produce_frame(NEIGHBOURS, record_batch(-1, -1, -1), 0)
        for _ in range(JOURNAL_ENTRIES):
            client.send(frame)
            client.receive_frame()
        client.close()

    def empty_log(self) -> None:
        """Remove the records of the neighbour, which a snapshot would have."""
        self._kafka.control.ask("DELETE", f"/v1/topics/{NEIGHBOURS}")
        self._kafka.create_topic(NEIGHBOURS, 1)

    def create_topic(self) -> None:
        """Create the topic `new`."""
        create: Any = messages.CreateTopicsRequest
        topic = create.CreatableTopic(
            version=5,
            name=NEW,
            num_partitions=NEW_PARTITIONS,
            replication_factor=1,
            assignments=[],
            configs=[],
        )
        request = create(version=5, topics=[topic], timeout_ms=300_000)
        client = UnmeasuredConnection(self.address, timeout_s=TIMEOUT_S)
        (created,) = client.ask(request).topics
        assert not created.error_code, created.error_message
        client.close()

    def delete_topic(self) -> None:
        """Delete the topic `new` if it is there."""
        if any(topic["name"] == NEW for topic in self._kafka.control.ask("GET", "/v1/topics")):
            self._kafka.control.ask("DELETE", f"/v1/topics/{NEW}")

    def list_all(self) -> None:
        """Send a Metadata request for all topics."""
        metadata: Any = messages.MetadataRequest
        request = metadata(version=9, topics=None, allow_auto_topic_creation=False)
        self.send(frame_request(request, 0))

    def together(self) -> tuple[float, float]:
        """Send long requests at once; return when the first and the last response came."""
        with ThreadPoolExecutor(TOGETHER) as pool:
            began_s = time.monotonic()
            responses = [pool.submit(self._listed_at_s) for _ in range(TOGETHER)]
            times_s = sorted(response.result() - began_s for response in responses)
        return times_s[0], times_s[-1]

    def _listed_at_s(self) -> float:
        self.get("/v1/requests?limit=2000")
        return time.monotonic()


class Case(NamedTuple):
    """A long request, and what must be done before each one."""

    name: str
    send: Callable[[Lab], object]
    prepare: Callable[[Lab], None] = lambda _lab: None


CASES = (
    Case("journal", lambda lab: lab.get("/v1/requests?limit=10000"), Lab.fill_journal),
    Case("export", lambda lab: lab.get("/v1/requests/export"), Lab.fill_journal),
    Case("records", lambda lab: lab.get(f"/v1/topics/{RECORDS}/records/newest?contains=y")),
    Case("topics", lambda lab: lab.get("/v1/topics")),
    Case("audit", lambda lab: lab.get("/v1/audit")),
    Case("snapshot", lambda lab: lab.get("/v1/snapshot"), Lab.empty_log),
    Case("Metadata of all", Lab.list_all),
    Case("CreateTopics", Lab.create_topic, Lab.delete_topic),
    Case("ten together", Lab.together, Lab.fill_journal),
)


def neighbour(address: tuple[str, int], parent: Connection) -> None:
    """For each rate from the parent, send requests until it says stop, and return the traffic."""
    frame = produce_frame(NEIGHBOURS, record_batch(-1, -1, -1), 0)
    client = UnmeasuredConnection(address, timeout_s=TIMEOUT_S)
    while rate := parent.recv():
        latencies_ms: list[float] = []
        began_s = time.monotonic()
        while not parent.poll():
            due_s = time.monotonic()
            if rate != CLOSED:
                due_s = began_s + len(latencies_ms) / rate
                time.sleep(max(0.0, due_s - time.monotonic()))
            client.send(frame)
            client.receive_frame()
            latencies_ms.append((time.monotonic() - due_s) * 1000)
        parent.recv()
        duration_s = time.monotonic() - began_s
        parent.send(Traffic(len(latencies_ms), duration_s, median(latencies_ms), max(latencies_ms)))


class Measurements:
    """Measures the cases one after the other, and keeps the rows of the table."""

    def __init__(self, lab: Lab, parent: Connection, repeat: int) -> None:
        self._lab = lab
        self._parent = parent
        self._repeat = repeat
        self._traffic_alone: dict[int, Traffic] = {}
        self.rows: list[tuple[str, ...]] = []

    @contextmanager
    def _traffic(self, rate: int) -> Iterator[list[Traffic]]:
        found: list[Traffic] = []
        if rate:
            self._parent.send(rate)
            time.sleep(SETTLE_S)
        yield found
        if rate:
            self._parent.send("stop")
            found.append(self._parent.recv())

    def _cpu_alone_s(self, case: Case) -> float:
        """Return what a request costs now; an audit costs more after each Produce request."""
        case.prepare(self._lab)
        began_s = self._lab.cpu_s()
        case.send(self._lab)
        return self._lab.cpu_s() - began_s

    def measure(self, case: Case, rate: int) -> None:
        """Measure a long request beside a neighbour of a rate; 0 is without one."""
        if rate and rate not in self._traffic_alone:
            with self._traffic(rate) as found:
                time.sleep(ALONE_S)
            self._traffic_alone[rate] = found[0]
        lab = self._lab
        durations_s, cpus_s, waits_s, alone_s, traffic = [], [], [], [], list[Traffic]()
        result: object = None
        for _ in range(self._repeat):
            alone_s.append(self._cpu_alone_s(case))
            case.prepare(lab)
            with self._traffic(rate) as found:
                cpu_s, waited_s, began_s = lab.cpu_s(), lab.waited_s(), time.monotonic()
                result = case.send(lab)
                durations_s.append(time.monotonic() - began_s)
                cpus_s.append(lab.cpu_s() - cpu_s)
                waits_s.append(lab.waited_s() - waited_s)
            traffic += found
        duration_s, cpu_s = median(durations_s), median(cpus_s)
        cpu_alone_s = median(alone_s)
        line: dict[str, Any] = {
            "measurement": "long-requests",
            "case": case.name,
            "neighbour_rate": "closed" if rate == CLOSED else rate,
            "duration_s": round(duration_s, 3),
            "broker_cpu_s": round(cpu_s, 3),
            "ratio": round(duration_s / cpu_alone_s, 2),
            "scheduled_ratio": round((duration_s - median(waits_s)) / cpu_alone_s, 2),
        }
        if isinstance(result, tuple):
            line |= {"first_s": round(result[0], 3), "last_s": round(result[1], 3)}
        if traffic:
            alone = self._traffic_alone[rate]
            count, total_s = (sum(values) for values in list(zip(*traffic, strict=True))[:2])
            line |= {
                "neighbour_worst_ms": round(max(found.worst_ms for found in traffic), 1),
                "neighbour_worst_alone_ms": round(alone.worst_ms, 1),
                "neighbour_throughput_ratio": round(
                    count / total_s * alone.duration_s / alone.requests, 2
                ),
            }
        print_line(line)
        names = ("case", "neighbour_rate", "duration_s", "broker_cpu_s", "ratio", "scheduled_ratio")
        more = ("neighbour_worst_ms", "neighbour_worst_alone_ms", "neighbour_throughput_ratio")
        self.rows.append(tuple(str(line.get(name, "")) for name in (*names, *more)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of cases, joined by commas")
    parser.add_argument("--rates", default="0,20,100,500", help="requests a second, or 'closed'")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--busy", action="store_true", help="keep two other processes busy")
    arguments = parser.parse_args()
    only = {name for name in arguments.only.split(",") if name}
    given = arguments.rates.split(",")
    rates = [0, *(CLOSED if rate == "closed" else int(rate) for rate in given if rate != "0")]
    with ExitStack() as stack:
        kafka = stack.enter_context(MockKafka(audit=True))
        lab = Lab(kafka)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=neighbour, args=(lab.address, theirs), daemon=True)
        process.start()
        if arguments.busy:
            for _ in range(2):
                spinner = subprocess.Popen([sys.executable, "-S", "-c", SPIN])
                stack.callback(spinner.wait)
                stack.callback(spinner.kill)
        measurements = Measurements(lab, ours, arguments.repeat)
        for case in CASES:
            if only and case.name not in only:
                continue
            for rate in rates:
                measurements.measure(case, rate)
        ours.send(0)
        process.join()
    heads = (
        "case",
        "neighbour",
        "s",
        "CPU s",
        "ratio",
        "scheduled",
        "worst ms",
        "alone ms",
        "throughput",
    )
    progress(text_table(heads, measurements.rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
