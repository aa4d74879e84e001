"""What happened in the groups of a world; the checkers of groups read it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from tests.simulation.history import History, Place
from tests.simulation.share_history import ShareHistory

GroupPlace = tuple[str, Place]


class AppliedCommit(NamedTuple):
    """A committed offset that the coordinator has stored."""

    group: str
    place: Place
    member: str
    member_epoch: int
    offset: int
    time_ms: int


class LateCommit(NamedTuple):
    """A commit that was taken with an older epoch than that of its member.

    `member` is the instance id of a static member.
    """

    group: str
    places: tuple[Place, ...]
    member: str
    epoch: int
    time_ms: int


@dataclass(slots=True)
class Ownership:
    """A partition that a member got; times are those of the brokers.

    `member` is the instance id of a static member. It got the partition between `sent_ms` and
    `written_ms`, the times of its request and of the response.
    """

    group: str
    place: Place
    member: str
    sent_ms: int
    written_ms: int
    epoch: int
    """The member's epoch or generation in the response."""
    contact_ms: int
    """When it sent the last heartbeat to which it got a response."""
    settled_ms: int
    """When it sent the last one of these after which it had no partition to give up.

    Later the coordinator may have asked it for partitions in a response that it never got.
    """
    session_timeout_ms: int
    rebalance_timeout_ms: int
    end_ms: int | None = None
    """When it said that it has given the partition up, if it did."""
    may_be_given_up: bool = False
    """Whether a late heartbeat from before may still say that it owns less.

    Then the coordinator gives the partition to another member, and the next heartbeat is refused.
    """
    process_id: str = ""
    """The process of the member if `place` is a task, which other processes may have as well."""

    def is_certain_at(self, begin_ms: int, end_ms: int) -> bool:
        """Return whether the partition is certain to belong to the member during a time."""
        return (
            not self.may_be_given_up
            and self.written_ms < begin_ms
            and (self.end_ms is None or self.end_ms > end_ms)
            and end_ms - self.contact_ms < self.session_timeout_ms
            and end_ms - self.settled_ms < self.rebalance_timeout_ms
        )


@dataclass(slots=True)
class GroupHistory:
    """What happened in the groups of a world."""

    seen: History
    shared: ShareHistory
    session_timeout_ms: int
    ownerships: list[Ownership] = field(default_factory=list)
    applied: list[AppliedCommit] = field(default_factory=list)
    """Stored offsets in their order."""
    consumed: dict[GroupPlace, set[int]] = field(default_factory=dict)
    ends: dict[GroupPlace, int] = field(default_factory=dict)
    """The end of each partition that a consumer group had to read."""
    lives: dict[str, list[int]] = field(default_factory=dict)
    """When a group without members was replaced by one of the other protocol, in the world's time.

    Its epochs begin again.
    """
    takes_late_commits: bool = False
    """Whether a member may commit with the epoch in which it got a partition (KIP-1251)."""
    late_commits: list[LateCommit] = field(default_factory=list)
    refused_late_commits: list[str] = field(default_factory=list)
    """Commits that were refused though the member has the partitions since their epoch."""
    unsettled: list[str] = field(default_factory=list)
    wrong_standbys: list[str] = field(default_factory=list)
    """Tasks of streams groups that have another number of standby tasks in the end."""
    wrong_internal_topics: list[str] = field(default_factory=list)
    """Internal topics of streams groups that are missing in the end, or have another size."""
