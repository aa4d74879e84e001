"""Carry out the requests of members of streams groups, with their timers and records."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from broker.errors import Refusal
from broker.groups.consumer.member import STATIC_LEAVE_EPOCH
from broker.groups.consumer.sessions import MemberSessions, Step
from broker.groups.consumer.topics import TopicSource
from broker.groups.group_records import AppendRecords
from broker.groups.modern_group import check_instance, unknown_member
from broker.groups.streams.endpoints import endpoints_of
from broker.groups.streams.group import StreamsGroup
from broker.groups.streams.heartbeat import RACK_TAGS, Checked, StreamsSettings, update
from broker.groups.streams.member import StreamsMember
from broker.groups.streams.requests import StreamsHeartbeat, StreamsHeartbeatResult
from broker.groups.streams.statuses import Status, StatusCode
from broker.groups.streams.tasks import NOTHING_OWNED, TargetTasks
from broker.groups.streams.topology_description import TopologyDescription
from broker.timers import Timer, Timers

StreamsSetting = Callable[[str, str], Any]
"""Returns the value of a key of a group's configuration: `setting(group_id, key)`."""

CLIENT_TAGS_VERSION_MIN = 1
"""First version whose clients know MISSING_CLIENT_TAGS."""


class StreamsMembership:
    """The heartbeats, timers and records of all streams groups."""

    def __init__(
        self,
        timers: Timers,
        topics: TopicSource,
        setting: StreamsSetting,
        append_records: AppendRecords,
    ) -> None:
        self._timers = timers
        self._topics = topics
        self._setting = setting
        self._append_records = append_records
        self._sessions = MemberSessions(timers, self._expire)
        self._delays: dict[str, Timer] = {}

    def _write(self, group: StreamsGroup, now_ms: int) -> None:
        if group.unwritten:
            self._append_records(group.group_id, group.take_records(), now_ms)

    # Heartbeats ------------------------------------------------------------------------------

    def heartbeat(
        self,
        group: StreamsGroup,
        request: StreamsHeartbeat,
        checked: Checked,
        now_ms: int,
        *,
        is_new: bool,
    ) -> StreamsHeartbeatResult:
        """Carry out a checked heartbeat that does not leave."""
        if group.is_empty:
            self._delay(group, now_ms)
        settings = self._settings(group.group_id)
        member, statuses = update(group, request, checked, settings, now_ms)
        before, replaced = checked.before, checked.replaced
        if replaced is not None:
            self._sessions.stop(group, [replaced.member_id])
        if (before.member_epoch, before.pending_revocation) != (
            member.member_epoch,
            member.pending_revocation,
        ):
            self._sessions.watch_revocation(group, member, now_ms)
        self._restart_session(group, member.member_id, now_ms)
        if request.shutdown_application and group.shutdown_member_id is None:
            group.shutdown_member_id = member.member_id
        self._write(group, now_ms)
        result = self._result(group, request, checked, member, is_new=is_new)
        statuses += _statuses(group, checked, member, request.api_version, settings.rack_tags)
        if is_new:
            group.forget_what_is_not_written()
        return replace(result, statuses=tuple(statuses))

    def _settings(self, group_id: str) -> StreamsSettings:
        def value(key: str) -> Any:
            return self._setting(group_id, f"streams.{key}")

        return StreamsSettings(
            standby_replicas=value("num.standby.replicas"),
            rack_tags=tuple(value(RACK_TAGS)),
            assignment_interval_ms=value("assignment.interval.ms"),
            is_delayed=group_id in self._delays,
        )

    def _result(
        self,
        group: StreamsGroup,
        request: StreamsHeartbeat,
        checked: Checked,
        member: StreamsMember,
        *,
        is_new: bool,
    ) -> StreamsHeartbeatResult:
        before, assigned = checked.before, member.assigned
        has_moved = before.assigned != assigned
        has_new_endpoint = before.user_endpoint != member.user_endpoint
        if has_new_endpoint or (has_moved and member.user_endpoint is not None):
            group.endpoint_epoch += 1
        endpoints = None
        if group.endpoint_epoch != request.endpoint_epoch:
            endpoints = endpoints_of(group, member, self._topics)
        needs_tasks = request.member_epoch == 0 or has_moved
        return StreamsHeartbeatResult(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self._setting(group.group_id, "streams.heartbeat.interval.ms"),
            task_offset_interval_ms=self._setting(
                group.group_id, "streams.task.offset.interval.ms"
            ),
            acceptable_recovery_lag=self._setting(
                group.group_id, "streams.acceptable.recovery.lag"
            ),
            tasks=TargetTasks(assigned.active_tasks, assigned.standby) if needs_tasks else None,
            endpoint_epoch=0 if is_new else group.endpoint_epoch,
            endpoints=endpoints,
            missing_topics=checked.configured.missing,
        )

    def leave(
        self, group: StreamsGroup, request: StreamsHeartbeat, now_ms: int
    ) -> StreamsHeartbeatResult | Refusal:
        """Remove a member, or let a static one leave for a while."""
        if request.shutdown_application and group.shutdown_member_id is None:
            group.shutdown_member_id = request.member_id
        member_id, instance_id = request.member_id, request.group_instance_id
        if instance_id is not None:
            refusal = check_instance(group, instance_id, member_id)
            if refusal is not None:
                return refusal
        member = group.members.get(member_id)
        if member is None:
            return unknown_member(group, member_id)
        if instance_id is not None and request.member_epoch == STATIC_LEAVE_EPOCH:
            group.write_assignment(
                replace(
                    member,
                    member_epoch=STATIC_LEAVE_EPOCH,
                    assigned=member.assigned.with_epochs_of_zero(),
                    pending_revocation=NOTHING_OWNED,
                )
            )
            self._sessions.complete(group, member_id, Step.REVOKE)
            self._write(group, now_ms)
        else:
            self._remove(group, member_id, now_ms)
        return StreamsHeartbeatResult(member_id, request.member_epoch)

    def _remove(self, group: StreamsGroup, member_id: str, now_ms: int) -> None:
        group.fence(member_id)
        self._sessions.stop(group, [member_id])
        self._write(group, now_ms)

    def store_description(
        self,
        group: StreamsGroup,
        topology_epoch: int,
        description: TopologyDescription,
        now_ms: int,
    ) -> None:
        """Store the description of the group's topology."""
        group.store_description(topology_epoch, description)
        self._write(group, now_ms)

    def rebalance(self, group: StreamsGroup, now_ms: int) -> None:
        """Begin a new epoch; the next heartbeat of a member computes its targets."""
        group.rebalance()
        self._write(group, now_ms)

    # Timers ----------------------------------------------------------------------------------

    def _delay(self, group: StreamsGroup, now_ms: int) -> None:
        """Wait for more members before the first targets of an empty group."""
        delay_ms = self._setting(group.group_id, "streams.initial.rebalance.delay.ms")
        if delay_ms <= 0 or group.group_id in self._delays:
            return

        def end(now_ms: int) -> None:
            self._delays.pop(group.group_id, None)
            is_waiting = group.members and group.group_epoch > group.assignment_epoch
            if is_waiting and group.configured is not None:
                group.update_targets(now_ms)
                self._write(group, now_ms)

        due_ms = self._timers.deadline_ms(now_ms, delay_ms)
        self._delays[group.group_id] = self._timers.schedule(due_ms, end)

    def restart_timers(self, group: StreamsGroup, now_ms: int) -> None:
        """Begin all sessions again, as a new coordinator does, which knows only the records."""
        self._end_delay(group)
        group.forget_what_is_not_written()
        for member in group.members.values():
            self._restart_session(group, member.member_id, now_ms)
            self._sessions.watch_revocation(group, member, now_ms)

    def stop_timers(self, group: StreamsGroup) -> None:
        """Stop the timers of all members of a group."""
        self._end_delay(group)
        self._sessions.stop(group, tuple(group.members))

    def _end_delay(self, group: StreamsGroup) -> None:
        self._timers.cancel(self._delays.pop(group.group_id, None))

    def _restart_session(self, group: StreamsGroup, member_id: str, now_ms: int) -> None:
        timeout_ms = self._setting(group.group_id, "streams.session.timeout.ms")
        self._sessions.restart(group, member_id, timeout_ms, now_ms)

    def _expire(self, group: StreamsGroup, member_id: str, now_ms: int) -> None:
        """Remove a member whose session or rebalance took too long, unless it is gone."""
        if member_id in group.members:
            self._remove(group, member_id, now_ms)


def _statuses(
    group: StreamsGroup,
    checked: Checked,
    member: StreamsMember,
    api_version: int,
    rack_tags: tuple[str, ...],
) -> list[Status]:
    statuses = []
    if checked.configured.problem is not None:
        statuses.append(checked.configured.problem)
    if group.shutdown_member_id is not None:
        statuses.append(
            Status(
                StatusCode.SHUTDOWN_APPLICATION,
                f"Streams group member {group.shutdown_member_id} encountered a fatal error and"
                " requested a shutdown for the entire application.",
            )
        )
    missing = [tag for tag in rack_tags if tag not in member.client_tags]
    if missing and api_version >= CLIENT_TAGS_VERSION_MIN:
        statuses.append(
            Status(
                StatusCode.MISSING_CLIENT_TAGS,
                "Missing required client tags for rack-aware standby assignment:"
                f" [{', '.join(missing)}]. Configure them via 'client.tag.<tagKey>' in your"
                " Streams config.",
            )
        )
    return statuses
