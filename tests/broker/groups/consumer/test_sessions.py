"""The timers of members."""

from dataclasses import replace
from uuid import UUID

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import ConsumerMember
from broker.groups.consumer.sessions import MemberSessions
from broker.timers import Timers

REVOKING = ConsumerMember(
    "m", rebalance_timeout_ms=100, partitions_pending_revocation={UUID(int=1): frozenset({0})}
)


class Watched:
    """Sessions of one group, and the members that were fenced with the time."""

    def __init__(self) -> None:
        self.timers = Timers()
        self.group = ConsumerGroup("g")
        self.fenced: list[tuple[str, int]] = []
        self.sessions = MemberSessions[ConsumerGroup](
            self.timers, lambda _group, member_id, now_ms: self.fenced.append((member_id, now_ms))
        )


def test_a_member_is_fenced_when_its_last_session_is_over() -> None:
    watched = Watched()
    watched.sessions.restart(watched.group, "m", 100, 0)
    watched.sessions.restart(watched.group, "m", 100, 50)
    watched.timers.run_due(149)
    assert watched.fenced == []
    watched.timers.run_due(150)
    assert watched.fenced == [("m", 150)]


def test_a_member_has_its_rebalance_timeout_to_revoke_partitions() -> None:
    watched = Watched()
    watched.sessions.watch_revocation(watched.group, REVOKING, 0)
    watched.timers.run_due(100)
    assert watched.fenced == [("m", 100)]


def test_a_member_that_has_revoked_is_no_longer_watched() -> None:
    watched = Watched()
    watched.sessions.watch_revocation(watched.group, REVOKING, 0)
    revoked = replace(REVOKING, partitions_pending_revocation={})
    watched.sessions.watch_revocation(watched.group, revoked, 50)
    watched.timers.run_due(1000)
    assert watched.fenced == []


def test_members_that_are_gone_have_no_timers() -> None:
    watched = Watched()
    watched.sessions.restart(watched.group, "m", 100, 0)
    watched.sessions.watch_revocation(watched.group, REVOKING, 0)
    watched.sessions.stop(watched.group, ["m", "never seen"])
    assert len(watched.timers) == 0
