"""Members, leaders and votes, without states and time."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from broker.groups.members import Member, Membership
from broker.groups.results import JoinedMember
from broker.groups.session_timer import SessionTimer
from broker.timers import Timers
from protocol.errors import ErrorCode


def member(
    member_id: str, protocols: Mapping[str, bytes] | None = None, instance: str | None = None
) -> Member:
    return Member(
        member_id=member_id,
        group_instance_id=instance,
        client_id="c",
        client_host="/h",
        protocols={"range": b""} if protocols is None else protocols,
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        session=SessionTimer(Timers(), lambda _now_ms: None),
    )


def with_members(*members: Member) -> Membership:
    membership = Membership()
    for added in members:
        membership.add(added)
    return membership


def test_the_first_member_leads_until_it_is_removed() -> None:
    first, second = member("a"), member("b")
    membership = with_members(first, second)
    assert membership.leader_id == "a"

    membership.remove(first)
    assert membership.leader_id == "b"
    membership.remove(second)
    assert with_members().leader_id is None
    assert not list(membership)


def test_a_leader_that_joined_stays_and_one_that_did_not_is_replaced() -> None:
    first, second = member("a"), member("b")
    membership = with_members(first, second)
    assert membership.elect_joined_leader() is False

    membership.await_join(second, lambda _result: None)
    assert (membership.elect_joined_leader(), membership.leader_id) == (True, "b")
    membership.await_join(first, lambda _result: None)
    assert (membership.elect_joined_leader(), membership.leader_id) == (True, "b")
    assert Membership().elect_joined_leader() is False


def test_a_renamed_static_member_stays_leader_and_keeps_its_instance_id() -> None:
    static = member("a", instance="i")
    membership = with_members(static)

    membership.rename_static(static, "b")

    assert membership.check("b", "i") is ErrorCode.NONE
    assert membership.check("a", "i") is ErrorCode.FENCED_INSTANCE_ID
    assert membership.check("a", None) is ErrorCode.UNKNOWN_MEMBER_ID
    assert (membership.leader_id, membership.static_id("i")) == ("b", "b")


def test_metadata_for_the_leader_is_that_of_the_chosen_protocol() -> None:
    membership = with_members(member("a", {"r": b"1", "s": b"2"}, "i"), member("b", {"s": b"3"}))

    assert membership.select_protocol() == "s"
    assert membership.with_metadata("s") == (
        JoinedMember("a", "i", b"2"),
        JoinedMember("b", None, b"3"),
    )


def test_with_equal_votes_the_protocol_of_the_earliest_member_wins() -> None:
    membership = with_members(member("a", {"r": b"", "s": b""}), member("b", {"s": b"", "r": b""}))
    assert membership.select_protocol() == "r"


_PROTOCOLS = st.lists(st.sampled_from("rstu"), unique=True, min_size=1)


@given(st.lists(st.tuples(_PROTOCOLS, st.booleans()), min_size=1))
def test_the_chosen_protocol_is_one_that_every_member_supports(
    plan: list[tuple[list[str], bool]],
) -> None:
    """Only members that share a protocol with all others join; some of them leave again."""
    membership = Membership()
    for number, (names, leaves) in enumerate(plan):
        if membership.share_one_of(names):
            newcomer = member(str(number), dict.fromkeys(names, b""))
            membership.add(newcomer)
            if leaves and len(membership) > 1:
                membership.remove(newcomer)

    chosen = membership.select_protocol()

    assert all(chosen in joined.protocols for joined in membership)
    assert membership.share_one_of([chosen])
    common = set.intersection(*(set(joined.protocols) for joined in membership))
    assert {name for name in "rstu" if membership.share_one_of([name])} == common
