"""Measure how the cost of a request grows with the size of the cluster and the number of clients.

python -m benchmarks.growth                        every dimension, one JSON line each
python -m benchmarks.growth --only groups --only users
python -m benchmarks.growth --only connections --server kfake

Dimensions:
  connections       Produce on TCP connections with one request in flight each
  partitions        Produce to random partitions of one topic
  metadata          Metadata of a topic, per partition
  fetch             Fetch of all partitions of a topic outside of a session, per partition
  session           Fetch in a session of all partitions, one of which has a new record, per
                    partition
  users             Produce of random users with byte rates and a request percentage
  producer-ids      Produce of random producer ids, each of which has written before
  groups            Heartbeats to random groups of one member

All but the first are measured without sockets, from the bytes of a request to those of the
response. Throughput is requests, or partitions, per second of CPU time. The cost of a request for
no partition, or for one, is subtracted from those per partition. The bar is the throughput at the
worst size in times of that at the best one. A chart and a table of the bars come last, on stderr.
"""

import argparse
import gc
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from struct import Struct
from typing import Any

from benchmarks import load_process, raw_load, request_bytes, request_load
from benchmarks.fetch_load import fetch_request
from benchmarks.in_process import InProcessBroker, InProcessConnection
from benchmarks.report import Bar, case_line, print_line, progress, verdict_table
from benchmarks.server_process import SERVER_NAMES, ServerName, serve, two_cpus
from broker.serve import GC_THRESHOLDS
from protocol import messages
from protocol.checksum import crc32c

MODULE = "benchmarks.growth"
BARS: Sequence[Bar] = (Bar("worst_share", "at least", 0.5, is_timing=True),)
TOPIC = request_load.topic_names(1)[0]
SEED = 17
ROUNDS, ROUND_S = 5, 0.2
GROUP_MAX = 50
CHART_WIDTH = 40
CONNECTIONS = (1, 10, 100, 1_000, 10_000)
PARTITIONS_OF_REQUEST = (100, 1_000, 10_000, 50_000)
PARTITIONS_OF_FETCH = (100, 1_000, 10_000, 40_000)
"""A request may have 50,000 elements."""
PARTITIONS = (1, 100, 1_000, 10_000, 50_000)
USERS = (1, 100, 1_000, 10_000)
PRODUCER_IDS = (1, 1_000, 100_000, 1_000_000)
GROUPS = (1, 100, 1_000, 10_000)
TCP_ROUNDS, TCP_REQUESTS = 3, 40_000
WARM_REQUESTS = 6
"""Requests of each connection before the clock runs: the first ones are learnt."""
BYTE_RATE, REQUEST_PERCENTAGE = 1e12, 1e6
"""High enough to throttle nobody."""

_INT, _LONG = Struct(">i"), Struct(">q")
_INDEX_MARK = 0x5A4B3C2D
_CRC_AT, _CRC_START, _PRODUCER_ID_AT, _SEQUENCE_AT = 17, 21, 43, 53

Rates = dict[int, float]
"""Throughput by size."""


class ProduceFrames:
    """Encoded requests with one record that differ in partition, producer id and sequence."""

    def __init__(self) -> None:
        batch = request_bytes.record_batch(1, 0, 0)
        self._frame = bytearray(request_bytes.produce_frame(TOPIC, batch, _INDEX_MARK))
        self._index_at = self._frame.index(_INT.pack(_INDEX_MARK))
        self._batch_at = self._frame.index(batch)
        self._batch_end = self._batch_at + len(batch)

    def frame(self, index: int = 0, producer_id: int = -1, sequence: int = -1) -> bytes:
        """Return a request; without a producer id it is not idempotent."""
        frame, at = self._frame, self._batch_at
        _INT.pack_into(frame, self._index_at, index)
        _LONG.pack_into(frame, at + _PRODUCER_ID_AT, producer_id)
        _INT.pack_into(frame, at + _SEQUENCE_AT, sequence)
        crc = crc32c(bytes(frame[at + _CRC_START : self._batch_end]))
        frame[at + _CRC_AT : at + _CRC_START] = crc.to_bytes(4)
        return bytes(frame)


def cpu_s_per_request(
    receiving: Callable[[], Callable[[], bytes]], group_max: int = GROUP_MAX
) -> float:
    """Return the CPU time of a request; each call of `receiving` prepares one.

    The least of some rounds, after one that is not counted. Requests are prepared in groups while
    the clock stands; of one if each has to be prepared right before it is sent.
    """
    costs_s = []
    group = 1
    for _ in range(ROUNDS + 1):
        spent_s, request_count = 0.0, 0
        while spent_s < ROUND_S:
            prepared = [receiving() for _ in range(group)]
            started_s = time.process_time()
            for receive in prepared:
                receive()
            spent_s += time.process_time() - started_s
            request_count += group
        costs_s.append(spent_s / request_count)
        group = max(1, min(group_max, round(ROUND_S / costs_s[-1] / 10)))
    return min(costs_s[1:])


def _random_numbers(end: int) -> Iterator[int]:
    rng = random.Random(SEED)
    return (rng.randrange(end) for _ in count())


def _broker(partition_count: int = 1) -> InProcessBroker:
    broker = InProcessBroker()
    broker.create_topic(TOPIC, partition_count)
    return broker


# Dimensions ----------------------------------------------------------------------------------


def _connections(size: int, name: ServerName = "ours") -> float:
    """Return requests per second of CPU time, of the round that took the least of it."""
    return max(_requests_per_cpu_s(size, name) for _ in range(TCP_ROUNDS))


def _requests_per_cpu_s(connection_count: int, name: ServerName) -> float:
    server_cpu, client_cpu = two_cpus()
    with serve(name, cpu=server_cpu) as server:
        words = raw_load.command(
            server,
            connection_count=connection_count,
            in_flight=1,
            requests=max(TCP_REQUESTS, 4 * connection_count),
            is_idempotent=False,
            warm_up=max(raw_load.WARM_UP_REQUESTS, WARM_REQUESTS * connection_count),
        )
        figures = load_process.run(words, client_cpu)
    return 1e6 / float(figures["server_us_per_request"])


def _partitions(size: int) -> float:
    connection, frames = _broker(size).connect(), ProduceFrames()
    numbers = _random_numbers(size)
    return 1 / cpu_s_per_request(lambda: connection.receiving(frames.frame(next(numbers))))


def _per_partition(size: int, connection: InProcessConnection, some: Any, none: Any) -> float:
    """Return partitions per second, without the cost of a request for no partition."""
    costs_s = []
    for request in (some, none):
        frame = request_bytes.frame_request(request, 0)
        costs_s.append(cpu_s_per_request(partial(connection.receiving, frame)))
    return size / max(costs_s[0] - costs_s[1], 1e-9)


def _metadata(size: int) -> float:
    def request(names: list[str]) -> Any:
        topic_class = messages.MetadataRequest.MetadataRequestTopic
        topics = [topic_class(version=9, name=name) for name in names]
        return messages.MetadataRequest(version=9, topics=topics, allow_auto_topic_creation=False)

    return _per_partition(size, _broker(size).connect(), request([TOPIC]), request([]))


def _fetch(size: int) -> float:
    def request(indexes: range) -> Any:
        return fetch_request(TOPIC, 0, 0, -1, wait_ms=0, indexes=indexes)

    return _per_partition(size, _broker(size).connect(), request(range(size)), request(range(0)))


def _session(size: int) -> float:
    return (size - 1) / (_session_s_per_request(size) - _session_s_per_request(1))


def _session_s_per_request(size: int) -> float:
    connection, frames, numbers = _broker(size).connect(), ProduceFrames(), _random_numbers(size)
    first = connection.ask(fetch_request(TOPIC, 0, 0, 0, wait_ms=0, indexes=range(size)))
    epochs = count(1)
    offsets: dict[int, int] = {}
    consumed: list[int] = []

    def receiving() -> Callable[[], bytes]:
        # The record of each partition is read once: a consumer's request names what it has read.
        index = next(numbers)
        connection.receive(frames.frame(index))
        offsets[index] = offsets.get(index, 0) + 1
        request = fetch_request(
            TOPIC,
            offsets[consumed[-1]] if consumed else 0,
            first.session_id,
            next(epochs),
            wait_ms=0,
            indexes=consumed[-1:],
        )
        consumed.append(index)
        return connection.receiving(request_bytes.frame_request(request, 0))

    # With more in a group one response would have the records of all.
    return cpu_s_per_request(receiving, group_max=1)


def _users(size: int) -> float:
    broker = _broker()
    rates = [("producer_byte_rate", BYTE_RATE), ("request_percentage", REQUEST_PERCENTAGE)]
    connections = []
    for number in range(size):
        user = f"user-{number}"
        problem = broker.cluster.quotas.clients.alter((("user", user),), rates)
        assert problem is None
        connections.append(broker.connect(user))
    numbers, frame = _random_numbers(size), ProduceFrames().frame()
    for connection in connections:
        for _ in range(3):
            connection.receive(frame)
    return 1 / cpu_s_per_request(lambda: connections[next(numbers)].receiving(frame))


def _producer_ids(size: int) -> float:
    connection, frames, numbers = _broker().connect(), ProduceFrames(), _random_numbers(size)
    sequences = [0] * size

    def receiving(producer_id: int) -> Callable[[], bytes]:
        sequence = sequences[producer_id]
        sequences[producer_id] += 1
        return connection.receiving(frames.frame(0, producer_id, sequence))

    for producer_id in range(size):
        receiving(producer_id)()
    return 1 / cpu_s_per_request(lambda: receiving(next(numbers)))


def _groups(size: int) -> float:
    connection = _broker().connect()
    prepare = request_load.CASES["heartbeat"].prepare
    frames = [request_bytes.frame_request(prepare(connection, number), 0) for number in range(size)]
    numbers = _random_numbers(size)
    return 1 / cpu_s_per_request(lambda: connection.receiving(frames[next(numbers)]))


DIMENSIONS: Mapping[str, tuple[Callable[[int], float], Sequence[int]]] = {
    "connections": (_connections, CONNECTIONS),
    "partitions": (_partitions, PARTITIONS),
    "metadata": (_metadata, PARTITIONS_OF_REQUEST),
    "fetch": (_fetch, PARTITIONS_OF_FETCH),
    "session": (_session, PARTITIONS_OF_FETCH),
    "users": (_users, USERS),
    "producer-ids": (_producer_ids, PRODUCER_IDS),
    "groups": (_groups, GROUPS),
}


# Report --------------------------------------------------------------------------------------


def chart(dimension: str, rates: Rates) -> str:
    """Return a bar for each size; the longest is that of the best throughput."""
    best = max(rates.values())
    rows = [
        f"  {size:>9,} {'█' * round(rate / best * CHART_WIDTH):<{CHART_WIDTH}} {rate:>12,.0f}/s"
        for size, rate in rates.items()
    ]
    return "\n".join([dimension, *rows])


def measure(dimension: str, name: ServerName) -> Rates:
    """Return the throughput at each size; that of another server only for connections."""
    measure_size, sizes = DIMENSIONS[dimension]
    if name != "ours":
        measure_size = partial(_connections, name=name)
    rates: Rates = {}
    for size in sizes:
        rates[size] = measure_size(size)
        progress(f"growth {dimension} {size:,}: {rates[size]:,.0f}/s")
    return rates


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure growth.")
    parser.add_argument("--only", action="append", choices=DIMENSIONS, help="may be repeated")
    parser.add_argument("--server", choices=SERVER_NAMES, default="ours", help="for connections")
    arguments = parser.parse_args()
    names = arguments.only or list(DIMENSIONS)
    if arguments.server != "ours" and names != ["connections"]:
        parser.error("another server takes part in --only connections and in nothing else")
    # As in the broker's process, which is measured here.
    gc.set_threshold(*GC_THRESHOLDS)
    gc.freeze()
    lines, charts = [], []
    for name in names:
        rates = measure(name, arguments.server)
        figures = {
            "worst_share": min(rates.values()) / max(rates.values()),
            **{f"per_s_at_{size}": rate for size, rate in rates.items()},
        }
        command = f"python -m {MODULE} --only {name}"
        case, bars = name, BARS
        if arguments.server != "ours":
            command += f" --server {arguments.server}"
            case, bars = f"{name} of {arguments.server}", ()
        lines.append(case_line("growth", case, figures, bars, command))
        print_line(lines[-1])
        charts.append(chart(name, rates))
    progress("\n".join(charts))
    progress(verdict_table(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
