"""Requests other than Produce and Fetch: one request in flight on each of many connections.

A connection sends the same encoded request again and again. Nothing is decoded while
the clock runs: the responses are kept and checked afterwards.
"""

import select
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from benchmarks.busy_polling import poll
from benchmarks.cost_clock import Cost, CostClock
from benchmarks.request_bytes import (
    LoadError,
    RequestConnection,
    UnmeasuredConnection,
    decode_response,
    frame_request,
)
from benchmarks.server_process import ServerProcess
from protocol import messages
from protocol.api_keys import ApiKey

CONNECTIONS = 50
RESPONSE_WAIT_S = 20.0
READ_BYTES = 1 << 20
DECODED_BYTES_MAX = 1 << 18
TOPIC = "requests"
SESSION_TIMEOUT_MS = 300_000
_RETRIABLE = frozenset({3, 14, 15, 16, 79})
"""The topic is not there yet, or the coordinator; or the member has to send its id."""
_SIZE_BYTES = 4
_CREATE_VERSION = 5
_GROUP_KEY_TYPE = 0


@dataclass(slots=True, eq=False)
class Sender:
    """A connection, the request that it repeats, and the responses so far."""

    connection: UnmeasuredConnection
    frame: bytes
    responses: list[bytes] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Case:
    """What is prepared on each connection, and the API whose requests are measured.

    `prepare` takes the connection and its number, and returns the request.
    """

    prepare: Callable[[RequestConnection, int], Any]
    topic_count: int = 1
    connection_count: int = CONNECTIONS


def ask(connection: RequestConnection, request: Any) -> Any:
    """Return the response to a request, which is sent until the coordinator is there.

    Raises:
        LoadError: it is an error.
    """
    deadline_s = time.monotonic() + RESPONSE_WAIT_S
    while (response := connection.ask(request)).error_code in _RETRIABLE:
        if time.monotonic() > deadline_s:
            break
        if hasattr(request, "member_id") and response.member_id:
            request.member_id = response.member_id
        time.sleep(0.01)
    if response.error_code:
        raise LoadError(f"{response}")
    return response


def create_topics(
    address: tuple[str, int], names: Sequence[str], config: Mapping[str, str] | None = None
) -> None:
    """Create topics with one partition each, and a configuration that is set.

    Raises:
        LoadError: one of them was refused.
    """
    topic_class = messages.CreateTopicsRequest.CreatableTopic
    configs = [
        topic_class.CreatableTopicConfig(version=_CREATE_VERSION, name=key, value=value)
        for key, value in (config or {}).items()
    ]
    topics = [
        topic_class(
            version=_CREATE_VERSION,
            name=name,
            num_partitions=1,
            replication_factor=1,
            assignments=[],
            configs=configs,
        )
        for name in names
    ]
    create = messages.CreateTopicsRequest(
        version=_CREATE_VERSION, topics=topics, timeout_ms=60_000, validate_only=False
    )
    with UnmeasuredConnection(address, RESPONSE_WAIT_S) as admin:
        for created in admin.ask(create).topics:
            if created.error_code:
                raise LoadError(f"{created}")


def topic_names(count: int) -> list[str]:
    """Return the names of the topics of a case."""
    return [f"{TOPIC}-{number:04}" for number in range(count)]


# Requests ------------------------------------------------------------------------------------


def _join_classic(connection: RequestConnection, number: int) -> tuple[str, str, int]:
    """Join a group alone; return group, member id and generation."""
    group_id = f"group-{number}"
    ask(
        connection,
        messages.FindCoordinatorRequest(version=3, key=group_id, key_type=_GROUP_KEY_TYPE),
    )
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol
    joined = ask(
        connection,
        messages.JoinGroupRequest(
            version=5,
            group_id=group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            member_id="",
            group_instance_id=None,
            protocol_type="consumer",
            protocols=[protocol(version=5, name="range", metadata=b"")],
        ),
    )
    assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment
    ask(
        connection,
        messages.SyncGroupRequest(
            version=3,
            group_id=group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=None,
            assignments=[assignment(version=3, member_id=joined.member_id, assignment=b"")],
        ),
    )
    return group_id, joined.member_id, joined.generation_id


def _heartbeat(connection: RequestConnection, number: int) -> Any:
    group_id, member_id, generation_id = _join_classic(connection, number)
    return messages.HeartbeatRequest(
        version=4,
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=None,
    )


def _consumer_heartbeat(connection: RequestConnection, number: int) -> Any:
    """Join a group of the consumer protocol, take what it assigns, and report that."""
    request_class = messages.ConsumerGroupHeartbeatRequest
    group_id, member_id = f"group-{number}", f"member-{number}"
    ask(connection, messages.FindCoordinatorRequest(version=3, key=group_id, key_type=0))

    def report(epoch: int, **fields: Any) -> Any:
        unchanged = {
            "rebalance_timeout_ms": -1,
            "subscribed_topic_names": None,
            "topic_partitions": None,
        }
        return request_class(
            version=1,
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=None,
            rack_id=None,
            subscribed_topic_regex=None,
            server_assignor=None,
            **unchanged | fields,
        )

    joined = ask(
        connection,
        report(
            0,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            subscribed_topic_names=topic_names(1),
            topic_partitions=[],
        ),
    )
    assigned = joined.assignment.topic_partitions if joined.assignment else []
    owned = [
        request_class.TopicPartitions(
            version=1, topic_id=topic.topic_id, partitions=topic.partitions
        )
        for topic in assigned
    ]
    reported = ask(connection, report(joined.member_epoch, topic_partitions=owned))
    return report(reported.member_epoch)


def _offset_commit(connection: RequestConnection, number: int) -> Any:
    group_id, member_id, generation_id = _join_classic(connection, number)
    topic_class = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topic_class.OffsetCommitRequestPartition(
        version=8,
        partition_index=0,
        committed_offset=1,
        committed_leader_epoch=-1,
        committed_metadata="",
    )
    topic = topic_class(version=8, name=topic_names(1)[0], partitions=[partition])
    return messages.OffsetCommitRequest(
        version=8,
        group_id=group_id,
        generation_id_or_member_epoch=generation_id,
        member_id=member_id,
        group_instance_id=None,
        topics=[topic],
    )


def _metadata(names: Sequence[str] | None) -> Callable[[RequestConnection, int], Any]:
    def prepare(_connection: RequestConnection, _number: int) -> Any:
        topic = messages.MetadataRequest.MetadataRequestTopic
        topics = None if names is None else [topic(version=9, name=name) for name in names]
        return messages.MetadataRequest(version=9, topics=topics, allow_auto_topic_creation=False)

    return prepare


def _init_producer_id(_connection: RequestConnection, _number: int) -> Any:
    return messages.InitProducerIdRequest(
        version=4,
        transactional_id=None,
        transaction_timeout_ms=60_000,
        producer_id=-1,
        producer_epoch=-1,
    )


CASES: Mapping[str, Case] = {
    "heartbeat": Case(_heartbeat),
    "consumer-heartbeat": Case(_consumer_heartbeat),
    "offset-commit": Case(_offset_commit),
    "metadata-10": Case(_metadata(topic_names(10)), topic_count=10),
    "metadata-1000": Case(_metadata(topic_names(1000)), topic_count=1000, connection_count=4),
    "metadata-all-1000": Case(_metadata(None), topic_count=1000, connection_count=4),
    "init-producer-id": Case(_init_producer_id),
}
"""Metadata asks for each topic by its name, and in `metadata-all` for all topics at once."""


# The load ------------------------------------------------------------------------------------


def exchange(server_pid: int, senders: Sequence[Sender], count: int) -> Cost:
    """Let each connection send its request `count` times, each after the previous response.

    Raises:
        LoadError: a response is missing.
    """
    epoll = select.epoll()
    by_fd = {sender.connection.socket.fileno(): sender for sender in senders}
    buffered = dict.fromkeys(by_fd, b"")
    left = dict.fromkeys(by_fd, count)
    for fd in by_fd:
        epoll.register(fd, select.EPOLLIN)
    clock = CostClock(server_pid)
    for sender in senders:
        sender.connection.socket.sendall(sender.frame)
    while left:
        events = poll(epoll, RESPONSE_WAIT_S)
        if not events:
            raise LoadError(f"no response for {RESPONSE_WAIT_S} s")
        for fd, _ in events:
            sender = by_fd[fd]
            data = buffered[fd] + sender.connection.socket.recv(READ_BYTES)
            if len(data) < _SIZE_BYTES + int.from_bytes(data[:_SIZE_BYTES]):
                buffered[fd] = data
                continue
            buffered[fd] = b""
            sender.responses.append(data)
            left[fd] -= 1
            if left[fd]:
                sender.connection.socket.sendall(sender.frame)
            else:
                del left[fd]
    cost = clock.stop()
    epoll.close()
    return cost


def check(sender: Sender, request: Any) -> None:
    """Check the size of all responses, and the error codes of those that differ.

    Of long responses with the topics in random order, as kfake's, only some are decoded.

    Raises:
        LoadError: a response is wrong.
    """
    if len(set(map(len, sender.responses))) != 1:
        raise LoadError(f"the responses to {request} have several sizes")
    decoded_bytes = 0
    for response in set(sender.responses):
        decoded_bytes += len(response)
        if decoded_bytes > DECODED_BYTES_MAX:
            break
        decoded = decode_response(ApiKey(request.API_KEY), request.API_VERSION, response)
        if any(_error_codes(decoded.to_dict())):
            raise LoadError(f"{decoded}")


def _error_codes(decoded: Any) -> list[int]:
    """Return all error codes anywhere in a decoded response."""
    if isinstance(decoded, list):
        return [code for item in decoded for code in _error_codes(item)]
    if not isinstance(decoded, dict):
        return []
    found = [code for value in decoded.values() for code in _error_codes(value)]
    return [*found, decoded["error_code"]] if "error_code" in decoded else found


def measure(server: ServerProcess, case: Case, request_count: int) -> dict[str, float]:
    """Prepare, warm up, run and check; return the figures."""
    address = server.address
    create_topics(address, topic_names(case.topic_count))
    with ExitStack() as sockets:
        senders, requests = [], []
        for number in range(case.connection_count):
            connection = sockets.enter_context(UnmeasuredConnection(address, RESPONSE_WAIT_S))
            request = case.prepare(connection, number)
            requests.append(request)
            senders.append(Sender(connection, frame_request(request, 0)))
        rounds = max(1, request_count // len(senders))
        exchange(server.pid, senders, max(1, rounds // 10))
        cost = exchange(server.pid, senders, rounds)
        for sender, request in zip(senders, requests, strict=True):
            check(sender, request)
    count = rounds * len(senders)
    return {
        "server_us_per_request": cost.server_s / count * 1e6,
        "responses_per_s": count / cost.wall_s,
        **cost.shares(),
    }
