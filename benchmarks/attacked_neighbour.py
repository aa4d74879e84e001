"""Measure a producer's latencies while amplifying frames arrive at its broker, one per second.

python -m benchmarks.attacked_neighbour [--api KEY,...]

One librdkafka producer sends single records and waits for each delivery: alone, then while
another process sends frames of the corpus (`tests/attack/amplifying_frames.py`), for each API in
its latest version, each frame on a new connection, then alone again: the speed of a virtual
machine changes with time. `benchmarks.awake_cpus` keeps the CPUs awake.
"""

import argparse
import multiprocessing
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import mean
from typing import Any

import confluent_kafka

from benchmarks.awake_cpus import awake_cpus
from benchmarks.report import print_line, progress
from benchmarks.server_process import serve
from broker.config.broker_config import BrokerConfig
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from tests.attack.amplifying_frames import amplifying_frames
from tests.attack.attacked_cluster import preparation_frames

TOPIC = "neighbours"
RECORD = b"x" * 1000
KINDS = ("distinct", "long strings", "long distinct")
ALONE_S = 30.0
"""Before the frames, and again after them."""
FRAME_INTERVAL_S = 1.0
TIMEOUT_S = 30.0
P99_MS_MAX = 60.0
THROUGHPUT_RATIO_MIN = 0.8
WORST = 5

Latency = tuple[float, float]
"""When a request was sent, by `time.monotonic`, and its latency in ms."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--api", default="", help="API keys, joined by commas; all without it")
    arguments = parser.parse_args()
    api_keys = [int(key) for key in arguments.api.split(",") if key] or sorted(ROUTES)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attack-")))
        server = stack.enter_context(serve("ours"))
        prepare(server.address)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        attacker = context.Process(
            target=attack, args=(server.address, api_keys, folder, theirs), daemon=True
        )
        attacker.start()
        frame_count = ours.recv()
        progress(f"attacked-neighbour: {frame_count} frames")
        stack.enter_context(awake_cpus())
        before = latencies(server.bootstrap_servers, lambda: False, ALONE_S)
        ours.send("begin")
        beside = latencies(server.bootstrap_servers, ours.poll)
        sent: list[tuple[float, str]] = ours.recv()
        attacker.join()
        after = latencies(server.bootstrap_servers, lambda: False, ALONE_S)
        peak_bytes = server.peak_resident_bytes()
    print_line(figures([before, after], beside, sent, peak_bytes))
    return 0


def prepare(address: tuple[str, int]) -> None:
    """Create what the frames name."""
    with socket.create_connection(address, TIMEOUT_S) as client:
        for frame in preparation_frames():
            client.sendall(frame)
            read_response(client)


def read_response(client: socket.socket) -> None:
    """Read a response to its end, or until the broker closes the connection."""
    received = 0
    size = 4
    head = b""
    while received < size:
        data = client.recv(1 << 20)
        if not data:
            return
        received += len(data)
        if len(head) < 4:
            head = (head + data)[:4]
            if len(head) == 4:
                size = 4 + int.from_bytes(head, "big")


def attack(address: tuple[str, int], api_keys: list[int], folder: Path, parent: Connection) -> None:
    """Build the frames; when the parent says so, send one per second."""
    paths = list(write_frames(api_keys, folder))
    parent.send(len(paths))
    parent.recv()
    sent = []
    begun_s = time.monotonic()
    with ExitStack() as stack:
        for number, (name, path) in enumerate(paths):
            time.sleep(max(0.0, begun_s + number * FRAME_INTERVAL_S - time.monotonic()))
            client = stack.enter_context(socket.create_connection(address, TIMEOUT_S))
            sent.append((time.monotonic(), name))
            # The broker may close the connection before it has read all of a frame.
            try:
                client.sendall(path.read_bytes())
            except OSError:
                continue
        time.sleep(FRAME_INTERVAL_S)
    parent.send(sent)


def write_frames(api_keys: list[int], folder: Path) -> Iterator[tuple[str, Path]]:
    """Write a frame of each kind for each API to a file; yield its name and file."""
    elements_max = BrokerConfig({})["request.elements.max"]
    for kind in KINDS:
        for key in api_keys:
            api_key = ApiKey(key)
            frames = amplifying_frames(api_key, ROUTES[api_key].version_max, elements_max)
            frame = next((found for found in frames if found.kind == kind), None)
            if frame is not None:
                path = folder / f"{kind}-{key}"
                path.write_bytes(frame.data)
                yield frame.name, path


def latencies(
    servers: str, is_over: Callable[[], bool], duration_s: float = float("inf")
) -> list[Latency]:
    """Send records one after the other; return when each was sent, and how long it took."""
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "linger.ms": 0})
    found: list[Latency] = []

    def check(error: object, _message: object) -> None:
        if error is not None:
            raise RuntimeError(f"a record of the neighbour was not delivered: {error}")

    end_s = time.monotonic() + duration_s
    while (begun_s := time.monotonic()) < end_s and not is_over():
        producer.produce(TOPIC, RECORD, on_delivery=check)
        if producer.flush(TIMEOUT_S):
            raise RuntimeError("a record of the neighbour was not delivered")
        found.append((begun_s, (time.monotonic() - begun_s) * 1000))
    return found


def figures(
    alone: list[list[Latency]],
    beside: list[Latency],
    sent: list[tuple[float, str]],
    peak_bytes: int,
) -> dict[str, Any]:
    """Return the line to print."""
    p99_ms = quantile(beside, 0.99)
    rates_alone = [rate(part) for part in alone]
    ratio = rate(beside) / mean(rates_alone)
    worst = sorted(beside, key=lambda latency: -latency[1])[:WORST]
    return {
        "measurement": "attacked-neighbour",
        "frames": len(sent),
        "rates_alone": [round(value) for value in rates_alone],
        "rate_beside": round(rate(beside)),
        "p50_alone_ms": quantile(chain(*alone), 0.5),
        "p50_beside_ms": quantile(beside, 0.5),
        "p99_alone_ms": quantile(chain(*alone), 0.99),
        "p99_beside_ms": p99_ms,
        "max_beside_ms": round(worst[0][1], 1),
        "throughput_ratio": round(ratio, 3),
        "peak_resident_bytes": peak_bytes,
        "worst_after": [frame_before(sent, begun_s) for begun_s, _ in worst],
        "met": p99_ms <= P99_MS_MAX and ratio >= THROUGHPUT_RATIO_MIN,
        "command": "scripts/bench attacked-neighbour",
    }


def quantile(found: Iterable[Latency], share: float) -> float:
    """Return a quantile of the latencies in ms."""
    ordered = sorted(latency_ms for _, latency_ms in found)
    return round(ordered[int(share * len(ordered))], 3)


def rate(found: list[Latency]) -> float:
    """Return requests per second."""
    return len(found) / (found[-1][0] - found[0][0])


def frame_before(sent: list[tuple[float, str]], time_s: float) -> str:
    """Return the last frame that was sent before a time."""
    return next((name for sent_s, name in reversed(sent) if sent_s <= time_s), "")


if __name__ == "__main__":
    sys.exit(main())
