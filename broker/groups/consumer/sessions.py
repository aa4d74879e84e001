"""The timers of members: their sessions, and how long they may take to give up partitions."""

from collections.abc import Callable, Iterable

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import ConsumerMember
from broker.groups.session_timer import SessionTimer
from broker.timers import Timer, Timers

FenceMember = Callable[[ConsumerGroup, str, int], None]
"""Called with group, member id and the time when a member has to be removed."""


class MemberSessions:
    """The timers of all members of all groups of the consumer protocol."""

    def __init__(self, timers: Timers, fence: FenceMember) -> None:
        self._timers = timers
        self._fence = fence
        self._sessions: dict[tuple[str, str], SessionTimer] = {}
        self._revocations: dict[tuple[str, str], Timer] = {}

    def restart(self, group: ConsumerGroup, member_id: str, timeout_ms: int, now_ms: int) -> None:
        """Begin the session of a member again."""
        session = self._sessions.get((group.group_id, member_id))
        if session is None:

            def expire(now_ms: int) -> None:
                self._sessions.pop((group.group_id, member_id), None)
                self._fence(group, member_id, now_ms)

            session = SessionTimer(self._timers, expire)
            self._sessions[group.group_id, member_id] = session
        session.restart(now_ms, timeout_ms)

    def watch_revocation(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        """Remove a member unless it revokes its partitions within its rebalance timeout.

        Call it when the epoch or the partitions of a member have changed.
        """
        key = (group.group_id, member.member_id)
        self._timers.cancel(self._revocations.pop(key, None))
        if not member.partitions_pending_revocation:
            return

        def expire(now_ms: int) -> None:
            self._revocations.pop(key, None)
            self._fence(group, member.member_id, now_ms)

        due_ms = now_ms + max(member.rebalance_timeout_ms, 0)
        self._revocations[key] = self._timers.schedule(due_ms, expire)

    def stop(self, group: ConsumerGroup, member_ids: Iterable[str]) -> None:
        """Stop the timers of members that are gone."""
        for member_id in member_ids:
            key = (group.group_id, member_id)
            session = self._sessions.pop(key, None)
            if session is not None:
                session.stop()
            self._timers.cancel(self._revocations.pop(key, None))
