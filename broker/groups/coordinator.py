"""The coordinator of groups: members join, report and leave, in the protocols of consumers.

This module finds or creates the group of a request, and makes the checks that need no group, in
the order of Kafka's `GroupCoordinatorService`. `group`, `joining` and `leaving` decide what happens
inside a group of the classic protocol, `consumer` has the groups of the consumer protocol, and
`streams` those of Kafka Streams, with a separate coordinator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from broker.errors import Refusal
from broker.groups.any_group import AnyGroup, is_empty, tombstones_of
from broker.groups.consumer import classic_members
from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.heartbeat import check_member, check_request
from broker.groups.consumer.manual_assignment import assignment_problem
from broker.groups.consumer.member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker.groups.consumer.membership import (
    ConsumerMembership,
    GroupSetting,
    assignors_of,
    refused,
)
from broker.groups.consumer.requests import (
    ConsumerGroupDescription,
    ConsumerHeartbeat,
    HeartbeatResult,
)
from broker.groups.consumer.topics import NO_TOPICS, TopicSource
from broker.groups.description import describe
from broker.groups.group import Group
from broker.groups.group_records import AppendRecords, discard_records, group_key, group_value
from broker.groups.group_table import GroupTable
from broker.groups.joining import join as join_group
from broker.groups.leaving import find_leavers
from broker.groups.leaving import leave as leave_group
from broker.groups.migration import can_downgrade, fill_downgraded, must_rebalance, upgrade
from broker.groups.modern_group import group_not_found
from broker.groups.modern_rules import GetModernRules, default_rules
from broker.groups.requests import (
    UNKNOWN_MEMBER,
    JoinRequest,
    MemberIdentity,
    SyncRequest,
)
from broker.groups.results import (
    GroupDescription,
    GroupState,
    JoinCallback,
    JoinResult,
    LeftMember,
    SyncCallback,
    SyncResult,
)
from broker.timers import Timers
from protocol.consumer_heartbeat import UnchangedHeartbeat
from protocol.errors import ErrorCode
from protocol.pacing import InTurns, at_once, may_pause

if TYPE_CHECKING:  # most brokers never have such a group
    from broker.groups.streams_coordinator import StreamsGroupCoordinator


class GroupCoordinator:
    """What members do in the groups of `table`, which has also what they committed.

    `config` is a mapping of Kafka's broker keys to parsed values and may be replaced.
    `member_id_suffix` gives the unique part of the id of a new member of the classic protocol,
    `member_id` the id of one whose group is of the consumer protocol. `append_records` stores what
    another coordinator would need to go on: each change of members and offsets. `topics` are those
    that members can subscribe to. `setting` returns the value of a group's own configuration; by
    default it is the broker's. `is_share_group` returns whether a share group has an id; these
    groups are in another table. `in_turns` runs what takes long, in turns with requests. `rules`
    are those of the release.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        timers: Timers,
        member_id_suffix: Callable[[], str],
        member_id: Callable[[], str],
        append_records: AppendRecords = discard_records,
        topics: TopicSource = NO_TOPICS,
        setting: GroupSetting | None = None,
        is_share_group: Callable[[str], bool] = lambda _group_id: False,
        in_turns: InTurns = at_once,
        rules: GetModernRules = default_rules,
    ) -> None:
        def broker_setting(_group_id: str, key: str) -> Any:
            return self.table.config[f"group.{key}"]

        self._timers = timers
        self._append_records = append_records
        self._is_share_group = is_share_group
        self._consumers = ConsumerMembership(
            timers, topics, setting or broker_setting, append_records, self._fence_member, in_turns
        )
        self._topics, self._setting, self._rules = topics, setting or broker_setting, rules
        self.table = GroupTable(
            config,
            timers,
            append_records,
            self._consumers,
            lambda: self.streams.membership,
            is_share_group,
        )
        self._member_id_suffix = member_id_suffix
        self._member_id = member_id

    @cached_property
    def streams(self) -> "StreamsGroupCoordinator":
        """The coordinator of the streams groups in the table."""
        from broker.groups.streams_coordinator import (  # noqa: PLC0415 - see ADR 24
            StreamsGroupCoordinator,
        )

        return StreamsGroupCoordinator(
            self.table,
            self._timers,
            self._topics,
            self._setting,
            self._append_records,
            self._rules,
        )

    # Membership ----------------------------------------------------------------------------

    @may_pause
    def join(self, request: JoinRequest, callback: JoinCallback, now_ms: int) -> None:
        """Join a group; `callback` is called once: now, or when the rebalance completes."""
        if not request.group_id:
            callback(JoinResult(ErrorCode.INVALID_GROUP_ID, request.member_id))
            return
        low_ms = self.table.config["group.min.session.timeout.ms"]
        high_ms = self.table.config["group.max.session.timeout.ms"]
        if not low_ms <= request.session_timeout_ms <= high_ms:
            callback(JoinResult(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id))
            return
        if self._is_share_group(request.group_id):
            callback(JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER))
            return
        group = self.table.get(request.group_id)
        if group is not None and not isinstance(group, Group):
            if group.is_empty:
                group = self._replace_by_classic(group, now_ms)
            elif isinstance(group, ConsumerGroup):
                callback(self._join_consumer_group(group, request, now_ms))
                return
            else:
                callback(JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER))
                return
        is_new = group is None
        if group is None:
            if request.member_id != UNKNOWN_MEMBER:
                callback(JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
                return
            group = self.table.create(request.group_id, now_ms)
        join_group(
            group,
            request,
            callback,
            now_ms,
            size_max=self.table.config["group.max.size"],
            member_id_suffix=self._member_id_suffix,
        )
        if is_new:
            self._write_new_group(group, now_ms)
        group.deliver()

    def _write_new_group(self, group: Group, now_ms: int) -> None:
        value = group_value(
            protocol_type=None,
            generation_id=0,
            protocol_name=None,
            leader_id=None,
            state_since_ms=group.state_since_ms,
            members=(),
        )
        self._append_records(group.group_id, [(group_key(group.group_id), value)], now_ms)

    @may_pause
    def sync(self, request: SyncRequest, callback: SyncCallback, now_ms: int) -> None:
        """Send or wait for an assignment; `callback` is called once."""
        group = self._group_of_consumers(request.group_id)
        if not request.group_id:
            callback(SyncResult(ErrorCode.INVALID_GROUP_ID))
        elif group is None:
            callback(SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
        elif isinstance(group, ConsumerGroup):
            callback(classic_members.sync(self._consumers, group, request, now_ms))
        else:
            group.sync(request, callback, now_ms)
            group.deliver()

    def heartbeat(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        now_ms: int,
    ) -> ErrorCode:
        """Keep a member's session alive."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._group_of_consumers(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if isinstance(group, ConsumerGroup):
            return classic_members.heartbeat(
                self._consumers, group, member_id, group_instance_id, generation_id, now_ms
            )
        return group.heartbeat(member_id, group_instance_id, generation_id, now_ms)

    @may_pause
    def leave(
        self, group_id: str, leavers: Sequence[MemberIdentity], now_ms: int
    ) -> tuple[ErrorCode, tuple[LeftMember, ...]]:
        """Remove members; return an error for all, or a result for each, in request order."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID, ()
        group = self._group_of_consumers(group_id)
        if group is None:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            return ErrorCode.NONE, tuple(
                LeftMember(leaver.member_id, leaver.group_instance_id, unknown)
                for leaver in leavers
            )
        if isinstance(group, ConsumerGroup):
            left, member_ids = find_leavers(group, leavers)
            self._fence_members(group, member_ids, now_ms)
            return ErrorCode.NONE, left
        left = leave_group(group, leavers, now_ms)
        group.deliver()
        return ErrorCode.NONE, left

    def _group_of_consumers(self, group_id: str) -> Group | ConsumerGroup | None:
        """Return a group that a client of the classic protocol can be a member of, or None."""
        group = self.table.get(group_id)
        return group if isinstance(group, (Group, ConsumerGroup)) else None

    def describe(self, group_id: str) -> GroupDescription | None:
        """Return a classic group with its members, or None if there is none with this id."""
        group = self.table.get(group_id)
        return describe(group) if isinstance(group, Group) else None

    # Control -------------------------------------------------------------------------------

    @may_pause
    def rebalance(self, group_id: str, now_ms: int) -> ErrorCode:
        """Have the members of a group rebalance; GROUP_ID_NOT_FOUND if it has none."""
        group = self.table.get(group_id)
        if group is None or is_empty(group):
            return ErrorCode.GROUP_ID_NOT_FOUND
        if isinstance(group, ConsumerGroup):
            self._consumers.rebalance(group, now_ms)
        elif not isinstance(group, Group):
            self.streams.membership.rebalance(group, now_ms)
        elif group.state is not GroupState.PREPARING_REBALANCE:
            group.prepare_rebalance(now_ms)
            group.deliver()
        return ErrorCode.NONE

    def assign(
        self, group_id: str, targets: Mapping[str, Assignment], now_ms: int
    ) -> Refusal | None:
        """Set the target assignment of a group of the consumer protocol, by member id.

        It holds for one epoch. Returns why it can't be set.
        """
        group = self.table.get(group_id)
        if not isinstance(group, ConsumerGroup):
            return group_not_found(f"{group_id!r} is not a consumer group")
        problem = assignment_problem(group, targets, self._consumers.topics)
        if problem is not None:
            return Refusal(ErrorCode.INVALID_REQUEST, problem)
        self._consumers.assign(group, targets, now_ms)
        return None

    # The consumer protocol -----------------------------------------------------------------

    @may_pause
    def consumer_heartbeat(self, request: ConsumerHeartbeat, now_ms: int) -> HeartbeatResult:
        """Handle a ConsumerGroupHeartbeat: a member joins, reports or leaves."""
        assignors = assignors_of(self.table.config["group.consumer.assignors"])
        refusal = check_request(request, assignors)
        if refusal is not None:
            return refused(refusal)
        if request.member_epoch in {LEAVE_EPOCH, STATIC_LEAVE_EPOCH}:
            return self._consumer_leave(request, now_ms)
        group = self._consumer_group(request, now_ms)
        if isinstance(group, Refusal):
            return refused(group)
        size_max = self.table.config["group.consumer.max.size"]
        refusal = check_member(group, request, size_max=size_max)
        if refusal is not None:
            return refused(refusal)
        if self.table.get(request.group_id) is not group:
            self._put_consumer_group(group, now_ms)
        if not request.member_id:
            request = replace(request, member_id=self._member_id())
        return self._consumers.heartbeat(
            group,
            request,
            assignors,
            now_ms,
            refresh_interval_ms=self.table.config["group.consumer.regex.refresh.interval.ms"],
        )

    def keep_consumer_session(
        self, heartbeat: UnchangedHeartbeat, client_id: str, client_host: str, now_ms: int
    ) -> int | None:
        """Begin the session of a member again that reports nothing.

        Returns the heartbeat interval in ms, or None if there is more to do: see
        `consumer_heartbeat`.
        """
        group = self.table.get(heartbeat.group_id)
        if not isinstance(group, ConsumerGroup):
            return None
        return self._consumers.keep_session(group, heartbeat, client_id, client_host, now_ms)

    def _consumer_group(self, request: ConsumerHeartbeat, now_ms: int) -> ConsumerGroup | Refusal:
        """Return the group of a heartbeat, perhaps one that is not in the table yet."""
        group = self.table.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return group
        does_join = request.member_epoch == 0
        if group is None:
            if does_join:
                return ConsumerGroup(request.group_id, None, self._rules)
            return group_not_found(f"Consumer group {request.group_id} not found.")
        if does_join and isinstance(group, Group):
            if is_empty(group):
                return ConsumerGroup(request.group_id, group.offsets, self._rules)
            return upgrade(
                group,
                self._consumers.topics,
                self._rules,
                policy=self.table.config["group.consumer.migration.policy"],
                size_max=self.table.config["group.consumer.max.size"],
            )
        return group_not_found(f"Group {request.group_id} is not a consumer group.")

    @may_pause
    def _put_consumer_group(self, group: ConsumerGroup, now_ms: int) -> None:
        """Add a new group, or put it in the place of a classic one, whose members it has.

        Members that wait for a response are asked to join again.
        """
        classic = self.table.get(group.group_id)
        self.table.put(group, now_ms)
        if isinstance(classic, Group):
            self._append_records(group.group_id, tombstones_of(classic), now_ms)
            classic.close(ErrorCode.REBALANCE_IN_PROGRESS)
            self._timers.schedule(now_ms, lambda _now_ms: classic.deliver())
            self._consumers.restart_timers(group, now_ms)

    @may_pause
    def _replace_by_classic(self, group: AnyGroup, now_ms: int) -> Group:
        """Put a classic group in the place of one of another protocol."""
        self._append_records(group.group_id, tombstones_of(group), now_ms)
        self.table.close(group)
        return self.table.create(group.group_id, now_ms, group.offsets)

    @may_pause
    def _consumer_leave(self, request: ConsumerHeartbeat, now_ms: int) -> HeartbeatResult:
        group = self.table.get(request.group_id)
        if group is None:
            return refused(group_not_found(f"Group {request.group_id} not found."))
        if not isinstance(group, ConsumerGroup):
            return refused(group_not_found(f"Group {request.group_id} is not a consumer group."))
        left = self._consumers.leave(group, request, now_ms)
        if isinstance(left, HeartbeatResult):
            return left
        self._fence_members(group, [left.member_id], now_ms)
        return HeartbeatResult(
            ErrorCode.NONE, member_id=left.member_id, member_epoch=request.member_epoch
        )

    @may_pause
    def _fence_member(self, group: ConsumerGroup, member_id: str, now_ms: int) -> None:
        """Remove a member whose session or rebalance took too long, unless it is gone."""
        if self.table.get(group.group_id) is group and member_id in group.members:
            self._fence_members(group, [member_id], now_ms)

    @may_pause
    def _fence_members(self, group: ConsumerGroup, member_ids: Sequence[str], now_ms: int) -> None:
        removed = frozenset(member_ids)
        if removed and self._can_downgrade(group, removed):
            self._downgrade(group, removed, now_ms).prepare_rebalance(now_ms)
        else:
            self._consumers.remove(group, member_ids, now_ms)

    def _can_downgrade(self, group: ConsumerGroup, removed: frozenset[str]) -> bool:
        return can_downgrade(
            group,
            removed,
            policy=self.table.config["group.consumer.migration.policy"],
            size_max=self.table.config["group.max.size"],
        )

    @may_pause
    def _downgrade(self, group: ConsumerGroup, removed: frozenset[str], now_ms: int) -> Group:
        """Put a classic group with the remaining members in the place of a group."""
        classic = self._replace_by_classic(group, now_ms)
        topics = self._consumers.topics
        fill_downgraded(classic, group, removed, topics, self._timers, now_ms)
        self.table.write_metadata(classic, now_ms)
        return classic

    @may_pause
    def _join_consumer_group(
        self, group: ConsumerGroup, request: JoinRequest, now_ms: int
    ) -> JoinResult:
        """Let a member of the classic protocol join a group of the consumer protocol.

        A static member may so replace the last one of the consumer protocol.
        """
        is_static = request.group_instance_id is not None
        was_classic = self._can_downgrade(group, frozenset())
        result = classic_members.join(
            self._consumers,
            group,
            request,
            self._member_id(),
            assignors_of(self.table.config["group.consumer.assignors"]),
            now_ms,
            size_max=self.table.config["group.consumer.max.size"],
        )
        if is_static and not was_classic and self._can_downgrade(group, frozenset()):
            classic = self._downgrade(group, frozenset(), now_ms)
            if must_rebalance(group):
                classic.prepare_rebalance(now_ms)
        return result

    def describe_consumer_group(self, group_id: str) -> ConsumerGroupDescription | Refusal:
        """Return a group of the consumer protocol with its members, or GROUP_ID_NOT_FOUND."""
        group = self.table.get(group_id)
        if group is None:
            return group_not_found(f"Group {group_id} not found.")
        if not isinstance(group, ConsumerGroup):
            return group_not_found(f"Group {group_id} is not a consumer group.")
        default = next(iter(assignors_of(self.table.config["group.consumer.assignors"])))
        return group.describe(default)
