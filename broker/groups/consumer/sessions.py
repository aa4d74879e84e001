"""The timers of members: their sessions, and how long they may take for a step of a rebalance."""

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Generic, Protocol, TypeVar

from broker.groups.session_timer import SessionTimer
from broker.timers import Timer, Timers


class GroupWithSessions(Protocol):
    """A group by its id."""

    @property
    def group_id(self) -> str:
        """The id, which no other group has."""
        ...


class RevokingMember(Protocol):
    """A member that may have something to give up in time."""

    @property
    def member_id(self) -> str:
        """The id, which no other member of the group has."""
        ...

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long it may take for a step of a rebalance; -1 is unknown."""
        ...

    @property
    def must_revoke(self) -> bool:
        """Whether it has to give up something in time."""
        ...


G = TypeVar("G", bound=GroupWithSessions)

FenceMember = Callable[[G, str, int], None]
"""Called with group, member id and the time when a member has to be removed."""


class Step(Enum):
    """What a member has to do within its rebalance timeout.

    Members of the classic protocol join and sync, others revoke partitions or tasks.
    """

    REVOKE = auto()
    JOIN = auto()
    SYNC = auto()


class MemberSessions(Generic[G]):
    """The timers of all members of all groups of one type."""

    def __init__(self, timers: Timers, fence: FenceMember[G]) -> None:
        self._timers = timers
        self._fence = fence
        self._sessions: dict[tuple[str, str], SessionTimer] = {}
        self._steps: dict[tuple[str, str, Step], Timer] = {}

    def restart(self, group: G, member_id: str, timeout_ms: int, now_ms: int) -> None:
        """Begin the session of a member again."""
        session = self._sessions.get((group.group_id, member_id))
        if session is None:

            def expire(now_ms: int) -> None:
                self._sessions.pop((group.group_id, member_id), None)
                self._fence(group, member_id, now_ms)

            session = SessionTimer(self._timers, expire)
            self._sessions[group.group_id, member_id] = session
        session.restart(now_ms, timeout_ms)

    def watch_revocation(self, group: G, member: RevokingMember, now_ms: int) -> None:
        """Remove a member unless it revokes what it must within its rebalance timeout.

        Call it when the epoch of a member, or what it has to revoke, has changed.
        """
        self.complete(group, member.member_id, Step.REVOKE)
        if member.must_revoke:
            self.begin(group, member, Step.REVOKE, now_ms)

    def begin(self, group: G, member: RevokingMember, step: Step, now_ms: int) -> None:
        """Remove a member unless it completes a step within its rebalance timeout.

        A step that has begun before goes on.
        """
        key = (group.group_id, member.member_id, step)
        if key in self._steps:
            return

        def expire(now_ms: int) -> None:
            self._steps.pop(key, None)
            self._fence(group, member.member_id, now_ms)

        due_ms = self._timers.deadline_ms(now_ms, max(member.rebalance_timeout_ms, 0))
        self._steps[key] = self._timers.schedule(due_ms, expire)

    def complete(self, group: G, member_id: str, step: Step) -> None:
        """Stop the timer of a step, if it runs."""
        self._timers.cancel(self._steps.pop((group.group_id, member_id, step), None))

    def stop(self, group: G, member_ids: Iterable[str]) -> None:
        """Stop the timers of members that are gone."""
        for member_id in member_ids:
            session = self._sessions.pop((group.group_id, member_id), None)
            if session is not None:
                session.stop()
            for step in Step:
                self.complete(group, member_id, step)
