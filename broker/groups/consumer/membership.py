"""Carry out the requests of members of the consumer protocol, with their timers and records."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from uuid import UUID

from broker.errors import Refusal
from broker.groups.consumer.assignment import NO_PARTITIONS, Assignment
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.group_spec import Assignor
from broker.groups.consumer.heartbeat import (
    Assigning,
    fence,
    leave_for_a_while,
    needs_resolution,
    resolve,
    update,
)
from broker.groups.consumer.member import STATIC_LEAVE_EPOCH, ConsumerMember
from broker.groups.consumer.range_assignor import assign_ranges
from broker.groups.consumer.requests import ConsumerHeartbeat, HeartbeatResult
from broker.groups.consumer.sessions import FenceMember, MemberSessions
from broker.groups.consumer.topics import TopicSource
from broker.groups.consumer.uniform_assignor import assign_uniformly
from broker.groups.group_records import AppendRecords
from broker.groups.modern_group import check_instance, unknown_member
from broker.timers import Timers
from protocol.consumer_heartbeat import UnchangedHeartbeat
from protocol.errors import ErrorCode
from protocol.pacing import InTurns, at_once

GroupSetting = Callable[[str, str], int]
"""Returns the value of a key of a group's configuration: `setting(group_id, key)`."""

SESSION_TIMEOUT_KEY = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL_KEY = "consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL_KEY = "consumer.assignment.interval.ms"

_ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}
_ASSIGNOR_CLASSES: Mapping[str, str] = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


@cache
def assignors_of(names: tuple[str, ...]) -> Mapping[str, Assignor]:
    """Return the assignors of `group.consumer.assignors`, which has names or Kafka's classes."""
    known = (_ASSIGNOR_CLASSES.get(name, name) for name in names)
    return {name: _ASSIGNORS[name] for name in known if name in _ASSIGNORS}


class ConsumerMembership:
    """The heartbeats, sessions and records of all groups of the consumer protocol.

    `fence` is called when a session or a rebalance has taken too long. `in_turns` runs what a timer
    has to do that takes long, in turns with requests.
    """

    def __init__(
        self,
        timers: Timers,
        topics: TopicSource,
        setting: GroupSetting,
        append_records: AppendRecords,
        fence: FenceMember[ConsumerGroup],
        in_turns: InTurns = at_once,
    ) -> None:
        self.topics = topics
        self._in_turns = in_turns
        self._timers = timers
        self._setting = setting
        self._append_records = append_records
        self.sessions = MemberSessions(timers, fence)

    def write(self, group: ConsumerGroup, now_ms: int) -> None:
        """Append the records of what has changed in a group."""
        if group.unwritten:
            self._append_records(group.group_id, group.take_records(), now_ms)

    # Heartbeats ------------------------------------------------------------------------------

    def heartbeat(
        self,
        group: ConsumerGroup,
        request: ConsumerHeartbeat,
        assignors: Mapping[str, Assignor],
        now_ms: int,
        *,
        refresh_interval_ms: int,
    ) -> HeartbeatResult:
        """Carry out a checked heartbeat that does not leave."""
        assigning = self.assigning(group, assignors, now_ms)
        before, member = update(group, request, self.topics, assigning)
        if before is None or _has_moved(before, member):
            self.sessions.watch_revocation(group, member, now_ms)
        self._restart_session(group, member, now_ms)
        if needs_resolution(group, self.topics, refresh_interval_ms, now_ms):
            self._resolve_later(group, request.may_describe, now_ms)
        self.write(group, now_ms)
        assigned = NO_PARTITIONS if before is None else before.assigned_partitions
        needs_assignment = (
            request.member_epoch == 0
            or request.is_full
            or (member is not before and member.assigned_partitions != assigned)
        )
        return HeartbeatResult(
            ErrorCode.NONE,
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self._setting(group.group_id, HEARTBEAT_INTERVAL_KEY),
            assignment=member.assigned_partitions if needs_assignment else None,
        )

    def assigning(
        self, group: ConsumerGroup, assignors: Mapping[str, Assignor], now_ms: int
    ) -> Assigning:
        """Return how the targets of a group are computed now."""
        return Assigning(assignors, self._setting(group.group_id, ASSIGNMENT_INTERVAL_KEY), now_ms)

    def keep_session(
        self,
        group: ConsumerGroup,
        heartbeat: UnchangedHeartbeat,
        client_id: str,
        client_host: str,
        now_ms: int,
    ) -> int | None:
        """Begin a member's session again and return its heartbeat interval in ms.

        Returns None if the heartbeat would change anything, or is refused: see `heartbeat`.
        """
        member = group.members.get(heartbeat.member_id)
        if (
            member is None
            or member.classic is not None
            or heartbeat.member_epoch != member.member_epoch
            or heartbeat.group_instance_id != member.group_instance_id
            or client_id != member.client_id
            or client_host != member.client_host
            or not group.is_settled
            or not member.is_reconciled_to(group.assignment_epoch)
        ):
            return None
        self._restart_session(group, member, now_ms)
        return self._setting(group.group_id, HEARTBEAT_INTERVAL_KEY)

    def leave(
        self, group: ConsumerGroup, request: ConsumerHeartbeat, now_ms: int
    ) -> HeartbeatResult | ConsumerMember:
        """Return the result for a member that leaves, or the member that has to be removed."""
        instance_id = request.group_instance_id
        if instance_id is not None:
            refusal = check_instance(group, instance_id, request.member_id)
            if refusal is not None:
                return refused(refusal)
        member = group.members.get(request.member_id)
        if member is None:
            return refused(unknown_member(group, request.member_id))
        if instance_id is not None and request.member_epoch == STATIC_LEAVE_EPOCH:
            leave_for_a_while(group, member)
            self.sessions.watch_revocation(group, member, now_ms)
            self.write(group, now_ms)
            return HeartbeatResult(
                ErrorCode.NONE, member_id=member.member_id, member_epoch=STATIC_LEAVE_EPOCH
            )
        return member

    def remove(self, group: ConsumerGroup, member_ids: Sequence[str], now_ms: int) -> None:
        """Remove members of a group, which begins a new epoch."""
        fence(group, member_ids, self.topics)
        self.sessions.stop(group, member_ids)
        self.write(group, now_ms)

    def rebalance(self, group: ConsumerGroup, now_ms: int) -> None:
        """Begin a new epoch; the next heartbeat of a member computes its target assignment."""
        group.update_epoch(self.topics, must_rise=True)
        self.write(group, now_ms)

    def assign(self, group: ConsumerGroup, targets: Mapping[str, Assignment], now_ms: int) -> None:
        """Begin a new epoch with a given target assignment."""
        group.assign(targets, self.topics, now_ms)
        self.write(group, now_ms)

    # Timers ----------------------------------------------------------------------------------

    def restart_timers(self, group: ConsumerGroup, now_ms: int) -> None:
        """Begin all sessions again, as a new coordinator does."""
        for member in group.members.values():
            self._restart_session(group, member, now_ms)
            self.sessions.watch_revocation(group, member, now_ms)

    def stop_timers(self, group: ConsumerGroup) -> None:
        """Stop the timers of all members of a group, which is no longer in the table."""
        self.sessions.stop(group, tuple(group.members))
        group.is_resolving = False

    def _restart_session(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        if member.classic is None:
            timeout_ms = self._setting(group.group_id, SESSION_TIMEOUT_KEY)
        else:
            timeout_ms = member.classic.session_timeout_ms
        self.sessions.restart(group, member.member_id, timeout_ms, now_ms)

    def _resolve_later(
        self, group: ConsumerGroup, may_describe: Callable[[str], bool] | None, now_ms: int
    ) -> None:
        """Resolve the expressions of a group after this request, as Kafka's executor does."""
        group.is_resolving = True

        def run(now_ms: int) -> None:
            if not group.is_resolving:
                return  # it was closed
            resolve(group, self.topics, may_describe, now_ms)
            group.is_resolving = False
            self.write(group, now_ms)

        self._timers.schedule(now_ms, lambda now_ms: self._in_turns(partial(run, now_ms)))


def new_member_id(new_uuid: Callable[[], UUID]) -> str:
    """Return an id for a member that has not chosen one, in the form of Kafka's `Uuid`.

    It does not begin with `-`, which command lines take for an option.
    """
    while (member_id := urlsafe_b64encode(new_uuid().bytes).decode().rstrip("="))[0] == "-":
        pass
    return member_id


def refused(refusal: Refusal) -> HeartbeatResult:
    """Return the result of a heartbeat that was refused."""
    return HeartbeatResult(refusal.error_code, refusal.message)


def _has_moved(before: ConsumerMember, member: ConsumerMember) -> bool:
    """Return whether the epoch of a member or what it has to revoke is different."""
    return (
        before.member_epoch != member.member_epoch
        or before.partitions_pending_revocation != member.partitions_pending_revocation
    )
