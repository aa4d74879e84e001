"""One member of a streams group, as a value.

Source: Kafka's `StreamsGroupMember` and `MemberState`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from broker.groups.streams.tasks import NOTHING_OWNED, OwnedTasks


class Endpoint(NamedTuple):
    """Where the queries of other instances reach a member."""

    host: str
    port: int


class MemberState(IntEnum):
    """How far a member is on the way to its target, numbered as in Kafka's records."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    """It has to give up tasks before it gets the next epoch."""
    UNRELEASED_TASKS = 3
    """It has the epoch of the target, and waits for tasks that others still have."""


def _nothing() -> OwnedTasks:
    return NOTHING_OWNED


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """One member: a thread of a process. A `rebalance_timeout_ms` of -1 is unknown.

    It has `assigned` and `pending_revocation`, and has to give up the latter.
    """

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: MemberState = MemberState.STABLE
    group_instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    assigned: OwnedTasks = field(default_factory=_nothing)
    pending_revocation: OwnedTasks = field(default_factory=_nothing)

    @property
    def must_revoke(self) -> bool:
        """Whether it has to give up tasks in time."""
        return self.state is MemberState.UNREVOKED_TASKS

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return whether it has everything that the target assignment of this epoch gives it."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch
