"""One member of a group of the consumer protocol, as a value.

Source: Kafka's `ConsumerGroupMember` and `MemberState`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from uuid import UUID

from broker.groups.consumer.assignment import (
    Assignment,
    PartitionEpochs,
    no_partition_epochs,
    no_partitions,
)

LEAVE_EPOCH = -1
"""The epoch of a heartbeat with which a member leaves."""

STATIC_LEAVE_EPOCH = -2
"""The epoch with which a static member leaves for a while, and that it has until it is back."""


class MemberState(IntEnum):
    """How far a member is on the way to its target assignment, numbered as in Kafka's records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It has to give up partitions before it gets the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """It has the epoch of the target, and waits for partitions that others still own."""


@dataclass(frozen=True, slots=True)
class ClassicMetadata:
    """What a member that uses the classic protocol sent in JoinGroup.

    `protocols` maps the name of each protocol to the member's subscription, preferred ones first.
    """

    session_timeout_ms: int
    protocols: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """One member; `classic` is None unless it uses the classic protocol.

    It owns `assigned_partitions` and `partitions_pending_revocation`, and has to give up the
    latter; `partition_epochs` has both. A `rebalance_timeout_ms` of -1 is unknown.
    """

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    group_instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    assigned_partitions: Assignment = field(default_factory=no_partitions)
    partitions_pending_revocation: Assignment = field(default_factory=no_partitions)
    partition_epochs: PartitionEpochs = field(default_factory=no_partition_epochs)
    classic: ClassicMetadata | None = None

    @property
    def must_revoke(self) -> bool:
        """Whether it has to give up partitions in time; one of the classic protocol joins again."""
        return bool(self.partitions_pending_revocation) and self.classic is None

    def partition_epoch(self, topic_id: UUID | None, index: int) -> int | None:
        """Return the epoch in which it got a partition, or None if it does not own it."""
        if topic_id is None:
            return None
        return self.partition_epochs.get(topic_id, {}).get(index)

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return whether it has everything that the target assignment of this epoch gives it."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch
