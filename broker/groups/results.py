"""Results of requests to a group, as frozen values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from protocol.errors import ErrorCode

NO_GENERATION = -1


class GroupState(Enum):
    """Kafka's `ClassicGroupState`; the values are those of DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


TRANSITIONS: Mapping[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE, GroupState.DEAD}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.COMPLETING_REBALANCE, GroupState.EMPTY}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.STABLE, GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.DEAD: frozenset(),
}
"""The states that may follow each state."""


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the leader sees it, with its metadata for the chosen protocol."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinResult:
    """The result of a JoinGroup; only a leader gets `members`."""

    error_code: ErrorCode
    member_id: str
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The result of a SyncGroup."""

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


JoinCallback = Callable[[JoinResult], None]
SyncCallback = Callable[[SyncResult], None]


@dataclass(frozen=True, slots=True)
class LeftMember:
    """The result for one leaving member; the ids are those of the request."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """A member in a description; its metadata is empty unless the group is stable."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group as DescribeGroups shows it; the protocol's name is empty unless it is stable."""

    group_id: str
    state: GroupState
    protocol_type: str
    protocol_name: str
    members: tuple[DescribedMember, ...]
    generation_id: int = NO_GENERATION


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A group as ListGroups shows it; the type is classic, consumer, share or streams."""

    group_id: str
    state: str
    group_type: str
    protocol_type: str

    @property
    def filtered_state(self) -> str:
        """The state as filters have it, in lower case; Kafka spells one differently there."""
        return "not_ready" if self.state == "NotReady" else self.state.lower()


class CommittedOffset(NamedTuple):
    """A committed offset of a partition.

    `expires_ms` is set if the commit had a retention time (OffsetCommit v2-4), `topic_id` if it
    named the topic by id (v10), and from Kafka 4.3 on always.
    """

    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int
    expires_ms: int | None = None
    topic_id: UUID | None = None


new_committed: Callable[[Any], CommittedOffset] = partial(tuple.__new__, CommittedOffset)
"""Make a committed offset from all its fields, in less time than the class takes."""
