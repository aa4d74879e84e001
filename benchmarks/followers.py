"""Measure what followers of the journal cost the requests of Kafka clients.

python -m benchmarks.followers [--followers 2000] [--requests 2000] [--repeat 5]

A client sends Metadata, and then Produce requests, one after the other. Each round measures the CPU
time that the broker's process takes for each of them: without followers of `/v1/requests/events`,
beside followers that never read, and beside followers that read all they get. The kinds of rounds
take turns; the figures are medians. `ratio` is to the rounds without followers. Time in which
clients of the machine wait for a CPU does not count.
"""

import argparse
import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from urllib.parse import urlsplit

from benchmarks.report import print_line
from benchmarks.request_bytes import (
    UnmeasuredConnection,
    frame_request,
    metadata_request,
    produce_frame,
    record_batch,
)
from benchmarks.server_process import allow_open_files, cpu_seconds
from mock_kafka import MockKafka

TOPIC = "followed"
KINDS = ("without", "never read", "read")
FILLING_REQUESTS = 500
"""Their events fill the buffers of a follower that never reads."""
RECEIVED_BYTES = 4096
"""What the system keeps at the client's side, so that the buffers are soon full."""
SETTLED_CPU_RATIO = 0.02
SETTLE_LOOK_S = 0.5
"""The broker has settled when it takes less than this part of a CPU for so long."""
FOLLOW = b"GET /v1/requests/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
PROGRAM = """
import sys
from broker.__main__ import main
from broker import serve
from broker.server.open_files import ADMIN_CONNECTIONS_MIN
places = int(sys.argv.pop(1)) + ADMIN_CONNECTIONS_MIN
serve.max_admin_connections = lambda: places
sys.exit(main())
"""
"""A broker whose admin port has room for all followers whatever the limit of open files."""


class Followers:
    """Connections that follow the journal."""

    def __init__(self, address: tuple[str, int], count: int, *, reads: bool) -> None:
        self._sockets = [self._connect(address, reads=reads) for _ in range(count)]
        self._is_over = False
        self._reader = threading.Thread(target=self._read)
        if reads:
            self._reader.start()

    def _connect(self, address: tuple[str, int], *, reads: bool) -> socket.socket:
        connected = socket.socket()
        if not reads:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_BYTES)
        connected.connect(address)
        connected.sendall(FOLLOW)
        head = connected.recv(RECEIVED_BYTES)
        assert head.startswith(b"HTTP/1.1 200"), head
        return connected

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            for connected in self._sockets:
                selector.register(connected, selectors.EVENT_READ)
            while not self._is_over:
                for key, _events in selector.select(0.1):
                    assert isinstance(key.fileobj, socket.socket)
                    key.fileobj.recv(1 << 20)

    def close(self) -> None:
        """Disconnect all of them."""
        self._is_over = True
        if self._reader.ident is not None:
            self._reader.join()
        for connected in self._sockets:
            connected.close()


def settle(pid: int) -> None:
    """Wait until the broker does next to nothing."""
    used_s = SETTLE_LOOK_S
    while used_s > SETTLE_LOOK_S * SETTLED_CPU_RATIO:
        began_s = cpu_seconds(pid)
        time.sleep(SETTLE_LOOK_S)
        used_s = cpu_seconds(pid) - began_s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--followers", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    count: int = arguments.followers
    allow_open_files()
    command = [sys.executable, "-c", PROGRAM, str(count)]
    with MockKafka(command=command) as kafka:
        assert kafka.pid is not None
        kafka.create_topic(TOPIC, 1)
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        client = UnmeasuredConnection((host, int(port)))
        frames = {
            "Metadata": frame_request(metadata_request(), 0),
            "Produce": produce_frame(TOPIC, record_batch(-1, -1, -1), 0),
        }
        admin = urlsplit(kafka.admin_url)
        assert admin.hostname is not None
        assert admin.port is not None
        address = admin.hostname, admin.port

        def send(frame: bytes, times: int) -> None:
            for _ in range(times):
                client.send(frame)
                client.receive_frame()

        @contextmanager
        def followers(kind: str) -> Iterator[None]:
            if kind == "without":
                yield
                return
            reads = kind == "read"
            following = Followers(address, count, reads=reads)
            try:
                send(frames["Metadata"], 0 if reads else FILLING_REQUESTS)
                settle(kafka.pid)
                yield
                # The broker disconnects those that do not read for half a minute.
                assert len(os.listdir(f"/proc/{kafka.pid}/fd")) > count
            finally:
                following.close()
                settle(kafka.pid)

        cpus_us: dict[tuple[str, str], list[float]] = {}
        for _ in range(arguments.repeat):
            for kind in KINDS:
                with followers(kind):
                    for name, frame in frames.items():
                        began_s = cpu_seconds(kafka.pid)
                        send(frame, arguments.requests)
                        used_s = cpu_seconds(kafka.pid) - began_s
                        used_us = used_s / arguments.requests * 1e6
                        cpus_us.setdefault((name, kind), []).append(used_us)
        for (name, kind), values in cpus_us.items():
            print_line(
                {
                    "measurement": "followers",
                    "request": name,
                    "followers": 0 if kind == "without" else count,
                    "kind": kind,
                    "broker_cpu_us": round(median(values), 1),
                    "broker_cpu_us_worst": round(max(values), 1),
                    "ratio": round(median(values) / median(cpus_us[name, KINDS[0]]), 2),
                }
            )
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
