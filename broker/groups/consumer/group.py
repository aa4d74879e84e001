"""The state of one group of the consumer protocol: members, epochs, targets and owners.

`heartbeat` decides what a request changes. Source: Kafka's `ConsumerGroup`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from uuid import UUID  # noqa: TC003 - plain imports show the layers

from broker.groups.consumer.assignment import NO_PARTITIONS, Assignment, TopicPartition
from broker.groups.consumer.consumer_group_records import (
    current_record,
    epoch_record,
    group_tombstones,
    member_record,
    member_tombstones,
    regex_record,
    regex_tombstone,
    target_epoch_record,
    target_record,
)
from broker.groups.consumer.group_spec import Assignor, GroupSpec, MemberSpec
from broker.groups.consumer.group_state import ConsumerGroupState
from broker.groups.consumer.member import ConsumerMember
from broker.groups.consumer.reconciliation import reconcile
from broker.groups.consumer.regexes import ResolvedRegex
from broker.groups.consumer.requests import ConsumerGroupDescription
from broker.groups.consumer.topics import TopicMetadata, TopicSource, group_hash
from broker.groups.modern_group import ModernGroup, RecordMakers
from broker.groups.modern_rules import GetModernRules, default_rules
from broker.groups.offsets import OffsetTable
from broker.groups.requests import CommitRequest, OffsetToCommit
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode


class ConsumerGroup(ModernGroup[ConsumerMember, Assignment]):
    """One group. It never reads a clock, and looks topics up in a `TopicSource`."""

    group_type = "consumer"
    protocol_type = "consumer"

    def __init__(
        self,
        group_id: str,
        offsets: OffsetTable | None = None,
        rules: GetModernRules = default_rules,
    ) -> None:
        records = RecordMakers(
            target_epoch_record,
            member_record,
            self._current_record,
            target_record,
            member_tombstones,
        )
        super().__init__(group_id, NO_PARTITIONS, records, rules, offsets)
        self.resolved_regexes: dict[str, ResolvedRegex] = {}
        self.is_resolving = False
        """Whether the coordinator is going to resolve the expressions."""
        self.must_rise = False
        """Whether the next heartbeat begins a new epoch, whatever it has."""
        self._manual_epoch = -1
        self._owned: dict[UUID, set[int]] = {}
        self._name_counts: Counter[str] = Counter()
        self._regex_counts: Counter[str] = Counter()

    # Members ---------------------------------------------------------------------------------

    def put_member(self, member: ConsumerMember) -> None:
        """Add a member, or replace the one with its id."""
        self._uncount(self.members.get(member.member_id))
        super().put_member(member)
        for owned in (member.assigned_partitions, member.partitions_pending_revocation):
            for topic_id, indexes in owned.items():
                self._owned.setdefault(topic_id, set()).update(indexes)
        self._name_counts.update(member.subscribed_topic_names)
        if member.subscribed_topic_regex:
            self._regex_counts[member.subscribed_topic_regex] += 1

    def remove_member(self, member_id: str) -> ConsumerMember:
        """Remove a member and its target; its partitions are free. The epoch stays."""
        member = super().remove_member(member_id)
        self._uncount(member)
        return member

    def _current_record(self, group_id: str, member: ConsumerMember) -> CoordinatorRecord:
        with_epochs = self.rules.has_partition_epochs
        return current_record(group_id, member, with_epochs=with_epochs)

    def is_owned(self, partition: TopicPartition) -> bool:
        """Return whether a member owns a partition, or has still to revoke it."""
        topic_id, index = partition
        return index in self._owned.get(topic_id, ())

    def _uncount(self, member: ConsumerMember | None) -> None:
        if member is None:
            return
        for owned in (member.assigned_partitions, member.partitions_pending_revocation):
            for topic_id, indexes in owned.items():
                self._owned[topic_id] -= indexes
                if not self._owned[topic_id]:
                    del self._owned[topic_id]
        _subtract(self._name_counts, member.subscribed_topic_names)
        if member.subscribed_topic_regex:
            _subtract(self._regex_counts, (member.subscribed_topic_regex,))

    # Subscriptions ---------------------------------------------------------------------------

    def is_subscribed_to(self, topic_name: str) -> bool:
        """Return whether a member subscribes to a topic by name, or by a resolved expression."""
        return topic_name in self._name_counts or any(
            topic_name in resolved.topic_names for resolved in self.resolved_regexes.values()
        )

    def requires(self, topic_name: str) -> bool:
        """Return whether the group has to look at its topics again if this one changes."""
        return self.is_subscribed_to(topic_name)

    @property
    def subscribed_regexes(self) -> Mapping[str, int]:
        """The number of members by the regular expression that they subscribe to."""
        return self._regex_counts

    def subscribed_topics(self, topics: TopicSource) -> list[TopicMetadata]:
        """Return the existing topics that members subscribe to."""
        names = set(self._name_counts)
        for resolved in self.resolved_regexes.values():
            names |= resolved.topic_names
        return [topic for topic in map(topics.get, names) if topic is not None]

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics."""
        member_count = len(self.members)
        if not self._regex_counts:
            return all(count == member_count for count in self._name_counts.values())
        if self._name_counts or next(iter(self._regex_counts.values())) != member_count:
            return False
        # Members whose expression was replaced may have left its topics behind.
        return len(self.resolved_regexes) <= 1

    def put_regex(self, regex: str, resolved: ResolvedRegex) -> None:
        """Store the topics that an expression matches."""
        self.resolved_regexes[regex] = resolved
        self.unwritten.append(regex_record(self.group_id, regex, resolved))

    def forget_unused_regex(self, regex: str) -> None:
        """Forget an expression unless a member subscribes to it."""
        if regex and regex not in self._regex_counts:
            self.resolved_regexes.pop(regex, None)
            self.unwritten.append(regex_tombstone(self.group_id, regex))

    def topic_names_of(self, member: ConsumerMember) -> frozenset[str]:
        """Return the topics that a member subscribes to, by name and by expression."""
        resolved = self.resolved_regexes.get(member.subscribed_topic_regex)
        if resolved is None:
            return member.subscribed_topic_names
        return member.subscribed_topic_names | resolved.topic_names

    # Epochs and assignments --------------------------------------------------------------------

    def update_epoch(self, topics: TopicSource, *, must_rise: bool) -> None:
        """Begin a new epoch if it must, or if a subscribed topic has changed."""
        current_hash = group_hash(self.subscribed_topics(topics))
        if must_rise or current_hash != self._metadata_hash:
            self._metadata_hash = current_hash
            self.group_epoch += 1
            self.unwritten.append(epoch_record(self.group_id, self.group_epoch, current_hash))
        self.has_current_metadata = True
        self.must_rise = False

    @property
    def epoch_to_reach(self) -> int:
        """The epoch for which members of the classic protocol have to join again."""
        waits_for_targets = self.rules.has_assignment_interval
        return self.assignment_epoch if waits_for_targets else self.group_epoch

    def preferred_assignor(self, default: str) -> str:
        """Return the assignor that most members ask for."""
        counts = Counter(
            member.server_assignor
            for member in self.members.values()
            if member.server_assignor is not None
        )
        return counts.most_common(1)[0][0] if counts else default

    def update_targets(self, assignor: Assignor, topics: TopicSource, now_ms: int) -> None:
        """Compute the target assignment of the group's epoch."""
        subscribed = {topic.name: topic for topic in self.subscribed_topics(topics)}
        ids_of: dict[frozenset[str], list[UUID]] = {}
        members: dict[str, MemberSpec] = {}
        for member_id, member in self.members.items():
            names = self.topic_names_of(member)
            topic_ids = ids_of.get(names)
            if topic_ids is None:
                found = (subscribed.get(name) for name in sorted(names))
                ids_of[names] = topic_ids = [topic.topic_id for topic in found if topic is not None]
            members[member_id] = MemberSpec(
                topic_ids, self.target_of(member_id), member.group_instance_id
            )
        targets = assignor(
            GroupSpec(
                members=members,
                partition_counts={
                    topic.topic_id: topic.partition_count for topic in subscribed.values()
                },
                is_homogeneous=self.is_homogeneous,
            )
        )
        self._set_targets(targets)
        self._note_targets(now_ms)

    def assign(self, targets: Mapping[str, Assignment], topics: TopicSource, now_ms: int) -> None:
        """Begin an epoch whose target assignment is given, instead of computed by an assignor.

        Members that are missing in it get nothing. The next epoch has a computed one again.
        """
        self.update_epoch(topics, must_rise=True)
        self.update_targets(lambda _spec: dict(targets), topics, now_ms)
        self._manual_epoch = self.group_epoch

    @property
    def is_assigned_manually(self) -> bool:
        """Whether the target assignment of the group's epoch is one that `assign` was given."""
        return self._manual_epoch == self.group_epoch

    def reconcile(
        self,
        member: ConsumerMember,
        reported: Assignment | None,
        topics: TopicSource,
        *,
        has_other_topics: bool = False,
    ) -> ConsumerMember:
        """Move a member towards its target as far as it can go; return it as it is then.

        `reported` is what the member says it owns, or None if its request has none.
        `has_other_topics`: the member has just changed its subscription.
        """
        if member.is_reconciled_to(self.assignment_epoch) and not has_other_topics:
            return member
        subscribed = None
        if self.rules.follows_subscriptions:
            found = map(topics.get, self.topic_names_of(member))
            subscribed = frozenset(topic.topic_id for topic in found if topic is not None)
        target = self.target_of(member.member_id)
        updated = reconcile(
            member,
            self.assignment_epoch,
            target,
            self._owned,
            reported,
            subscribed,
            has_other_topics=has_other_topics,
        )
        if updated != member:
            self.write_assignment(updated)
        return updated

    @property
    def is_settled(self) -> bool:
        """Whether no epoch and no assignment has to be computed, nor an expression resolved."""
        return (
            self.has_current_metadata
            and self.group_epoch == self.assignment_epoch
            and not self._regex_counts
        )

    def restore(
        self, members: Mapping[str, ConsumerMember], group_epoch: int, topics: TopicSource
    ) -> None:
        """Begin with members whose targets are what they own."""
        self.group_epoch = self.assignment_epoch = group_epoch
        for member in members.values():
            self.write_member(member)
            self._targets[member.member_id] = member.assigned_partitions
        self._metadata_hash = group_hash(self.subscribed_topics(topics))
        self.unwritten.append(epoch_record(self.group_id, group_epoch, self._metadata_hash))
        self.unwritten += [
            target_record(self.group_id, member_id, target)
            for member_id, target in self._targets.items()
        ]
        self._note_targets(0)
        self.unwritten += [
            self._current_record(self.group_id, member) for member in members.values()
        ]

    # Views -------------------------------------------------------------------------------------

    @property
    def state(self) -> ConsumerGroupState:
        """The state, which follows from members and epochs."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def describe(self, default_assignor: str) -> ConsumerGroupDescription:
        """Return the group with its members, as they are now."""
        return ConsumerGroupDescription(
            group_id=self.group_id,
            state=self.state,
            group_epoch=self.group_epoch,
            assignment_epoch=self.assignment_epoch,
            assignor_name=self.preferred_assignor(default_assignor),
            members=tuple(
                (member, self.target_of(member_id)) for member_id, member in self.members.items()
            ),
            is_assigned_manually=self.is_assigned_manually,
        )

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group."""
        return group_tombstones(self.group_id, list(self.members), list(self.resolved_regexes))

    # Committed offsets -------------------------------------------------------------------------

    def _may_commit_late(self, member: ConsumerMember, request: CommitRequest) -> bool:
        return self.rules.has_partition_epochs and super()._may_commit_late(member, request)

    def _is_classic(self, member: ConsumerMember) -> bool:
        return member.classic is not None

    def _partition_epoch(self, member: ConsumerMember, offset: OffsetToCommit) -> int | None:
        return member.partition_epoch(offset.topic_id, offset.partition_index)

    def _check_epoch(self, member: ConsumerMember, member_epoch: int) -> ErrorCode:
        if member_epoch == member.member_epoch:
            return ErrorCode.NONE
        is_classic = self._is_classic(member)
        return ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH


def _subtract(counts: Counter[str], names: Iterable[str]) -> None:
    """Count each name one time less, and remove it at 0."""
    for name in names:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]
