"""The coordinator of streams groups: it finds or creates the group of a request.

The groups are in the table of groups, with those of the other protocols that commit offsets.
Source: Kafka's `GroupMetadataManager`, with its messages.
"""

from dataclasses import replace

from broker.errors import Refusal
from broker.groups.any_group import is_empty, tombstones_of
from broker.groups.consumer.member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker.groups.consumer.topics import TopicSource
from broker.groups.group import Group
from broker.groups.group_records import AppendRecords
from broker.groups.group_table import GroupTable
from broker.groups.modern_group import unknown_member
from broker.groups.modern_rules import GetModernRules
from broker.groups.streams.endpoints import partitions_of
from broker.groups.streams.group import StreamsGroup
from broker.groups.streams.heartbeat import check_member
from broker.groups.streams.membership import StreamsMembership, StreamsSetting
from broker.groups.streams.requests import StreamsHeartbeat, StreamsHeartbeatResult
from broker.groups.streams.tasks import Tasks
from broker.groups.streams.topology_description import (
    ASKED_SINCE_VERSION,
    PLUGIN_KEY,
    TopologyDescription,
)
from broker.timers import Timers
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


class StreamsGroupCoordinator:
    """What members do in the streams groups of `table`."""

    def __init__(
        self,
        table: GroupTable,
        timers: Timers,
        topics: TopicSource,
        setting: StreamsSetting,
        append_records: AppendRecords,
        rules: GetModernRules,
    ) -> None:
        self._table = table
        self._topics = topics
        self._append_records = append_records
        self._rules = rules
        self.membership = StreamsMembership(timers, topics, setting, append_records)

    @may_pause
    def heartbeat(self, request: StreamsHeartbeat, now_ms: int) -> StreamsHeartbeatResult | Refusal:
        """Carry out a heartbeat that `check_request` takes: a member joins, reports or leaves."""
        if request.member_epoch in {LEAVE_EPOCH, STATIC_LEAVE_EPOCH}:
            found = self.find(request.group_id)
            if isinstance(found, Refusal):
                return found
            return self.membership.leave(found, request, now_ms)
        group = self._group_of(request)
        if isinstance(group, Refusal):
            return group
        size_max = self._table.config["group.streams.max.size"]
        checked = check_member(group, request, self._topics, size_max=size_max)
        if isinstance(checked, Refusal):
            return checked
        is_new = self._table.get(request.group_id) is not group
        if is_new:
            self._put(group, now_ms)
        result = self.membership.heartbeat(group, request, checked, now_ms, is_new=is_new)
        return replace(result, needs_description=self._must_ask(group, request, result, now_ms))

    def _must_ask(
        self,
        group: StreamsGroup,
        request: StreamsHeartbeat,
        result: StreamsHeartbeatResult,
        now_ms: int,
    ) -> bool:
        """Return whether the member of a heartbeat shall describe its topology."""
        can_be_asked = self.keeps_descriptions and request.api_version >= ASKED_SINCE_VERSION
        if not can_be_asked or group.topology is None:
            return False
        return group.stored.must_ask(group.topology.epoch, result.statuses, now_ms)

    @property
    def keeps_descriptions(self) -> bool:
        """Whether groups keep descriptions of their topologies."""
        return self._table.config[PLUGIN_KEY] is not None

    def store_description(
        self,
        group_id: str,
        member_id: str,
        topology_epoch: int,
        description: TopologyDescription,
        now_ms: int,
    ) -> Refusal | None:
        """Store the description of a topology that a member sends; return why it is refused."""
        group = self.find(group_id)
        if isinstance(group, Refusal):
            return group
        if member_id not in group.members:
            return unknown_member(group, member_id)
        current_epoch = -1 if group.topology is None else group.topology.epoch
        problem = description.problem
        if topology_epoch != current_epoch:
            problem = (
                f"Topology epoch {topology_epoch} does not match the group's current topology"
                f" epoch {current_epoch}."
            )
        if problem is not None:
            return Refusal(ErrorCode.INVALID_REQUEST, problem)
        self.membership.store_description(group, topology_epoch, description, now_ms)
        return None

    def assigned_partitions(self, group: StreamsGroup, tasks: Tasks) -> list[tuple[str, list[int]]]:
        """Return the topics that tasks read, each with its partition indexes in order."""
        return list(partitions_of(group, tasks, self._topics))

    def find(self, group_id: str) -> StreamsGroup | Refusal:
        """Return the streams group with this id, or GROUP_ID_NOT_FOUND."""
        group = self._table.get(group_id)
        if isinstance(group, StreamsGroup):
            return group
        message = f"Group {group_id} not found."
        if self._table.has_group(group_id):
            message = f"Group {group_id} is not a streams group."
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, message)

    def _group_of(self, request: StreamsHeartbeat) -> StreamsGroup | Refusal:
        """Return the group of a heartbeat, perhaps one that is not in the table yet."""
        group_id = request.group_id
        group = self._table.get(group_id)
        if request.member_epoch == 0:
            if isinstance(group, Group) and is_empty(group):
                return StreamsGroup(group_id, group.offsets, self._rules)
            if not self._table.has_group(group_id):
                return StreamsGroup(group_id, None, self._rules)
        found = self.find(group_id)
        if isinstance(found, Refusal) and not self._table.has_group(group_id):
            return Refusal(found.error_code, f"Streams group {group_id} not found.")
        return found

    @may_pause
    def _put(self, group: StreamsGroup, now_ms: int) -> None:
        """Add a new group, or put it in the place of an empty classic one."""
        classic = self._table.get(group.group_id)
        self._table.put(group, now_ms)
        if isinstance(classic, Group):
            self._append_records(group.group_id, tombstones_of(classic), now_ms)
            self._table.close(classic)
