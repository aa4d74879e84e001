"""Restart producers of one user in a loop in front of Apache Kafka, without and with a quota.

python -m benchmarks.proxied_restart_loop [--restarts N] [--out FOLDER]

Each producer gets a producer id and writes one record to Apache Kafka, by way of the proxy. It is
then gone, and Kafka remembers its id for a day. The memory is that of Kafka's live objects, which
its JVM counts (jcmd GC.class_histogram), without those that were there before the first producer.
"""

import argparse
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.proxy import proxy_command
from benchmarks.report import print_line, progress
from benchmarks.request_bytes import (
    PRODUCE_VERSION,
    UnmeasuredConnection,
    decode_response,
    produce_request,
)
from benchmarks.server_process import PROJECT, serve_program
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from scenarios.picture import require_matplotlib, save
from tests.interop.apache_kafka import ApacheKafka

TOPIC = "orders"
QUOTA = 100
SAMPLES = 10
_TOTAL = re.compile(r"^Total\s+\d+\s+(\d+)", re.MULTILINE)
_OFF, _ON, _TEXT = "#b3261e", "#2f6fb3", "#1f2933"


class Sample(NamedTuple):
    """What Kafka held after so many restarts."""

    restarts: int
    refused: int
    producer_ids: int
    live_bytes: int


def restart(address: tuple[str, int]) -> int:
    """Be one producer: get an id, write a record, go; return the error code of the record."""
    with UnmeasuredConnection(address) as connection:
        producer_id, epoch = connection.init_producer_id()
        connection.send(produce_request(TOPIC, producer_id, epoch, 0))
        frame = connection.receive_frame()
    response: Any = decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, frame)
    error_code: int = response.responses[0].partition_responses[0].error_code
    return error_code


def producer_ids(address: tuple[str, int]) -> int:
    """Return how many producer ids the partition has."""
    version = 0
    topic = messages.DescribeProducersRequest.TopicRequest
    with UnmeasuredConnection(address) as connection:
        response = connection.ask(
            messages.DescribeProducersRequest(
                version=version,
                topics=[topic(version=version, name=TOPIC, partition_indexes=[0])],
            )
        )
    return len(response.topics[0].partitions[0].active_producers)


def live_bytes(pid: int) -> int:
    """Return the size of a JVM's live objects."""
    words = ["jcmd", str(pid), "GC.class_histogram"]
    histogram = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = _TOTAL.search(histogram)
    assert found is not None, histogram[-500:]
    return int(found[1])


def measure(restarts: int, *options: str) -> list[Sample]:
    """Run the loop in front of a new broker; return its samples, the first before it."""
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder:
        kafka = ApacheKafka(Path(folder))
        kafka.start()
        try:
            words = proxy_command(kafka.bootstrap_servers, *options)
            with serve_program("ours", words) as proxy:
                with UnmeasuredConnection(proxy.address) as connection:
                    connection.create_topic(TOPIC)
                return _samples(kafka, proxy.address, restarts)
        finally:
            kafka.stop()


def _samples(kafka: ApacheKafka, address: tuple[str, int], restarts: int) -> list[Sample]:
    restart(address)  # classes are loaded, buffers are made
    before = live_bytes(kafka.pid)
    refused = 0
    samples = [Sample(0, 0, producer_ids(address), 0)]
    for number in range(1, restarts + 1):
        error_code = restart(address)
        if error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED:
            refused += 1
        elif error_code:
            raise RuntimeError(f"Kafka answered {ErrorCode(error_code).name}")
        if number % (restarts // SAMPLES) == 0:
            live = live_bytes(kafka.pid) - before
            samples.append(Sample(number, refused, producer_ids(address), live))
            progress(f"proxied-restart-loop: {samples[-1]}")
    return samples


def draw(off: Sequence[Sample], on: Sequence[Sample], out: Path) -> Path:
    """Draw ids and memory, without and with the quota."""
    figure = require_matplotlib()(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    panels: tuple[tuple[Any, str, Callable[[Sample], float]], ...] = (
        (left, "producer ids in Kafka's state", lambda sample: sample.producer_ids),
        (right, "live objects of the broker, more than before, MB", lambda s: s.live_bytes / 1e6),
    )
    for axes, label, value in panels:
        for name, samples, colour in (("quota off", off, _OFF), ("quota on", on, _ON)):
            points = [value(sample) for sample in samples]
            axes.plot([s.restarts for s in samples], points, color=colour, linewidth=1.8)
            place = (samples[-1].restarts, points[-1])
            axes.annotate(name, place, color=colour, ha="right", va="bottom")
        axes.set_title(label, loc="left", color=_TEXT, fontsize=10)
        axes.set_xlabel("restarts of the producer", color=_TEXT)
        axes.set_ylim(bottom=0)
        axes.tick_params(colors=_TEXT)
        axes.grid(axis="y", color="#d9dde3", linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.suptitle(
        f"A producer in a restart loop, Apache Kafka 4.4 behind the proxy, quota {QUOTA} ids",
        x=0.01,
        ha="left",
        color=_TEXT,
    )
    return save(figure, out, "proxied-restart-loop")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench proxied-restart-loop", description=__doc__)
    parser.add_argument("--restarts", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=PROJECT / "docs" / "pictures")
    arguments = parser.parse_args()
    quota = ("--quota", f"user=<default>,producer_ids_rate={QUOTA}")
    cases = {
        "quota off": measure(arguments.restarts),
        "quota on": measure(arguments.restarts, *quota),
    }
    for name, samples in cases.items():
        print_line(
            {
                "measurement": "proxied-restart-loop",
                "case": name,
                **samples[-1]._asdict(),
                "command": "scripts/bench proxied-restart-loop",
            }
        )
    drawn = draw(cases["quota off"], cases["quota on"], arguments.out)
    progress(f"proxied-restart-loop: {drawn}")


if __name__ == "__main__":
    main()
