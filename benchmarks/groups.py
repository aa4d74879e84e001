"""Measure what members of consumer groups (KIP-848) cost: heartbeats and rebalances.

python -m benchmarks.groups [--members MEMBERS]

Figures are CPU time of the broker's process, with all its system calls. Members heartbeat in three
ways: each on its own connection with one request in flight; several on one connection, which sends
their heartbeats at once; and 10,000 members of 1,000 groups on separate connections, each every
five seconds. A rebalance begins when a member joins or leaves a group of 1,000 members and 10,000
partitions. It ends when all members have reported what they own.
"""

import argparse
import select
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from benchmarks.busy_polling import poll
from benchmarks.cost_clock import CostClock
from benchmarks.report import Bar, print_line, progress
from benchmarks.request_bytes import (
    LoadError,
    UnmeasuredConnection,
    decode_response,
    frame_request,
)
from benchmarks.server_process import ServerProcess, pinned, serve, two_cpus
from protocol import messages
from protocol.api_keys import ApiKey

TOPIC = "groups"
MEMBERS_PER_GROUP = 10
MEMBERS = 10_000
INTERVAL_S = 5.0
"""The default heartbeat interval."""
PACED_S = 10.0
TICK_S = 0.01
CONNECTIONS = 100
PIPELINED_MEMBERS = 1_000
PIPELINE_CONNECTIONS = 20
REBALANCE_MEMBERS = 1_000
REBALANCE_PARTITIONS = 10_000
BEATS = 200
ROUNDS = 5
RESPONSE_WAIT_S = 30.0
OPTIONS = (
    "group.consumer.max.session.timeout.ms=3600000",
    "group.consumer.session.timeout.ms=3600000",
)
"""Ten thousand members take longer than a session to join, as all are on one client."""
HEARTBEAT_BAR = Bar("heartbeat_us", "at most", 25, is_timing=True)
SHARE_BAR = Bar("core_share", "at most", 0.08, is_timing=True)
REBALANCE_BAR = Bar("server_s", "at most", 0.5, is_timing=True)
_VERSION = 1
_CREATE_VERSION = 5
_JOIN_EPOCH, _LEAVE_EPOCH = 0, -1
_SIZE_BYTES = 4

_Heartbeat = messages.ConsumerGroupHeartbeatRequest


@dataclass(slots=True, eq=False)
class Member:
    """A member and what it owns. `must_report` is whether its next heartbeat says so."""

    group_id: str
    member_id: str
    connection: UnmeasuredConnection
    epoch: int = _JOIN_EPOCH
    owned: dict[UUID, list[int]] = field(default_factory=dict)
    must_report: bool = True

    def frame(self) -> bytes:
        """Return its next heartbeat."""
        is_join = self.epoch == _JOIN_EPOCH
        request = _Heartbeat(
            version=_VERSION,
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=None,
            rack_id=None,
            rebalance_timeout_ms=300_000 if is_join else -1,
            subscribed_topic_names=[TOPIC] if is_join else None,
            subscribed_topic_regex=None,
            server_assignor=None,
            topic_partitions=self._topic_partitions() if self.must_report else None,
        )
        return frame_request(request, 0)

    def _topic_partitions(self) -> list[Any]:
        return [
            _Heartbeat.TopicPartitions(version=_VERSION, topic_id=topic_id, partitions=indexes)
            for topic_id, indexes in self.owned.items()
        ]

    def take(self, frame: bytes) -> bool:
        """Take the response; return whether it changed anything for the member.

        Raises:
            LoadError: it is an error.
        """
        response = decode_response(ApiKey.CONSUMER_GROUP_HEARTBEAT, _VERSION, frame)
        if response.error_code:
            raise LoadError(f"{self.member_id}: {response}")
        has_changed = self.must_report or self.epoch != response.member_epoch
        self.epoch = response.member_epoch
        self.must_report = response.assignment is not None
        if response.assignment is not None:
            self.owned = {
                topic.topic_id: topic.partitions for topic in response.assignment.topic_partitions
            }
        return has_changed or self.must_report


def connect(server: ServerProcess, sockets: ExitStack, count: int) -> list[UnmeasuredConnection]:
    """Open connections that are closed with `sockets`."""
    return [
        sockets.enter_context(UnmeasuredConnection(server.address, RESPONSE_WAIT_S))
        for _ in range(count)
    ]


def make_members(
    count: int, per_group: int, connections: Sequence[UnmeasuredConnection]
) -> list[Member]:
    """Return members of as many groups as are needed, spread over the connections."""
    return [
        Member(
            f"group-{number // per_group}",
            f"member-{number}",
            connections[number % len(connections)],
        )
        for number in range(count)
    ]


def create_topic(server: ServerProcess, partition_count: int) -> None:
    """Create the topic of all groups, and the internal topic.

    Raises:
        LoadError: it was refused.
    """
    topic_class = messages.CreateTopicsRequest.CreatableTopic
    topic = topic_class(
        version=_CREATE_VERSION,
        name=TOPIC,
        num_partitions=partition_count,
        replication_factor=1,
        assignments=[],
        configs=[],
    )
    create = messages.CreateTopicsRequest(
        version=_CREATE_VERSION, topics=[topic], timeout_ms=60_000, validate_only=False
    )
    with UnmeasuredConnection(server.address, RESPONSE_WAIT_S) as admin:
        (created,) = admin.ask(create).topics
        if created.error_code:
            raise LoadError(f"{created}")
        while admin.ask(messages.FindCoordinatorRequest(version=3, key="g", key_type=0)).error_code:
            time.sleep(TICK_S)


def exchange(members: Iterable[Member]) -> int:
    """Let members heartbeat, all at once; return for how many that changed anything."""
    by_connection: dict[UnmeasuredConnection, list[Member]] = {}
    for member in members:
        by_connection.setdefault(member.connection, []).append(member)
    for connection, senders in by_connection.items():
        connection.socket.sendall(b"".join(member.frame() for member in senders))
    return sum(
        member.take(connection.receive_frame())
        for connection, senders in by_connection.items()
        for member in senders
    )


def settle(members: Sequence[Member]) -> None:
    """Let members heartbeat until nothing changes."""
    while exchange(members):
        pass


def join(members: Sequence[Member], per_group: int) -> None:
    """Let all members join, one of each group at a time, and settle."""
    for first in range(per_group):
        exchange(members[first::per_group])
    settle(members)


def beat(members: Sequence[Member], count: int) -> None:
    """Let all members send this many heartbeats that change nothing.

    Those of one connection are sent at once, and again when all responses are there.
    """
    frames: dict[UnmeasuredConnection, bytes] = {}
    for member in members:
        frames[member.connection] = frames.get(member.connection, b"") + member.frame()
    connections = list(frames)
    epoll = select.epoll()
    by_fd = {connection.socket.fileno(): connection for connection in connections}
    for fd in by_fd:
        epoll.register(fd, select.EPOLLIN)
    response_bytes = {
        connection: _response_bytes(connection, frames[connection]) for connection in connections
    }
    missing_bytes = dict(response_bytes)
    left = dict.fromkeys(connections, count)
    open_count = len(connections)
    for connection in connections:
        connection.socket.sendall(frames[connection])
    while open_count:
        for fd, _ in poll(epoll, RESPONSE_WAIT_S) or _give_up():
            connection = by_fd[fd]
            missing_bytes[connection] -= len(connection.socket.recv(1 << 16))
            if missing_bytes[connection] > 0:
                continue
            left[connection] -= 1
            if left[connection]:
                missing_bytes[connection] = response_bytes[connection]
                connection.socket.sendall(frames[connection])
            else:
                open_count -= 1
    epoll.close()


def _response_bytes(connection: UnmeasuredConnection, frames: bytes) -> int:
    """Return the size of the responses to some frames, which are sent once."""
    connection.socket.sendall(frames)
    count, position = 0, 0
    while position < len(frames):
        position += _SIZE_BYTES + int.from_bytes(frames[position : position + _SIZE_BYTES])
        count += 1
    return sum(len(connection.receive_frame()) for _ in range(count))


def _give_up() -> list[tuple[int, int]]:
    raise LoadError(f"no response for {RESPONSE_WAIT_S} s")


def pace(members: Sequence[Member]) -> int:
    """Let each member heartbeat every five seconds; return how many heartbeats they sent.

    They are evenly spread; those of one tick are sent together.
    """
    frames = [member.frame() for member in members]
    epoll = select.epoll()
    by_fd = {member.connection.socket.fileno(): member for member in members}
    for fd in by_fd:
        epoll.register(fd, select.EPOLLIN)
    begin_s = time.perf_counter()
    sent = received = 0
    to_send = int(len(members) * PACED_S / INTERVAL_S)
    while received < to_send:
        elapsed_s = time.perf_counter() - begin_s
        due = min(to_send, int(elapsed_s / INTERVAL_S * len(members)))
        for number in range(sent, due):
            index = number % len(members)
            members[index].connection.socket.sendall(frames[index])
        sent = max(sent, due)
        time.sleep(TICK_S)  # not in `epoll.poll`: each response would wake this process
        for fd, _ in epoll.poll(0):
            by_fd[fd].connection.socket.recv(1 << 16)
            received += 1
        if elapsed_s > PACED_S + RESPONSE_WAIT_S:
            _give_up()
    epoll.close()
    return received


def report(case: str, bar: Bar, value: float, digits: int, **more: object) -> None:
    """Print a figure with its bar."""
    print_line(
        {
            "measurement": "groups",
            "case": case,
            bar.figure: round(value, digits),
            **more,
            "bar": f"{bar.figure} {bar.sense} {bar.limit}",
            "met": bar.is_met(value),
            "command": "scripts/bench groups",
        }
    )


@contextmanager
def serving(
    partition_count: int, connection_count: int
) -> Iterator[tuple[ServerProcess, list[UnmeasuredConnection]]]:
    """Start a broker with a topic on one CPU, and open connections to it from the other."""
    server_cpu, client_cpu = two_cpus()
    with serve("ours", cpu=server_cpu, options=OPTIONS) as server, pinned(client_cpu):
        create_topic(server, partition_count)
        with ExitStack() as sockets:
            yield server, connect(server, sockets, connection_count)


def measure_heartbeats(connection_count: int, member_count: int) -> None:
    """Print the cost of a heartbeat that changes nothing."""
    with serving(MEMBERS_PER_GROUP, connection_count) as (server, connections):
        members = make_members(member_count, MEMBERS_PER_GROUP, connections)
        join(members, MEMBERS_PER_GROUP)
        costs_us: list[float] = []
        count = max(1, BEATS * CONNECTIONS // member_count)
        for number in range(ROUNDS + 1):  # the first one warms up
            clock = CostClock(server.pid)
            beat(members, count)
            cost = clock.stop()
            if number:
                costs_us.append(cost.server_s / ((count + 1) * member_count) * 1e6)
            progress(f"groups: heartbeats, round {number} of {ROUNDS}")
    report(
        f"heartbeats of {member_count} members on {connection_count} connections",
        HEARTBEAT_BAR,
        statistics.median(costs_us),
        1,
        rounds_us=[round(cost_us, 1) for cost_us in costs_us],
    )


def measure_pace(member_count: int) -> None:
    """Print the share of a core that many members with the default interval take."""
    with serving(MEMBERS_PER_GROUP, member_count) as (server, connections):
        members = make_members(member_count, MEMBERS_PER_GROUP, connections)
        join(members, MEMBERS_PER_GROUP)
        progress(f"groups: {member_count} members have joined")
        clock = CostClock(server.pid)
        count = pace(members)
        cost = clock.stop()
        memory_bytes = server.resident_bytes()
    # A busy machine delays the heartbeats; the share is that at their proper rate.
    share = cost.server_s / (count / member_count * INTERVAL_S)
    report(
        f"{member_count} members in {member_count // MEMBERS_PER_GROUP} groups, every 5 s",
        SHARE_BAR,
        share,
        3,
        heartbeats=count,
        heartbeat_us=round(cost.server_s / count * 1e6, 1),
        wall_s=round(cost.wall_s, 1),
        resident_bytes=memory_bytes,
    )


def measure_rebalance() -> None:
    """Print the server time of a rebalance of a large group."""
    with serving(REBALANCE_PARTITIONS, PIPELINE_CONNECTIONS) as (server, connections):
        members = make_members(REBALANCE_MEMBERS, REBALANCE_MEMBERS, connections)
        clock = CostClock(server.pid)
        exchange(members)
        settle(members)
        first_s = clock.stop().server_s
        progress("groups: the large group is stable")
        joins_s, leaves_s = [], []
        for number in range(ROUNDS):
            added = Member(members[0].group_id, f"added-{number}", connections[0])
            clock = CostClock(server.pid)
            exchange([added])
            settle([*members, added])
            joins_s.append(clock.stop().server_s)
            clock = CostClock(server.pid)
            added.epoch = _LEAVE_EPOCH
            exchange([added])
            settle(members)
            leaves_s.append(clock.stop().server_s)
            progress(f"groups: rebalance {number + 1} of {ROUNDS}")
    report(
        f"rebalance of {REBALANCE_MEMBERS} members and {REBALANCE_PARTITIONS} partitions",
        REBALANCE_BAR,
        max(statistics.median(joins_s), statistics.median(leaves_s)),
        3,
        join_s=round(statistics.median(joins_s), 3),
        leave_s=round(statistics.median(leaves_s), 3),
        all_join_s=round(first_s, 2),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--members", type=int, default=MEMBERS, help=f"members with pauses (default {MEMBERS})"
    )
    arguments = parser.parse_args()
    measure_heartbeats(CONNECTIONS, CONNECTIONS)
    measure_heartbeats(PIPELINE_CONNECTIONS, PIPELINED_MEMBERS)
    measure_pace(arguments.members)
    measure_rebalance()
    return 0


if __name__ == "__main__":
    sys.exit(main())
