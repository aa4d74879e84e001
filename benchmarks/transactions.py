"""Measure what a transaction costs beside an idempotent Produce, and what a million of them leave.

python -m benchmarks.transactions [--growth TRANSACTIONS]

Cost: producers on separate connections, with one request in flight each, send idempotent
batches of one record and, alternately, transactions of one such batch and its end (Produce v12,
EndTxn v5). Growth: the resident memory of a broker whose topic keeps a fixed size of records, after
a tenth of the transactions and after all of them.
"""

import argparse
import select
import socket
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from benchmarks.busy_polling import poll
from benchmarks.cost_clock import Cost, CostClock
from benchmarks.report import print_line, progress
from benchmarks.request_bytes import (
    LoadError,
    RequestConnection,
    UnmeasuredConnection,
    decode_response,
    frame_request,
    record_batch,
)
from benchmarks.server_process import ServerProcess, pinned, serve, two_cpus
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.batch_builder import stamp_producer

TOPIC = "transactions"
CONNECTIONS = 20
REQUESTS = 500
"""Idempotent requests, or transactions, of a connection in one round."""
ROUNDS = 7
RATIO_MAX = 4.0
GROWTH_TRANSACTIONS = 1_000_000
GROWTH_BYTES_MAX = 8 << 20
RETENTION_BYTES = 1 << 20
LAST_EPOCH = 2**15 - 2
RESPONSE_WAIT_S = 20.0
_PRODUCE_VERSION = 12
_END_VERSION = 5
_INIT_VERSION = 5
_FIND_VERSION = 3
_TRANSACTION_KEY_TYPE = 1
_RETRIABLE = frozenset({14, 15, 16, 51})
"""The coordinator is loading, not available or moved, or a transaction is being ended."""


ConnectionT = TypeVar("ConnectionT", bound=RequestConnection)


@dataclass(slots=True)
class Producer(Generic[ConnectionT]):
    """A producer on its own connection; `transactional_id` is None for an idempotent one."""

    connection: ConnectionT
    transactional_id: str | None
    producer_id: int = -1
    producer_epoch: int = -1
    sequence: int = 0
    is_commit: bool = True
    frames: Iterator[bytes] = field(default_factory=lambda: iter(()))
    responses: list[bytes] = field(default_factory=list)

    def init(self) -> None:
        """Find the coordinator, and request a producer id."""
        if self.transactional_id is not None:
            self._ask(
                messages.FindCoordinatorRequest(
                    version=_FIND_VERSION,
                    key=self.transactional_id,
                    key_type=_TRANSACTION_KEY_TYPE,
                )
            )
        response = self._ask(
            messages.InitProducerIdRequest(
                version=_INIT_VERSION,
                transactional_id=self.transactional_id,
                transaction_timeout_ms=60_000,
                producer_id=-1,
                producer_epoch=-1,
            )
        )
        self.producer_id, self.producer_epoch = response.producer_id, response.producer_epoch

    def _ask(self, request: Any) -> Any:
        while (response := self.connection.ask(request)).error_code in _RETRIABLE:
            pass
        if response.error_code:
            raise LoadError(f"{response}")
        return response

    def prepare(self, count: int) -> None:
        """Encode the next idempotent requests, or the requests of the next transactions."""
        frames = []
        for _ in range(count):
            if self.transactional_id is None:
                frames.append(self._produce(self.sequence))
                self.sequence += 1
            else:
                frames += [self._produce(0), self._end()]
                self.producer_epoch += 1
        self.frames, self.responses = iter(frames), []

    def _produce(self, sequence: int) -> bytes:
        batch = stamp_producer(
            _BATCH,
            self.producer_id,
            self.producer_epoch,
            sequence,
            is_transactional=self.transactional_id is not None,
        )
        topic_data = messages.ProduceRequest.TopicProduceData
        partition_data = topic_data.PartitionProduceData(
            version=_PRODUCE_VERSION, index=0, records=batch
        )
        topic = topic_data(version=_PRODUCE_VERSION, name=TOPIC, partition_data=[partition_data])
        request = messages.ProduceRequest(
            version=_PRODUCE_VERSION,
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[topic],
        )
        return frame_request(request, 0)

    def _end(self) -> bytes:
        request = messages.EndTxnRequest(
            version=_END_VERSION,
            transactional_id=self.transactional_id or "",
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=self.is_commit,
        )
        return frame_request(request, 0)

    def check(self) -> None:
        """Decode the responses, check their error codes, and store the next id and epoch.

        Raises:
            LoadError: one of them is an error.
        """
        for index, frame in enumerate(self.responses):
            if self.transactional_id is not None and index % 2:
                ended = decode_response(ApiKey.END_TXN, _END_VERSION, frame)
                error_code = ended.error_code
                self.producer_id, self.producer_epoch = ended.producer_id, ended.producer_epoch
            else:
                produced = decode_response(ApiKey.PRODUCE, _PRODUCE_VERSION, frame)
                error_code = produced.responses[0].partition_responses[0].error_code
            if error_code:
                raise LoadError(f"error {error_code} in response {index}")


_BATCH = record_batch(-1, -1, -1)
LoadProducer: TypeAlias = Producer[UnmeasuredConnection]


def exchange(server_pid: int, producers: Sequence[LoadProducer]) -> Cost:
    """Send the prepared requests of all producers, one in flight each; return the cost."""
    epoll = select.epoll()
    by_fd = {producer.connection.socket.fileno(): producer for producer in producers}
    for fd, producer in by_fd.items():
        producer.connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        epoll.register(fd, select.EPOLLIN)
    open_count = len(producers)
    clock = CostClock(server_pid)
    for producer in producers:
        producer.connection.socket.send(next(producer.frames))
    while open_count:
        events = poll(epoll, RESPONSE_WAIT_S)
        if not events:
            raise LoadError(f"no response for {RESPONSE_WAIT_S} s")
        for fd, _ in events:
            producer = by_fd[fd]
            sock = producer.connection.socket
            producer.responses.append(sock.recv(65536))
            frame = next(producer.frames, None)
            if frame is None:
                open_count -= 1
            else:
                sock.send(frame)
    cost = clock.stop()
    epoll.close()
    return cost


def _producers(
    server: ServerProcess, sockets: ExitStack, transactional_ids: Sequence[str | None]
) -> list[LoadProducer]:
    producers: list[LoadProducer] = []
    for transactional_id in transactional_ids:
        connection = sockets.enter_context(UnmeasuredConnection(server.address))
        producer = Producer(connection, transactional_id)
        producer.init()
        producers.append(producer)
    return producers


def _us_each(server: ServerProcess, producers: Sequence[LoadProducer], count: int) -> float:
    """Return the server's CPU time for one idempotent request or one transaction, in µs."""
    for producer in producers:
        producer.prepare(count)
    cost = exchange(server.pid, producers)
    for producer in producers:
        producer.check()
    return cost.server_s / (count * len(producers)) * 1e6


def transaction_costs_us(server: ServerProcess, rounds: int) -> list[float]:
    """Return the server's CPU time for a transaction in µs, of each round after a warm-up."""
    with UnmeasuredConnection(server.address) as admin, ExitStack() as sockets:
        admin.create_topic(TOPIC)
        producers = _producers(server, sockets, [f"cost-{n}" for n in range(CONNECTIONS)])
        return [_us_each(server, producers, REQUESTS) for _ in range(rounds + 1)][1:]


def measure_cost() -> bool:
    """Print the cost of a transaction; return whether it is within the bar."""
    server_cpu, client_cpu = two_cpus()
    costs: dict[bool, list[float]] = {False: [], True: []}
    with serve("ours", cpu=server_cpu) as server, pinned(client_cpu), ExitStack() as sockets:
        with UnmeasuredConnection(server.address) as admin:
            admin.create_topic(TOPIC)
        idempotent = _producers(server, sockets, [None] * CONNECTIONS)
        transactional = _producers(server, sockets, [f"cost-{n}" for n in range(CONNECTIONS)])
        for number in range(ROUNDS + 1):  # the first one warms up
            for producers in (idempotent, transactional):
                cost_us = _us_each(server, producers, REQUESTS)
                if number:
                    costs[producers is transactional].append(cost_us)
            progress(f"transactions: round {number} of {ROUNDS}")
    ratios = [after / before for before, after in zip(*costs.values(), strict=True)]
    ratio = statistics.median(ratios)
    print_line(
        {
            "measurement": "transactions",
            "case": f"{CONNECTIONS} producers, one request in flight each",
            "idempotent_produce_us": round(statistics.median(costs[False]), 1),
            "transaction_us": round(statistics.median(costs[True]), 1),
            "ratio": round(ratio, 2),
            "ratios": [round(value, 2) for value in ratios],
            "bar": f"ratio at most {RATIO_MAX}",
            "met": ratio <= RATIO_MAX,
            "command": "scripts/bench transactions",
        }
    )
    return bool(ratio <= RATIO_MAX)


def measure_growth(transaction_count: int) -> bool:
    """Print the memory that finished transactions leave; return whether it is within the bar."""
    server_cpu, client_cpu = two_cpus()
    options = (
        f"log.retention.bytes={RETENTION_BYTES}",
        f"log.segment.bytes={RETENTION_BYTES}",
        "log.retention.check.interval.ms=1000",
    )
    with serve("ours", cpu=server_cpu, options=options) as server, pinned(client_cpu):
        with UnmeasuredConnection(server.address) as admin:
            admin.create_topic(TOPIC)
        with ExitStack() as sockets:
            producers = _producers(server, sockets, [f"growth-{n}" for n in range(CONNECTIONS)])
            done, before_bytes = 0, 0
            while done < transaction_count:
                for index, producer in enumerate(producers):
                    producer.is_commit = index % 2 == 0
                # The end of the transaction in the last epoch returns another producer id.
                count = min(REQUESTS, LAST_EPOCH + 1 - producers[0].producer_epoch)
                _us_each(server, producers, count)
                done += count * len(producers)
                if not before_bytes and done >= transaction_count // 10:
                    before_bytes = server.resident_bytes()
                progress(f"transactions: {done}, {server.resident_bytes() >> 10} KiB")
            growth_bytes = server.resident_bytes() - before_bytes
    print_line(
        {
            "measurement": "transactions",
            "case": "memory of finished transactions, half of them aborted",
            "transactions": done,
            "resident_bytes_after_a_tenth": before_bytes,
            "growth_bytes": growth_bytes,
            "bar": f"growth_bytes at most {GROWTH_BYTES_MAX}",
            "met": growth_bytes <= GROWTH_BYTES_MAX,
            "command": "scripts/bench transactions",
        }
    )
    return bool(growth_bytes <= GROWTH_BYTES_MAX)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--growth",
        type=int,
        default=GROWTH_TRANSACTIONS,
        metavar="TRANSACTIONS",
        help=f"0 to measure the cost only (default {GROWTH_TRANSACTIONS})",
    )
    arguments = parser.parse_args()
    measure_cost()
    has_no_growth = not arguments.growth or measure_growth(arguments.growth)
    return 0 if has_no_growth else 1


if __name__ == "__main__":
    sys.exit(main())
