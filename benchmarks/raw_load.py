"""The raw load: prepared Produce requests, W in flight on each of C connections.

A separate program (`python -m benchmarks.raw_load --help`) that prints its figures as one JSON
object. Nothing is decoded while the clock runs: responses are split by their constant size, kept,
and checked afterwards (size, correlation id, topic, error code, base offset).
"""

import argparse
import json
import select
import socket
import time
from array import array
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct

from benchmarks import request_bytes, server_process
from benchmarks.busy_polling import poll
from benchmarks.cost_clock import Cost, CostClock
from benchmarks.request_bytes import LoadError, ProduceRequests, UnmeasuredConnection
from protocol.api_keys import ApiKey

TOPIC = "produce"
READ_BYTES = 1 << 16
"""Larger than fifty responses, and smaller than the buffers that malloc maps one by one.

A process may have 65,530 mappings, and the load keeps the bytes of each read.
"""
RESPONSE_WAIT_S = 20
WARM_UP_REQUESTS = 5_000
"""Of all connections together."""


@dataclass(slots=True)
class LoadConnection:
    """One connection of the load: its requests and the responses so far."""

    socket: socket.socket
    requests: ProduceRequests
    responses: list[bytes] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        address: tuple[str, int],
        requests_of: Callable[[UnmeasuredConnection], ProduceRequests],
    ) -> "LoadConnection":
        """Connect; `requests_of` may first request a producer id on the connection."""
        blocking = UnmeasuredConnection(address)
        requests = requests_of(blocking)
        blocking.socket.setblocking(False)
        return cls(blocking.socket, requests)


@dataclass(frozen=True, slots=True)
class Timing:
    """A timed section: its cost, and the latencies in ns."""

    cost: Cost
    latencies_ns: "array[int]"


def run_pipelined(
    server_pid: int,
    connection: LoadConnection,
    first: int,
    end: int,
    in_flight: int,
    response_bytes: int,
) -> Timing:
    """Send requests first to end - 1 on one connection; refill the window after each response."""
    sock, requests = connection.socket, connection.requests
    receive, send = sock.recv, sock.send
    frames, size = requests.frames, requests.size
    keep = connection.responses.append
    clock = time.perf_counter_ns
    # Blocking in recv itself: one system call per read instead of two.
    sock.settimeout(None)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, Struct("ll").pack(RESPONSE_WAIT_S, 0))
    # (time, requests or response bytes so far), one entry per system call
    sends: list[tuple[int, int]] = []
    reads: list[tuple[int, int]] = []
    begin_byte, end_byte = first * size, end * size
    sent_byte = begin_byte
    read_bytes, read_bytes_end = 0, (end - first) * response_bytes
    cost_clock = CostClock(server_pid)
    while True:
        target = min(end_byte, begin_byte + (read_bytes // response_bytes + in_flight) * size)
        if target > sent_byte:
            now_ns = clock()
            sent_byte += send(frames[sent_byte:target])
            sends.append((now_ns, (sent_byte - begin_byte) // size))
        try:
            data = receive(READ_BYTES)
        except BlockingIOError:
            raise LoadError(
                f"no response for {RESPONSE_WAIT_S} s after {read_bytes} bytes"
            ) from None
        read_bytes += len(data)
        reads.append((clock(), read_bytes // response_bytes))
        keep(data)
        if read_bytes >= read_bytes_end:
            break
        if not data:
            raise LoadError("the server closed the connection")
    cost = cost_clock.stop()
    return Timing(cost, pair_latencies(sends, reads))


def pair_latencies(sends: list[tuple[int, int]], reads: list[tuple[int, int]]) -> "array[int]":
    """Return the latencies; responses have the order of their requests."""
    latencies_ns = array("q")
    sent_at = iter(sends)
    sent_ns, sent = next(sent_at)
    responded = 0
    for read_ns, response_end in reads:
        while responded < response_end:
            if responded >= sent:
                sent_ns, sent = next(sent_at)
                continue
            count = min(sent, response_end) - responded
            latencies_ns.extend([read_ns - sent_ns] * count)
            responded += count
    return latencies_ns


def run_one_by_one(
    server_pid: int, connections: list[LoadConnection], first: int, end: int, response_bytes: int
) -> Timing:
    """Send requests first to end - 1 on each connection, each after the previous response."""
    epoll = select.epoll()
    clock = time.perf_counter_ns
    by_fd = {connection.socket.fileno(): connection for connection in connections}
    receive = {fd: connection.socket.recv for fd, connection in by_fd.items()}
    send = {fd: connection.socket.send for fd, connection in by_fd.items()}
    keep = {fd: connection.responses.append for fd, connection in by_fd.items()}
    frames = {
        fd: iter([connection.requests.run(index, index + 1) for index in range(first, end)])
        for fd, connection in by_fd.items()
    }
    sent_ns = dict.fromkeys(by_fd, 0)
    latencies_ns = array("q")
    note = latencies_ns.append
    left = (end - first) * len(connections)
    for fd in by_fd:
        epoll.register(fd, select.EPOLLIN)
    cost_clock = CostClock(server_pid)
    for fd in by_fd:
        sent_ns[fd] = clock()
        send[fd](next(frames[fd]))
    while left:
        events = poll(epoll, RESPONSE_WAIT_S)
        if not events:
            raise LoadError(f"no response for {RESPONSE_WAIT_S} s, {left} missing")
        for fd, _ in events:
            data = receive[fd](READ_BYTES)
            now_ns = clock()
            if len(data) != response_bytes:
                raise LoadError(f"a response of {len(data)} instead of {response_bytes} bytes")
            note(now_ns - sent_ns[fd])
            keep[fd](data)
            left -= 1
            frame = next(frames[fd], None)
            if frame is not None:
                sent_ns[fd] = now_ns
                send[fd](frame)
    cost = cost_clock.stop()
    epoll.close()
    return Timing(cost, latencies_ns)


# Checking ------------------------------------------------------------------------------------


def first_response(connection: LoadConnection) -> bytes:
    """Send request 0, decode its response, and return it as the pattern of all others."""
    sock = connection.socket
    sock.settimeout(RESPONSE_WAIT_S)
    sock.sendall(connection.requests.run(0, 1))
    (size,) = Struct(">i").unpack(prefix := sock.recv(4, socket.MSG_WAITALL))
    result = prefix + sock.recv(size, socket.MSG_WAITALL)
    sock.setblocking(False)
    response = request_bytes.decode_response(
        ApiKey.PRODUCE, request_bytes.PRODUCE_VERSION, memoryview(result)
    )
    (topic,) = response.responses
    partitions = topic.partition_responses
    indexes = [partition.index for partition in partitions]
    has_error = any(partition.error_code for partition in partitions)
    if has_error or topic.name != TOPIC or indexes != list(range(len(partitions))):
        raise LoadError(f"the first response is {response}")
    connection.responses.append(result)
    return result


def check_responses(
    connections: list[LoadConnection], count: int, pattern: bytes, partition_count: int = 1
) -> None:
    """Check size, correlation id, names and error codes of each response, and unique offsets.

    Raises:
        LoadError: a response is wrong.
    """
    # size, correlation id, [tags, counts, topic, counts], then for each partition index, error
    # code, base offset and the rest, and behind them tags, throttle time, tags
    names_bytes, end_bytes = 1 + 1 + 1 + len(TOPIC) + 1, 6
    part_bytes = (len(pattern) - 8 - names_bytes - end_bytes) // partition_count
    row = Struct(f">ii{names_bytes}s" + f"4shq{part_bytes - 14}x" * partition_count + "6x")
    expected_size, _, expected_names, *expected_parts = row.unpack(pattern)
    base_offsets: list[list[int]] = [[] for _ in range(partition_count)]
    for connection in connections:
        received = b"".join(connection.responses)
        if len(received) != count * len(pattern):
            raise LoadError(f"{len(received)} bytes of responses, not {count} x {len(pattern)}")
        for number, (size, correlation, names, *parts) in enumerate(row.iter_unpack(received)):
            expected = expected_size, number, expected_names, expected_parts[::3]
            if (size, correlation, names, parts[::3]) != expected:
                raise LoadError(f"response {number} has size {size}, correlation id {correlation}")
            if any(parts[1::3]):
                raise LoadError(f"response {number} has error code {max(parts[1::3])}")
            for offsets, base_offset in zip(base_offsets, parts[2::3], strict=True):
                offsets.append(base_offset)
    for offsets in base_offsets:
        offsets.sort()
        if any(later - earlier != 1 for earlier, later in pairwise(offsets)):
            raise LoadError("base offsets have gaps or were handed out twice")


# The program ---------------------------------------------------------------------------------


def measure(
    address: tuple[str, int],
    server_pid: int,
    *,
    connection_count: int,
    in_flight: int,
    requests: int,
    warm_up: int,
    is_idempotent: bool,
    partition_count: int = 1,
) -> dict[str, float]:
    """Warm up, run and check; return the figures. The connections share `requests`."""
    # one more than the warm-up: the first response is the pattern
    warm = 1 + max(1, warm_up // connection_count)
    requests_each = warm + requests // connection_count
    with ExitStack() as sockets:
        connections = _connect(
            address, connection_count, requests_each, partition_count, is_idempotent=is_idempotent
        )
        for connection in connections:
            sockets.enter_context(connection.socket)
        patterns = [first_response(connection) for connection in connections]
        pattern = patterns[0]

        def run(first: int, end: int) -> Timing:
            # One request in flight is sent without a sleep, which would be most of its latency.
            if in_flight > 1:
                return run_pipelined(
                    server_pid, connections[0], first, end, in_flight, len(pattern)
                )
            return run_one_by_one(server_pid, connections, first, end, len(pattern))

        run(1, warm)
        timing = run(warm, requests_each)
    check_responses(connections, requests_each, pattern, partition_count)
    count = len(timing.latencies_ns)
    ordered = sorted(timing.latencies_ns)
    return {
        "responses": count,
        "responses_per_s": count / timing.cost.wall_s,
        "server_us_per_request": timing.cost.server_s / count * 1e6,
        "p50_us": ordered[count // 2] / 1e3,
        "p99_us": ordered[count * 99 // 100] / 1e3,
        **timing.cost.shares(),
    }


def _connect(
    address: tuple[str, int],
    connection_count: int,
    requests_each: int,
    partition_count: int,
    *,
    is_idempotent: bool,
) -> list[LoadConnection]:
    with UnmeasuredConnection(address) as admin:
        admin.create_topic(TOPIC, partition_count)
    frames: ProduceRequests | None = None
    if not is_idempotent:
        frames = request_bytes.produce_requests(
            TOPIC, requests_each, partition_count=partition_count
        )

    def requests_of(connection: UnmeasuredConnection) -> ProduceRequests:
        if frames is not None:
            return frames
        producer_id, epoch = connection.init_producer_id()
        return request_bytes.produce_requests(
            TOPIC,
            requests_each,
            producer_id=producer_id,
            producer_epoch=epoch,
            partition_count=partition_count,
        )

    return [LoadConnection.open(address, requests_of) for _ in range(connection_count)]


def command(
    server: server_process.ServerProcess,
    *,
    connection_count: int,
    in_flight: int,
    requests: int,
    is_idempotent: bool,
    partition_count: int = 1,
    warm_up: int = WARM_UP_REQUESTS,
) -> list[str]:
    """Return the module and arguments that run this load against a server."""
    host, port = server.address
    words = ["benchmarks.raw_load", host, port, server.pid]
    words += ["--connections", connection_count, "--in-flight", in_flight, "--requests", requests]
    words += ["--partitions", partition_count, "--warm-up", warm_up]
    words += ["--idempotent"] if is_idempotent else []
    return [str(word) for word in words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("server_pid", type=int)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument(
        "--in-flight", type=int, default=50, help="requests in flight, with one connection only"
    )
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_REQUESTS)
    parser.add_argument("--partitions", type=int, default=1, help="batches in each request")
    parser.add_argument("--idempotent", action="store_true")
    arguments = parser.parse_args()
    if arguments.connections > 1 and arguments.in_flight > 1:
        parser.error("several connections have one request in flight each")
    server_process.allow_open_files()
    figures = measure(
        (arguments.host, arguments.port),
        arguments.server_pid,
        connection_count=arguments.connections,
        in_flight=arguments.in_flight,
        requests=arguments.requests,
        warm_up=arguments.warm_up,
        is_idempotent=arguments.idempotent,
        partition_count=arguments.partitions,
    )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
