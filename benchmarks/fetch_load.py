"""Consumers that keep up, consumers that wait, and a consumer that reads a full partition.

Records have 100 bytes. Responses are checked while the clock runs, by their size and by the
offsets of their batches, which cost only the client.
"""

import select
import time
from collections.abc import Sequence
from contextlib import ExitStack
from struct import Struct
from typing import Any

from benchmarks import request_bytes
from benchmarks.busy_polling import poll
from benchmarks.cost_clock import Cost, CostClock
from benchmarks.request_bytes import (
    PRODUCE_VERSION,
    VALUE_BYTES,
    LoadError,
    RequestConnection,
    UnmeasuredConnection,
    batch_builder,
    decode_response,
    frame_request,
)
from benchmarks.request_load import create_topics
from benchmarks.server_process import ServerProcess
from protocol import messages
from protocol.api_keys import ApiKey

FETCH_VERSION = 12
"""The last version that names topics; it has fetch sessions."""
TOPIC = "fetch"
FOLLOWERS = 20
WAITERS = 100
BATCH_RECORDS = 1_000
PARTITION_BYTES_MAX = 1 << 20
FETCH_BYTES_MAX = 50 << 20
WAIT_MS = 20_000
RESPONSE_WAIT_S = 20.0
_SIZE = Struct(">i")
_LONG = Struct(">q")
_OFFSET_MARK = 0x7A6B5C4D3E2F1A0B
_SESSION_MARK, _EPOCH_MARK = 0x5A4B3C2D, 0x4A3B2C1D
_LAST_OFFSET_DELTA_POSITION = 23
_BATCH_LENGTH_POSITION = 8
_BATCH_START_BYTES = 12


class SessionRequests:
    """The requests of a fetch session on one partition; they differ in a few integers."""

    def __init__(self, connection: RequestConnection, topic: str) -> None:
        self._offset = 0
        self._session_epoch = 1
        first = connection.ask(fetch_request(topic, 0, 0, 0, wait_ms=0))
        if first.error_code or not first.session_id:
            raise LoadError(f"no fetch session: {first}")
        template = fetch_request(topic, _OFFSET_MARK, first.session_id, _EPOCH_MARK)
        self._frame = bytearray(frame_request(template, 0))
        self._offset_position = self._frame.index(_LONG.pack(_OFFSET_MARK))
        self._epoch_position = self._frame.index(_SIZE.pack(_EPOCH_MARK))

    def next_request(self) -> bytearray:
        """Return the request for the next record."""
        _LONG.pack_into(self._frame, self._offset_position, self._offset)
        _SIZE.pack_into(self._frame, self._epoch_position, self._session_epoch)
        self._offset += 1
        self._session_epoch += 1
        return self._frame


class Consumer:
    """A consumer with a fetch session on one partition."""

    def __init__(self, connection: UnmeasuredConnection, topic: str) -> None:
        self._connection = connection
        self._requests = SessionRequests(connection, topic)

    def fileno(self) -> int:
        """Return the file descriptor of its socket."""
        return self._connection.socket.fileno()

    def send(self) -> None:
        """Ask for the next record."""
        self._connection.socket.sendall(self._requests.next_request())

    def receive(self) -> bytes:
        """Receive a response with one record."""
        return bytes(self._connection.receive_frame())


def fetch_request(
    topic: str,
    offset: int,
    session_id: int,
    session_epoch: int,
    wait_ms: int = WAIT_MS,
    indexes: Sequence[int] = (0,),
) -> Any:
    """Return a request for partitions of one topic, all from the same offset."""
    topic_class = messages.FetchRequest.FetchTopic
    partitions = [
        topic_class.FetchPartition(
            version=FETCH_VERSION,
            partition=index,
            current_leader_epoch=-1,
            fetch_offset=offset,
            last_fetched_epoch=-1,
            log_start_offset=-1,
            partition_max_bytes=PARTITION_BYTES_MAX,
        )
        for index in indexes
    ]
    return messages.FetchRequest(
        version=FETCH_VERSION,
        replica_id=-1,
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=FETCH_BYTES_MAX,
        isolation_level=0,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[topic_class(version=FETCH_VERSION, topic=topic, partitions=partitions)],
        forgotten_topics_data=[],
        rack_id="",
    )


def check(frame: bytes, offset: int) -> None:
    """Check a response with one record.

    Raises:
        LoadError: it has an error, or another record.
    """
    response = decode_response(ApiKey.FETCH, FETCH_VERSION, frame)
    (topic,) = response.responses
    (partition,) = topic.partitions
    base_offset = _LONG.unpack_from(partition.records or bytes(8))[0]
    if response.error_code or partition.error_code or base_offset != offset:
        raise LoadError(f"a response with offset {base_offset} instead of {offset}: {response}")


# Cases ---------------------------------------------------------------------------------------


def follow(server: ServerProcess, sockets: ExitStack, record_count: int) -> tuple[Cost, int]:
    """Send a record to each of some topics as soon as the consumer of it has the previous one.

    Returns the cost and the number of records: a Produce and a Fetch each.
    """
    topics = [f"{TOPIC}-{number}" for number in range(FOLLOWERS)]
    create_topics(server.address, topics)
    rounds = record_count // FOLLOWERS
    warm = rounds // 10
    consumers, producers, produces = [], [], []
    for topic in topics:
        producers.append(
            sockets.enter_context(UnmeasuredConnection(server.address, RESPONSE_WAIT_S))
        )
        connection = sockets.enter_context(UnmeasuredConnection(server.address, RESPONSE_WAIT_S))
        consumers.append(Consumer(connection, topic))
        produces.append(bytes(request_bytes.produce_requests(topic, 1).run(0, 1)))
    produce_bytes = 0
    by_fd: dict[int, int] = {}
    epoll = select.epoll()
    for number, (consumer, producer) in enumerate(zip(consumers, producers, strict=True)):
        for fd in (consumer.fileno(), producer.socket.fileno()):
            by_fd[fd] = number
            epoll.register(fd, select.EPOLLIN)
    last: dict[int, bytes] = {}

    def run(count: int) -> Cost:
        nonlocal produce_bytes
        missing = dict.fromkeys(range(FOLLOWERS), 2)
        left = dict.fromkeys(range(FOLLOWERS), count)
        clock = CostClock(server.pid)
        for number in left:
            consumers[number].send()
            producers[number].socket.sendall(produces[number])
        while left:
            for fd, _ in poll(epoll, RESPONSE_WAIT_S) or _give_up():
                number = by_fd[fd]
                if fd == consumers[number].fileno():
                    last[number] = consumers[number].receive()
                else:
                    producers[number].receive_frame()
                missing[number] -= 1
                if missing[number]:
                    continue
                missing[number] = 2
                left[number] -= 1
                if left[number]:
                    consumers[number].send()
                    producers[number].socket.sendall(produces[number])
                else:
                    del left[number]
        return clock.stop()

    run(warm)
    cost = run(rounds)
    for frame in last.values():
        check(frame, warm + rounds - 1)
    return cost, rounds * FOLLOWERS


def wait(server: ServerProcess, sockets: ExitStack, record_count: int) -> tuple[Cost, int]:
    """Send a record for which all consumers of a topic wait; again when all of them have it.

    Returns the cost and the number of fetches.
    """
    create_topics(server.address, [TOPIC])
    producer = sockets.enter_context(UnmeasuredConnection(server.address, RESPONSE_WAIT_S))
    produce = bytes(request_bytes.produce_requests(TOPIC, 1).run(0, 1))
    consumers = [
        Consumer(
            sockets.enter_context(UnmeasuredConnection(server.address, RESPONSE_WAIT_S)),
            TOPIC,
        )
        for _ in range(WAITERS)
    ]

    def run(count: int) -> tuple[Cost, bytes]:
        clock = CostClock(server.pid)
        for _ in range(count):
            for consumer in consumers:
                consumer.send()
            producer.socket.sendall(produce)
            producer.receive_frame()
            frames = [consumer.receive() for consumer in consumers]
        return clock.stop(), frames[-1]

    rounds = record_count // WAITERS
    run(rounds // 10)
    cost, frame = run(rounds)
    check(frame, rounds // 10 + rounds - 1)
    return cost, rounds * WAITERS


def read_back(server: ServerProcess, sockets: ExitStack, record_count: int) -> tuple[Cost, int]:
    """Read a partition from its beginning to its end; return the cost and the number of records."""
    create_topics(server.address, [TOPIC])
    connection = sockets.enter_context(UnmeasuredConnection(server.address, RESPONSE_WAIT_S))
    produce = frame_request(_produce_batch(), 0)
    for _ in range(record_count // BATCH_RECORDS):
        connection.send(produce)
        response = decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, connection.receive_frame())
        if response.responses[0].partition_responses[0].error_code:
            raise LoadError(f"{response}")
    return _read_all(server, connection, record_count), record_count


def read_synthetic(
    server: ServerProcess, sockets: ExitStack, record_count: int
) -> tuple[Cost, int]:
    """Read records of a synthetic topic, in batches as `read_back` reads them.

    Returns the cost and the number of records.
    """
    config = {
        "log.records": "synthetic",
        "synthetic.batch.records": str(BATCH_RECORDS),
        "synthetic.value.size": str(VALUE_BYTES),
    }
    create_topics(server.address, [TOPIC], config)
    connection = sockets.enter_context(UnmeasuredConnection(server.address, RESPONSE_WAIT_S))
    # The broker makes the values when they are first read.
    _read_all(server, connection, record_count // 10)
    return _read_all(server, connection, record_count), record_count


def _read_all(server: ServerProcess, connection: UnmeasuredConnection, record_count: int) -> Cost:
    """Read a partition from its beginning up to a number of records."""
    frame = bytearray(frame_request(fetch_request(TOPIC, _OFFSET_MARK, 0, -1), 0))
    offset_position = frame.index(_LONG.pack(_OFFSET_MARK))
    marker = TOPIC.encode()
    offset = 0
    clock = CostClock(server.pid)
    while offset < record_count:
        _LONG.pack_into(frame, offset_position, offset)
        connection.send(bytes(frame))
        offset = _end_offset(connection.receive_frame(), marker, offset)
    return clock.stop()


def _produce_batch() -> Any:
    builder = batch_builder(1 << 20)
    timestamp_ms = int(time.time() * 1000)
    for offset in range(BATCH_RECORDS):
        builder.append(
            offset=offset, timestamp=timestamp_ms, key=None, value=b"x" * VALUE_BYTES, headers=[]
        )
    topic_data = messages.ProduceRequest.TopicProduceData
    partition = topic_data.PartitionProduceData(
        version=PRODUCE_VERSION, index=0, records=bytes(builder.build())
    )
    return messages.ProduceRequest(
        version=PRODUCE_VERSION,
        transactional_id=None,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[topic_data(version=PRODUCE_VERSION, name=TOPIC, partition_data=[partition])],
    )


def _end_offset(frame: bytes, topic: bytes, offset: int) -> int:
    """Return the offset after the last complete batch of a response.

    Raises:
        LoadError: its first batch is not at `offset`.
    """
    position = frame.find(_LONG.pack(offset), frame.index(topic) + len(topic) + 35)
    if position < 0:
        raise LoadError(f"no batch with offset {offset} in a response of {len(frame)} bytes")
    while position + _BATCH_START_BYTES < len(frame):
        base_offset = _LONG.unpack_from(frame, position)[0]
        end = position + _BATCH_START_BYTES
        end += _SIZE.unpack_from(frame, position + _BATCH_LENGTH_POSITION)[0]
        if base_offset != offset or end > len(frame):
            break
        offset += _SIZE.unpack_from(frame, position + _LAST_OFFSET_DELTA_POSITION)[0] + 1
        position = end
    return offset


def _give_up() -> list[tuple[int, int]]:
    raise LoadError(f"no response for {RESPONSE_WAIT_S} s")
