"""Send two million producer ids of one user with a quota of 100, and measure another user.

python -m benchmarks.producer_id_flood HOST PORT FIRST IDS IDS_PER_REQUEST

runs one part of the flood, as fast as possible. Each request has its own connection, because a
refused one is muted for 36 seconds. It has an id for each of a few partitions; one id per request
would take half an hour. The other user sends a record at a time and waits for its delivery,
alternately alone and during the flood. The server has one CPU and the clients share the other; the
flood has a lower priority there, so that only the broker affects the latencies.
"""

import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from struct import Struct

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.request_bytes import (
    PRODUCE_VERSION,
    UnmeasuredConnection,
    decode_response,
    frame_request,
    record_batch,
)
from benchmarks.server_process import PROJECT, pinned, two_cpus
from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.checksum import crc32c
from protocol.errors import ErrorCode

MODULE = "benchmarks.producer_id_flood"
QUOTA = 100
LAYER_RATE = 0.001 / 4
"""The false positive rate of the default configuration while there is one layer."""
IDS = 2_000_000
FIRST_IDS = 50_000
"""The warm-up: after it the broker has made its one-time allocations, its journal of 10,000
requests is full, and the burst of the quota is used up."""
TOGETHER = 6
ROUNDS = 8
ALONE_S = 2.0
TIMEOUT_S = 20.0
RESPONSE_BYTES_MAX = 1 << 16
TOPIC = "flood"

_ID = Struct(">q")
_ID_AT, _CRC_AT, _CRC_FROM = 43, 17, 21
_CRC = Struct(">I")


class Requests:
    """A frame whose producer ids are replaced in place."""

    def __init__(self, ids_per_request: int) -> None:
        topic_data = messages.ProduceRequest.TopicProduceData
        batch = record_batch(1 << 62, 0, 0)
        request = messages.ProduceRequest(
            version=PRODUCE_VERSION,
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                topic_data(
                    version=PRODUCE_VERSION,
                    name=TOPIC,
                    partition_data=[
                        topic_data.PartitionProduceData(
                            version=PRODUCE_VERSION, index=index, records=batch
                        )
                        for index in range(ids_per_request)
                    ],
                )
            ],
        )
        self._frame = bytearray(frame_request(request, 0))
        self._batch_bytes = len(batch)
        self._starts = []
        start = -1
        while (start := self._frame.find(batch, start + 1)) >= 0:
            self._starts.append(start)
        assert len(self._starts) == ids_per_request

    def with_ids(self, first: int) -> bytearray:
        """Return the request in which ids from `first` on write their first batch."""
        frame = self._frame
        for producer_id, start in enumerate(self._starts, first):
            _ID.pack_into(frame, start + _ID_AT, producer_id)
            checksum = crc32c(bytes(frame[start + _CRC_FROM : start + self._batch_bytes]))
            _CRC.pack_into(frame, start + _CRC_AT, checksum)
        return frame


def error_codes(result: bytes) -> list[int]:
    response = decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, result)
    return [part.error_code for part in response.responses[0].partition_responses]


def response_of(address: tuple[str, int], frame: bytearray) -> bytes:
    """Return the response to a frame; twice as fast as `UnmeasuredConnection`."""
    with socket.socket() as connection:
        connection.connect(address)
        connection.sendall(frame)
        response = connection.recv(RESPONSE_BYTES_MAX)
        while len(response) < 4 + int.from_bytes(response[:4], "big"):
            more = connection.recv(RESPONSE_BYTES_MAX)
            if not more:
                raise ConnectionError("the server closed the connection")
            response += more
    return response


def run_part(address: tuple[str, int], first: int, ids: int, ids_per_request: int) -> None:
    requests = Requests(ids_per_request)
    refused_size = 0
    for number, producer_id in enumerate(range(first, first + ids, ids_per_request)):
        response = response_of(address, requests.with_ids(producer_id))
        # All refusals have the same size; decode every hundredth.
        if number % 100 == 0 or len(response) != refused_size:
            codes = set(error_codes(response))
            assert codes <= {ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED}
            if ErrorCode.NONE not in codes:
                refused_size = len(response)


def measure(progress: Callable[[str], None]) -> dict[str, float]:
    config: dict[str, str | int] = {
        "listeners": "PLAINTEXT://:0,SASL_PLAINTEXT://:0",
        "log.retention.check.interval.ms": 1000,
        "sasl.users": "neighbour:secret",
        "client.quotas": f"user=ANONYMOUS,producer_ids_rate={QUOTA}",
    }
    server_cpu, client_cpu = two_cpus()
    with ExitStack() as stack:
        with pinned(server_cpu):
            kafka = stack.enter_context(MockKafka(config=config))
        stack.enter_context(pinned(client_cpu))
        return measure_beside(kafka, progress)


def measure_beside(kafka: MockKafka, progress: Callable[[str], None]) -> dict[str, float]:
    alone: list[float] = []
    beside: list[float] = []
    ratios: list[float] = []
    servers = kafka.bootstrap_servers_of("SASL_PLAINTEXT")
    host, _, port = kafka.bootstrap_servers.rpartition(":")
    address = host, int(port)
    create_topics(servers)
    latencies_ms(servers, for_seconds(2))
    started_s = time.perf_counter()
    finish_part(start_part(address, 0, FIRST_IDS))
    before_bytes = resident_bytes(kafka.pid)
    ids_per_round = (IDS - FIRST_IDS) // ROUNDS
    for number in range(ROUNDS):
        progress(f"producer-id-quota flood: round {number + 1} of {ROUNDS}")
        by_itself = latencies_ms(servers, for_seconds(ALONE_S))
        process = start_part(address, FIRST_IDS + number * ids_per_round, ids_per_round)
        with_flood = latencies_ms(servers, while_it_runs(process))
        finish_part(process)
        ratios.append(p99(with_flood) / p99(by_itself))
        alone += by_itself
        beside += with_flood
    elapsed_s = time.perf_counter() - started_s
    grown = resident_bytes(kafka.pid) - before_bytes
    kept = producer_ids_kept(address)
    admitted = QUOTA + int(elapsed_s * QUOTA / 3600) + 1
    mistaken = IDS * LAYER_RATE
    return {
        "ids": IDS,
        "ids_per_s": round(IDS / (elapsed_s - ROUNDS * ALONE_S)),
        "producer_ids_kept": kept,
        "producer_ids_promised": admitted + int(mistaken + 3 * mistaken**0.5),
        "resident_growth_mb": round(grown / 1e6, 1),
        "p50_alone_ms": round(statistics.median(alone), 3),
        "p50_beside_ms": round(statistics.median(beside), 3),
        "p99_alone_ms": round(p99(alone), 3),
        "p99_beside_ms": round(p99(beside), 3),
        "neighbour_p99_ratio": round(statistics.median(ratios), 2),
    }


def p99(values: list[float]) -> float:
    return sorted(values)[int(0.99 * len(values))]


def create_topics(servers: str) -> None:
    admin = AdminClient(sasl(servers))
    # The records of the other user are not measured.
    small = {"retention.bytes": "100000", "segment.bytes": str(1 << 20)}
    neighbour = NewTopic("neighbour", 1, config=small)
    topics = [NewTopic(TOPIC, TOGETHER), neighbour]
    for created in admin.create_topics(topics).values():
        created.result(TIMEOUT_S)


def sasl(servers: str) -> dict[str, str]:
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "neighbour",
        "sasl.password": "secret",
    }


def for_seconds(duration_s: float) -> Callable[[], bool]:
    end_s = time.perf_counter() + duration_s
    return lambda: time.perf_counter() < end_s


def while_it_runs(process: "subprocess.Popen[bytes]") -> Callable[[], bool]:
    return lambda: process.poll() is None


def latencies_ms(servers: str, goes_on: Callable[[], bool]) -> list[float]:
    """Return the latencies of records that are sent one by one."""
    producer = confluent_kafka.Producer(
        {**sasl(servers), "enable.idempotence": True, "linger.ms": 0}
    )
    producer.produce("neighbour", b"x" * 1000)
    producer.flush(TIMEOUT_S)
    found = []
    while goes_on():
        begun_s = time.perf_counter()
        producer.produce("neighbour", b"x" * 1000)
        if producer.flush(TIMEOUT_S):
            raise RuntimeError("a record of the neighbour was not delivered")
        found.append((time.perf_counter() - begun_s) * 1000)
    return found


def start_part(address: tuple[str, int], first: int, ids: int) -> "subprocess.Popen[bytes]":
    words = [*map(str, (*address, first, ids, TOGETHER))]
    return subprocess.Popen(["nice", "-n", "19", sys.executable, "-m", MODULE, *words], cwd=PROJECT)


def finish_part(process: "subprocess.Popen[bytes]") -> None:
    if process.wait():
        raise RuntimeError(f"the flood ended with status {process.returncode}")


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError(pid)


def producer_ids_kept(address: tuple[str, int]) -> int:
    """Return the number of producer ids in all partitions of the topic, by DescribeProducers."""
    topic = messages.DescribeProducersRequest.TopicRequest
    request = messages.DescribeProducersRequest(
        version=0,
        topics=[
            topic(version=0, name=TOPIC, partition_indexes=[*range(TOGETHER)]),
        ],
    )
    with UnmeasuredConnection(address) as connection:
        response = connection.ask(request)
    return sum(len(partition.active_producers) for partition in response.topics[0].partitions)


def main() -> None:
    host, *numbers = sys.argv[1:]
    port, *rest = map(int, numbers)
    run_part((host, port), *rest)


if __name__ == "__main__":
    main()
