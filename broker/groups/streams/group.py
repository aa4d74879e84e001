"""The state of one streams group: members, topology, epochs, targets and owners of tasks.

`heartbeat` decides what a request changes. Source: Kafka's `StreamsGroup`.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from broker.groups.modern_group import ModernGroup, RecordMakers
from broker.groups.modern_rules import GetModernRules, default_rules
from broker.groups.offsets import OffsetTable
from broker.groups.requests import OffsetToCommit
from broker.groups.streams.configured_topology import ConfiguredTopology
from broker.groups.streams.member import StreamsMember
from broker.groups.streams.reconciliation import reconcile
from broker.groups.streams.requests import TaskOffset
from broker.groups.streams.sticky_assignor import assign_stickily
from broker.groups.streams.streams_group_records import (
    current_record,
    epoch_record,
    group_tombstones,
    member_record,
    member_tombstones,
    target_epoch_record,
    target_record,
    topology_record,
)
from broker.groups.streams.task_owners import TaskOwners
from broker.groups.streams.tasks import NOTHING_TARGETED, TargetTasks
from broker.groups.streams.topology import Topology
from broker.groups.streams.topology_description import (
    UNCERTAIN,
    StoredDescription,
    TopologyDescription,
)
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode

STANDBY_REPLICAS = "num.standby.replicas"
"""The number of standby tasks of each task, among the configurations that targets depend on."""

_RECORDS = RecordMakers(
    target_epoch_record, member_record, current_record, target_record, member_tombstones
)


class StreamsGroupState(Enum):
    """Kafka's `StreamsGroupState`; the values are those of ListGroups."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """Topics of the topology are missing, or don't fit together."""
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class ReportedOffsets(NamedTuple):
    """What a member has last reported of the changelogs of its tasks, each task once."""

    offsets: tuple[TaskOffset, ...] = ()
    end_offsets: tuple[TaskOffset, ...] = ()


class CreationError(NamedTuple):
    """Why an internal topic could not be created; nobody tries again before `until_ms`."""

    text: str
    until_ms: int


class StreamsGroup(ModernGroup[StreamsMember, TargetTasks]):
    """One group. It never reads a clock."""

    group_type = "streams"
    protocol_type = "streams"

    def __init__(
        self,
        group_id: str,
        offsets: OffsetTable | None = None,
        rules: GetModernRules = default_rules,
    ) -> None:
        super().__init__(group_id, NOTHING_TARGETED, _RECORDS, rules, offsets)
        self.topology: Topology | None = None
        self.validated_topology_epoch = -1
        """The epoch of the topology if the group can work with it, or -1."""
        self.assignment_configs: Mapping[str, str] = {}
        self.stored = StoredDescription()
        self.owners = TaskOwners()
        self.creation_errors: dict[str, CreationError] = {}
        """Why internal topics could not be created, by name."""
        self.forget_what_is_not_written()

    def forget_what_is_not_written(self) -> None:
        """Forget what a new coordinator does not know, nor Kafka after the first heartbeat."""
        self.configured: ConfiguredTopology | None = None
        self.has_current_metadata = False
        self.endpoint_epoch = 0
        self.shutdown_member_id: str | None = None
        self.reported_offsets: dict[str, ReportedOffsets] = {}
        self.stored.forget_asking()

    # Members ---------------------------------------------------------------------------------

    def put_member(self, member: StreamsMember) -> None:
        """Add a member, or replace the one with its id; it has its tasks."""
        before = self.members.get(member.member_id)
        if before is not None:
            self.owners.remove(before)
        super().put_member(member)
        self.owners.add(member)

    def remove_member(self, member_id: str) -> StreamsMember:
        """Remove a member and its target; its tasks are free. The epoch stays."""
        member = super().remove_member(member_id)
        self.owners.remove(member)
        self.reported_offsets.pop(member_id, None)
        if not self.members:
            self.shutdown_member_id = None
        return member

    def fence(self, member_id: str) -> None:
        """Remove a member and begin a new epoch."""
        self.remove_member(member_id)
        self.rebalance()
        self.forget_empty_interval()

    # Topology, epochs and targets --------------------------------------------------------------

    @property
    def metadata_hash(self) -> int:
        """The hash of the topics of the topology, as of the last epoch."""
        return self._metadata_hash

    def set_topology(self, topology: Topology) -> None:
        """Store the topology, which the first member brings."""
        self.topology = topology
        self.unwritten.append(topology_record(self.group_id, topology))

    def begin_epoch(
        self, metadata_hash: int, validated_topology_epoch: int, configs: Mapping[str, str]
    ) -> None:
        """Begin a new epoch, whose targets have to be computed."""
        self.group_epoch += 1
        self._metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.assignment_configs = configs
        self._write_epoch()

    def _write_epoch(self) -> None:
        self.unwritten.append(
            epoch_record(
                self.group_id,
                self.group_epoch,
                self._metadata_hash,
                self.validated_topology_epoch,
                self.assignment_configs,
                self.stored.epoch,
            )
        )

    def store_description(self, topology_epoch: int, description: TopologyDescription) -> None:
        """Store the description of a topology; the records say so before and after."""
        for epoch in (UNCERTAIN, topology_epoch):
            self.stored.epoch = epoch
            self._write_epoch()
        self.stored.description = description

    def rebalance(self) -> None:
        """Begin a new epoch in which nothing else is different."""
        self.begin_epoch(
            self._metadata_hash, self.validated_topology_epoch, self.assignment_configs
        )

    def update_targets(self, now_ms: int) -> None:
        """Compute the targets of the group's epoch; nobody gets a task if it can't work."""
        subtopologies = None if self.configured is None else self.configured.ready
        targets: Mapping[str, TargetTasks] = {}
        if subtopologies is not None:
            offsets = {
                member_id: {(o.subtopology_id, o.partition_index): o.offset for o in found.offsets}
                for member_id, found in self.reported_offsets.items()
            }
            standby_replicas = int(self.assignment_configs[STANDBY_REPLICAS])
            targets = assign_stickily(self.members, subtopologies, offsets, standby_replicas)
        self._set_targets(targets)
        self._note_targets(now_ms)

    def reconcile(
        self, member: StreamsMember, target: TargetTasks, reported: TargetTasks | None
    ) -> StreamsMember:
        """Move a member towards its target as far as it can go; return it as it is then."""
        updated = reconcile(member, self.assignment_epoch, target, self.owners, reported)
        if updated != member:
            self.write_assignment(updated)
        return updated

    def is_subscribed_to(self, topic_name: str) -> bool:
        """Return whether the members read a topic."""
        topology = self.topology
        return bool(self.members) and topology is not None and topic_name in topology.subtopology_of

    def requires(self, topic_name: str) -> bool:
        """Return whether the group has to look at its topology again if a topic changes."""
        return self.topology is not None and topic_name in self.topology.required_topics

    # Views -------------------------------------------------------------------------------------

    @property
    def state(self) -> StreamsGroupState:
        """The state, which follows from members, topology and epochs."""
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.group_epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group."""
        return group_tombstones(self.group_id, list(self.members))

    # Committed offsets -------------------------------------------------------------------------

    def _is_classic(self, _member: StreamsMember) -> bool:
        return False

    def _partition_epoch(self, member: StreamsMember, offset: OffsetToCommit) -> int | None:
        """Return the epoch in which a member got the task that reads a partition, or None."""
        topology = self.topology
        if topology is None:
            return None
        subtopology_id = topology.subtopology_of.get(offset.topic_name, "")
        epochs = member.assigned.active.get(subtopology_id, {})
        revoked = member.pending_revocation.active.get(subtopology_id, {})
        return epochs.get(offset.partition_index, revoked.get(offset.partition_index))

    def _check_epoch(self, member: StreamsMember, member_epoch: int) -> ErrorCode:
        is_current = member_epoch == member.member_epoch
        return ErrorCode.NONE if is_current else ErrorCode.STALE_MEMBER_EPOCH
