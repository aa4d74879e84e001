"""One share group: its members, its epochs, its target assignment, and the state it needs.

Sources: Kafka's `ShareGroup`, `ShareGroupAssignmentBuilder` and
`GroupMetadataManager.shareGroupHeartbeat`.
"""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from broker.errors import Refusal
from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.topics import TopicMetadata, TopicSource, group_hash
from broker.groups.loaded_records import LoadedGroup
from broker.groups.modern_rules import GetModernRules, ModernRules, default_rules
from broker.share_groups.member import JOIN_EPOCH, ShareHeartbeat, ShareMember
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_group_records import (
    current_record,
    epoch_record,
    group_tombstones,
    member_record,
    member_tombstones,
    state_partitions_record,
    target_epoch_record,
    target_record,
)
from broker.share_groups.simple_assignor import assign_simply
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode


class ShareGroup:
    """The state machine of one group. `unwritten` has the records of its latest changes."""

    def __init__(self, group_id: str, rules: GetModernRules = default_rules) -> None:
        self.group_id = group_id
        self._rules = rules
        self.group_epoch = self.assignment_epoch = rules().first_epoch
        self.assignment_ms = 0
        """When the targets were computed; 0 lets the next ones be computed at once."""
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, Assignment] = {}
        self.initialized: dict[UUID, set[int]] = {}
        """Partitions whose share state exists; only these are assigned."""
        self.initializing: dict[UUID, set[int]] = {}
        self.has_state_partitions = False
        """Whether a member subscribed to a topic that exists, or its offsets were altered."""
        self.unwritten: list[CoordinatorRecord] = []
        self._subscribed: tuple[str, ...] = ()
        self._metadata: tuple[TopicMetadata | None, ...] = ()
        self._topic_names: dict[UUID, str] = {}

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    @property
    def state_name(self) -> str:
        """The state that ShareGroupDescribe and ListGroups show."""
        return "Empty" if self.is_empty else "Stable"

    @property
    def is_reconciled(self) -> bool:
        """Whether all subscribed partitions are assigned, and every member knows its own."""
        return (
            self.group_epoch == self.assignment_epoch
            and all(
                member.member_epoch == self.assignment_epoch for member in self.members.values()
            )
            and all(
                len(self.initialized.get(topic.topic_id, ())) >= topic.partition_count
                for topic in self._metadata
                if topic is not None
            )
            and not self._has_unassigned(self._metadata)
        )

    @property
    def rules(self) -> ModernRules:
        """What the release says about the group now."""
        return self._rules()

    def take_records(self) -> list[CoordinatorRecord]:
        """Return the records that were not written yet."""
        records, self.unwritten = self.unwritten, []
        return records

    def _subscribe(self) -> None:
        """Compute the topics of all members, after a member has changed its own."""
        names: set[str] = set()
        names.update(*(member.subscribed_topic_names for member in self.members.values()))
        self._subscribed = tuple(sorted(names))

    # Members ---------------------------------------------------------------------------------

    def load(self, loaded: LoadedGroup[ShareMember, Assignment], topics: TopicSource) -> None:
        """Have what the records say; an epoch begins if the topics have another hash."""
        self.group_epoch = loaded.group_epoch
        self.assignment_epoch, self.assignment_ms = loaded.assignment_epoch, loaded.assignment_ms
        self.targets = dict(loaded.targets)
        self.members = {member.member_id: member for member in loaded.members}
        self._subscribe()
        self._topic_names = {
            topic_id: topics.name_of(topic_id) or "" for topic_id in self.initialized
        }
        metadata = tuple(map(topics.get, self._subscribed))
        if group_hash(topic for topic in metadata if topic is not None) == loaded.metadata_hash:
            self._metadata = metadata

    def find_member(self, request: ShareHeartbeat) -> ShareMember | Refusal:
        """Return the member of a heartbeat as it is, or a new one that joins."""
        member = self.members.get(request.member_id)
        if member is None:
            if request.member_epoch != JOIN_EPOCH:
                return self.unknown_member(request.member_id)
            return ShareMember(request.member_id)
        received = request.member_epoch
        if received == JOIN_EPOCH and self.rules.can_rejoin_at_once:
            return member
        if received > member.member_epoch:
            return Refusal(
                ErrorCode.FENCED_MEMBER_EPOCH,
                f"The share group member has a greater member epoch ({received}) than the one"
                f" known by the group coordinator ({member.member_epoch}). The member must abandon"
                " all its partitions and rejoin.",
            )
        if received < member.member_epoch and received != member.previous_member_epoch:
            return Refusal(
                ErrorCode.FENCED_MEMBER_EPOCH,
                f"The share group member has a smaller member epoch ({received}) than the one"
                f" known by the group coordinator ({member.member_epoch}), and it does not match"
                f" the previous member epoch ({member.previous_member_epoch}). The member must"
                " abandon all its partitions and rejoin.",
            )
        return member

    def unknown_member(self, member_id: str) -> Refusal:
        """Return the refusal of a member that the group does not have."""
        return Refusal(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {member_id} is not a member of group {self.group_id}.",
        )

    def heartbeat(
        self,
        before: ShareMember,
        request: ShareHeartbeat,
        topics: TopicSource,
        now_ms: int,
        *,
        interval_ms: int = 0,
    ) -> ShareMember:
        """Take a heartbeat of a checked member; return the member with its new assignment.

        The targets of a new epoch are computed, or later if the last ones are newer than the
        interval.
        """
        member = self._updated(before, request)
        is_new = before.member_id not in self.members
        self.members[member.member_id] = member
        names_changed = member.subscribed_topic_names != before.subscribed_topic_names
        if member != before or is_new:
            self.unwritten.append(member_record(self.group_id, member))
        if names_changed:
            self._subscribe()
        metadata = tuple(map(topics.get, self._subscribed))
        awaits_targets = self.group_epoch > self.assignment_epoch
        has_new_partitions = (
            not (awaits_targets and self.rules.has_assignment_interval)
        ) and self._has_unassigned(metadata)
        begins_epoch = names_changed or has_new_partitions or metadata != self._metadata
        if begins_epoch:
            self.begin_epoch(topics)
        if self.group_epoch > self.assignment_epoch and self.rules.may_assign(
            self.assignment_ms, interval_ms, now_ms
        ):
            self._assign(topics, now_ms)
        return self._reconcile(member, topics, has_other_topics=begins_epoch)

    def _updated(self, before: ShareMember, request: ShareHeartbeat) -> ShareMember:
        names = request.subscribed_topic_names
        return replace(
            before,
            rack_id=before.rack_id if request.rack_id is None else request.rack_id,
            client_id=request.client_id,
            client_host=request.client_host,
            subscribed_topic_names=before.subscribed_topic_names
            if names is None
            else frozenset(names),
        )

    def remove(self, member_id: str, topics: TopicSource) -> None:
        """Remove a member, which begins a new epoch."""
        del self.members[member_id]
        self.targets.pop(member_id, None)
        self.unwritten += member_tombstones(self.group_id, member_id)
        self._subscribe()
        self.begin_epoch(topics)
        if not self.members and self.rules.forgets_empty_interval:
            self._note_targets(0)

    def delete(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group, which has no members."""
        return group_tombstones(self.group_id)

    # Assignment ------------------------------------------------------------------------------

    def begin_epoch(self, topics: TopicSource) -> None:
        """Begin a new epoch; the next heartbeat of a member computes its target assignment."""
        self.group_epoch += 1
        self._metadata = tuple(map(topics.get, self._subscribed))
        metadata_hash = group_hash(topic for topic in self._metadata if topic is not None)
        self.unwritten.append(epoch_record(self.group_id, self.group_epoch, metadata_hash))

    def _has_unassigned(self, topics: Iterable[TopicMetadata | None]) -> bool:
        """Whether partitions whose state exists are assigned to nobody."""
        for topic in topics:
            if topic is None:
                continue
            assigned = (target.get(topic.topic_id, ()) for target in self.targets.values())
            if self.initialized.get(topic.topic_id, set()).difference(*assigned):
                return True
        return False

    def _assign(self, topics: TopicSource, now_ms: int) -> None:
        """Compute the target assignment of the group's epoch."""
        subscriptions = {
            member_id: self._assignable(member.subscribed_topic_names, topics)
            for member_id, member in self.members.items()
        }
        targets = assign_simply(subscriptions, self.targets)
        for member_id, target in targets.items():
            if target != self.targets.get(member_id):
                self.unwritten.append(target_record(self.group_id, member_id, target))
        self.targets = targets
        self._note_targets(now_ms)

    def _note_targets(self, now_ms: int) -> None:
        """Note that the targets are those of the group's epoch, computed now."""
        self.assignment_epoch, self.assignment_ms = self.group_epoch, now_ms
        written_ms = now_ms if self.rules.has_assignment_interval else 0
        self.unwritten.append(target_epoch_record(self.group_id, self.assignment_epoch, written_ms))

    def _assignable(
        self, topic_names: frozenset[str], topics: TopicSource
    ) -> list[TopicIdPartition]:
        found = []
        for name in sorted(topic_names):
            topic = topics.get(name)
            if topic is not None:
                initialized = self.initialized.get(topic.topic_id, ())
                found += [
                    TopicIdPartition(topic.topic_id, index)
                    for index in range(topic.partition_count)
                    if index in initialized
                ]
        return found

    def _reconcile(
        self, member: ShareMember, topics: TopicSource, *, has_other_topics: bool
    ) -> ShareMember:
        """Give a member its target, if that is of another epoch than the member.

        A member gets no partitions of topics that it no longer subscribes to.
        """
        target: Assignment = self.targets.get(member.member_id, {})
        if self.rules.follows_subscriptions:
            found = map(topics.get, member.subscribed_topic_names)
            subscribed = {topic.topic_id for topic in found if topic is not None}
            target = {key: indexes for key, indexes in target.items() if key in subscribed}
        if member.member_epoch != self.assignment_epoch:
            updated = replace(
                member,
                assigned=target,
                member_epoch=self.assignment_epoch,
                previous_member_epoch=member.member_epoch,
            )
        elif has_other_topics and self.rules.follows_subscriptions:
            updated = replace(member, assigned=target)
        else:
            return member
        if updated != member:
            self.members[member.member_id] = updated
            self.unwritten.append(current_record(self.group_id, updated))
        return updated

    # Share state -----------------------------------------------------------------------------

    def begin_initialization(self, topics: TopicSource) -> list[TopicIdPartition]:
        """Return the subscribed partitions whose share state has to be created now."""
        found: list[TopicIdPartition] = []
        for name in self._subscribed:
            topic = topics.get(name)
            if topic is None:
                continue
            known = self.initialized.get(topic.topic_id, set())
            if len(known) >= topic.partition_count:
                continue
            known = known | self.initializing.get(topic.topic_id, set())
            new = [index for index in range(topic.partition_count) if index not in known]
            if new:
                self._topic_names[topic.topic_id] = name
                self.initializing.setdefault(topic.topic_id, set()).update(new)
                found += [TopicIdPartition(topic.topic_id, index) for index in new]
        if found:
            self._note_state_partitions()
        return found

    def end_initialization(
        self, succeeded: Iterable[TopicIdPartition], failed: Iterable[TopicIdPartition]
    ) -> None:
        """Note which states exist now; what failed is tried again with the next heartbeat."""
        succeeded, failed = tuple(succeeded), tuple(failed)
        for topic_id, index in (*succeeded, *failed):
            _discard(self.initializing, topic_id, index)
        for topic_id, index in succeeded:
            self.initialized.setdefault(topic_id, set()).add(index)
        if succeeded or failed:
            self._note_state_partitions()

    def set_initialized(self, partitions: Iterable[TopicIdPartition], topics: TopicSource) -> None:
        """Note states that were created for an administrator, or that one tried to create any."""
        for topic_id, index in partitions:
            self._topic_names[topic_id] = topics.name_of(topic_id) or ""
            _discard(self.initializing, topic_id, index)
            self.initialized.setdefault(topic_id, set()).add(index)
        self._note_state_partitions()

    def forget_topic(self, topic_id: UUID) -> bool:
        """Note that the states of a topic are gone; return whether there were any."""
        is_known = topic_id in self.initialized or topic_id in self.initializing
        self.initialized.pop(topic_id, None)
        self.initializing.pop(topic_id, None)
        if is_known:
            self._note_state_partitions()
        return is_known

    def _note_state_partitions(self) -> None:
        self.has_state_partitions = True
        self.unwritten.append(
            state_partitions_record(
                self.group_id,
                initializing=self.initializing,
                initialized=self.initialized,
                topic_names=self._topic_names,
            )
        )


def _discard(partitions: dict[UUID, set[int]], topic_id: UUID, index: int) -> None:
    indexes = partitions.get(topic_id)
    if indexes is not None:
        indexes.discard(index)
        if not indexes:
            del partitions[topic_id]
