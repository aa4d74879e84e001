"""Measure a producer's latencies while amplifying frames arrive at its broker, one per second.

python -m benchmarks.attacked_neighbour [--api KEY,...] [--frames FOLDER]

One librdkafka producer sends single records and waits for each delivery, while another process
sends frames of the corpus (`tests/attack/amplifying_frames.py`), for each API in its latest
version, each frame on a new connection. The speed of a virtual machine changes by a quarter within
seconds, so windows alone and windows beside a few frames take turns. At the end of a window the
attacker closes its connections, and the broker drops the frames that it has not begun. The broker
has one CPU and its clients the other; `benchmarks.awake_cpus` keeps both awake. To make the frames
takes minutes: `--frames` keeps them in a folder, and takes those that are there.
"""

import argparse
import multiprocessing
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import mean
from typing import Any

import confluent_kafka

from benchmarks.awake_cpus import awake_cpus
from benchmarks.report import print_line, progress
from benchmarks.server_process import pinned, serve, two_cpus
from broker.config.broker_config import BrokerConfig
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from tests.attack.amplifying_frames import amplifying_frames
from tests.attack.attacked_cluster import preparation_frames

TOPIC = "neighbours"
RECORD = b"x" * 1000
KINDS = ("distinct", "long strings", "long distinct")
WINDOW_FRAMES = 15
"""Frames beside which the neighbour works between two windows alone."""
SETTLE_S = 1.0
"""After the attacker has closed its connections: the broker ends the request that it has begun."""
FRAME_INTERVAL_S = 1.0
ALONE_S = WINDOW_FRAMES * FRAME_INTERVAL_S
TIMEOUT_S = 30.0
P99_MS_MAX = 60.0
THROUGHPUT_RATIO_MIN = 0.8
WORST = 5

Latency = tuple[float, float]
"""When a request was sent, by `time.monotonic`, and its latency in ms."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--api", default="", help="API keys, joined by commas; all without it")
    parser.add_argument("--frames", type=Path, help="folder that keeps the frames")
    arguments = parser.parse_args()
    api_keys = [int(key) for key in arguments.api.split(",") if key] or sorted(ROUTES)
    with ExitStack() as stack:
        folder = arguments.frames
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attack-")))
        folder.mkdir(exist_ok=True)
        frames = list(write_frames(api_keys, folder))
        progress(f"attacked-neighbour: {len(frames)} frames")
        server_cpu, client_cpu = two_cpus()
        server = stack.enter_context(serve("ours", cpu=server_cpu))
        prepare(server.address)
        stack.enter_context(awake_cpus())
        stack.enter_context(pinned(client_cpu))
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        attacker = context.Process(target=attack, args=(server.address, theirs), daemon=True)
        attacker.start()
        neighbour = Neighbour(server.bootstrap_servers)
        alone = [neighbour.latencies(ALONE_S)]
        beside: list[list[Latency]] = []
        sent: list[tuple[float, str]] = []
        for start in range(0, len(frames), WINDOW_FRAMES):
            window_frames = frames[start : start + WINDOW_FRAMES]
            ours.send(window_frames)
            # To ask the attacker after each record whether it is done would cost 20 µs a record.
            beside.append(neighbour.latencies(len(window_frames) * FRAME_INTERVAL_S))
            sent += ours.recv()
            neighbour.latencies(SETTLE_S)
            alone.append(neighbour.latencies(ALONE_S))
            progress(
                f"attacked-neighbour: {rate(alone[-2]):.0f} records/s, beside frames "
                f"{rate(beside[-1]):.0f}, {rate(alone[-1]):.0f}"
            )
        ours.send([])
        attacker.join()
        peak_bytes = server.peak_resident_bytes()
    print_line(figures(alone, beside, sent, peak_bytes))
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


def attack(address: tuple[str, int], parent: Connection) -> None:
    """Send the frames of each list from the parent, one per second, until a list is empty."""
    while frames := parent.recv():
        sent = []
        begun_s = time.monotonic()
        with ExitStack() as stack:
            for number, (name, path) in enumerate(frames):
                time.sleep(max(0.0, begun_s + number * FRAME_INTERVAL_S - time.monotonic()))
                client = stack.enter_context(socket.create_connection(address, TIMEOUT_S))
                # `close` alone does not end a `sendall` of another thread.
                stack.callback(shut_down, client)
                sent.append((time.monotonic(), name))
                # The broker may read the rest of a frame much later.
                threading.Thread(target=send, args=(client, path), daemon=True).start()
            time.sleep(FRAME_INTERVAL_S)
        parent.send(sent)


def send(client: socket.socket, path: Path) -> None:
    """Send a frame until it is sent, or one side has closed the connection."""
    with suppress(OSError):
        client.settimeout(None)
        client.sendall(path.read_bytes())


def shut_down(client: socket.socket) -> None:
    """End a connection that another thread may be using."""
    with suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)


def write_frames(api_keys: list[int], folder: Path) -> Iterator[tuple[str, Path]]:
    """Write a frame of each kind for each API to a file of its name, unless it is there."""
    elements_max = BrokerConfig({})["request.elements.max"]
    for kind in KINDS:
        for key in api_keys:
            api_key = ApiKey(key)
            version = ROUTES[api_key].version_max
            place = folder / f"{kind} {key} v{version}"
            if not place.exists():
                place.mkdir()
                frames = amplifying_frames(api_key, version, elements_max)
                frame = next((found for found in frames if found.kind == kind), None)
                if frame is not None:
                    (place / frame.name).write_bytes(frame.data)
            yield from ((path.name, path) for path in place.iterdir())


class Neighbour:
    """A producer that sends records one after the other."""

    def __init__(self, servers: str) -> None:
        self._producer = confluent_kafka.Producer({"bootstrap.servers": servers, "linger.ms": 0})

    def latencies(self, duration_s: float) -> list[Latency]:
        """Send records; return when each was sent, and how long it took."""
        producer = self._producer
        found: list[Latency] = []
        end_s = time.monotonic() + duration_s
        while (begun_s := time.monotonic()) < end_s:
            producer.produce(TOPIC, RECORD, on_delivery=_check)
            if producer.flush(TIMEOUT_S):
                raise RuntimeError("a record of the neighbour was not delivered")
            found.append((begun_s, (time.monotonic() - begun_s) * 1000))
        return found


def _check(error: object, _message: object) -> None:
    if error is not None:
        raise RuntimeError(f"a record of the neighbour was not delivered: {error}")


def figures(
    alone: list[list[Latency]],
    beside: list[list[Latency]],
    sent: list[tuple[float, str]],
    peak_bytes: int,
) -> dict[str, Any]:
    """Return the line to print."""
    latencies = list(chain(*beside))
    p99_ms = quantile(latencies, 0.99)
    rates_alone, rates_beside = [rate(part) for part in alone], [rate(part) for part in beside]
    ratio = mean(rates_beside) / mean(rates_alone)
    worst = sorted(latencies, key=lambda latency: -latency[1])[:WORST]
    return {
        "measurement": "attacked-neighbour",
        "frames": len(sent),
        "rates_alone": [round(value) for value in rates_alone],
        "rates_beside": [round(value) for value in rates_beside],
        "p50_alone_ms": quantile(chain(*alone), 0.5),
        "p50_beside_ms": quantile(latencies, 0.5),
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
