"""The load of large batches: Produce requests at a given rate of bytes on one connection.

A separate program (`python -m benchmarks.batch_load --help`) that prints its figures as one JSON
object. It counts bytes of requests in MB (1,000,000 bytes).
"""

import argparse
import json
import os
import socket
import time
from struct import Struct

from benchmarks.cost_clock import CostClock
from benchmarks.request_bytes import (
    LoadError,
    UnmeasuredConnection,
    batch_builder,
    decode_response,
    produce_frame,
)
from protocol.api_keys import ApiKey

TOPIC = "batches"
IN_FLIGHT = 5
VALUE_BYTES = 1_000
WARM_UP_S = 1.0
_SIZE = Struct(">i")
_PRODUCE_VERSION = 9


def batch_of(size_bytes: int) -> bytes:
    """Return a batch of about `size_bytes` with records of 1,000 random bytes."""
    builder = batch_builder(size_bytes)
    offset = 0
    while builder.append(
        offset=offset, timestamp=1, key=None, value=os.urandom(VALUE_BYTES), headers=[]
    ):
        offset += 1
    return bytes(builder.build())


class PacedConnection:
    """Sends one frame again and again, with at most five of them in flight."""

    def __init__(self, connection: UnmeasuredConnection, frame: bytes) -> None:
        self._socket = connection.socket
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, Struct("ll").pack(20, 0))
        self._frame = frame
        self._in_flight = 0
        self._response_bytes = 0

    def send(self) -> None:
        """Send the frame, after the oldest response if there are too many in flight."""
        if self._in_flight == IN_FLIGHT:
            self.receive()
        self._socket.sendall(self._frame)
        self._in_flight += 1

    def drain(self) -> None:
        """Wait for all responses."""
        while self._in_flight:
            self.receive()

    def receive(self) -> None:
        """Wait for one response, and check its error code.

        Raises:
            LoadError: it has an error.
        """
        prefix = self._socket.recv(_SIZE.size, socket.MSG_WAITALL)
        (size,) = _SIZE.unpack(prefix)
        frame = prefix + self._socket.recv(size, socket.MSG_WAITALL)
        response = decode_response(ApiKey.PRODUCE, _PRODUCE_VERSION, frame)
        if response.responses[0].partition_responses[0].error_code:
            raise LoadError(f"the broker answered {response}")
        self._in_flight -= 1

    def run(self, bytes_per_s: float, duration_s: float) -> int:
        """Send at a rate; return how many bytes of requests have been acknowledged."""
        begin_s, count = time.perf_counter(), 0
        interval_s = len(self._frame) / bytes_per_s
        while (due_s := count * interval_s) < duration_s:
            early_s = begin_s + due_s - time.perf_counter()
            if early_s > 0:
                time.sleep(early_s)
            self.send()
            count += 1
        self.drain()
        return count * len(self._frame)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("pid", type=int, help="of the process whose CPU time counts")
    parser.add_argument("--mb-per-s", type=float, default=64)
    parser.add_argument("--duration-s", type=float, default=10)
    parser.add_argument("--batch-bytes", type=int, default=256 * 1024)
    arguments = parser.parse_args()
    frame = produce_frame(TOPIC, batch_of(arguments.batch_bytes), 0)
    with UnmeasuredConnection((arguments.host, arguments.port)) as connection:
        connection.create_topic(TOPIC)
        paced = PacedConnection(connection, frame)
        rate = arguments.mb_per_s * 1e6
        paced.run(rate, WARM_UP_S)
        clock = CostClock(arguments.pid)
        sent_bytes = paced.run(rate, arguments.duration_s)
        cost = clock.stop()
    figures = {
        "mb_per_s": sent_bytes / cost.wall_s / 1e6,
        "server_ms_per_mb": cost.server_s * 1e3 / (sent_bytes / 1e6),
        **cost.shares(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
