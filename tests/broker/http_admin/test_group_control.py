"""Control of groups over the admin port."""

import pytest

from broker.http_admin.group_control import (
    AssignedBody,
    AssignmentBody,
    MemberPath,
    fence_member,
    put_assignment,
    rebalance_group,
)
from broker.http_admin.groups import GroupPath, get_group
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import JOINED
from tests.broker.http_admin.admin_server import admin_of, make_admin
from tests.broker.http_admin.group_members import consumer_heartbeat, join_request
from tests.broker.http_admin.kafka_clients import commit
from tests.broker.share_driver import ShareDriver, member_id

GROUP = GroupPath("g")


@pytest.fixture
def admin() -> Admin:
    """A consumer group with the members m, which owns partition 0, and n, which owns 1."""
    admin = make_admin()
    admin.cluster.create_topic("t", [(1,), (2,)], {})
    consumer_heartbeat(admin, "m", 0)
    consumer_heartbeat(admin, "n", 0, instance_id="i")
    consumer_heartbeat(admin, "m", JOINED, owned=[0, 1])
    consumer_heartbeat(admin, "m", JOINED, owned=[0])
    consumer_heartbeat(admin, "n", JOINED + 1)
    assert owners(admin) == {"m": [0], "n": [1]}
    return admin


def owners(admin: Admin) -> dict[str, list[int]]:
    return {
        member.member_id: [index for entry in member.assigned or () for index in entry.partitions]
        for member in get_group(admin, GROUP).members
    }


def body(**members: list[int]) -> AssignmentBody:
    return AssignmentBody(
        {member: [AssignedBody("t", indexes)] for member, indexes in members.items()}
    )


def test_a_fenced_member_is_unknown_and_its_partitions_move(admin: Admin) -> None:
    fence_member(admin, MemberPath("g", "m"))
    assert consumer_heartbeat(admin, "m", JOINED + 1).error_code is ErrorCode.UNKNOWN_MEMBER_ID
    consumer_heartbeat(admin, "n", JOINED + 1, owned=[1])
    assert owners(admin) == {"n": [0, 1]}


def test_a_static_member_is_fenced_by_its_instance_id(admin: Admin) -> None:
    fence_member(admin, MemberPath("g", "i"))
    assert owners(admin) == {"m": [0]}


def test_a_member_of_a_share_group_is_fenced() -> None:
    driver = ShareDriver()
    admin = admin_of(driver.cluster)
    epoch = driver.join(1).member_epoch
    fence_member(admin, MemberPath("g", member_id(1)))
    assert driver.heartbeat(1, epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_to_fence_an_unknown_member_is_a_problem_that_names_the_members(admin: Admin) -> None:
    with pytest.raises(Problem, match="no member 'x'; it has m, n") as caught:
        fence_member(admin, MemberPath("g", "x"))
    assert caught.value.status == 404
    with pytest.raises(Problem, match="no group"):
        fence_member(admin, MemberPath("gone", "x"))


def test_a_rebalance_begins_an_epoch_and_nobody_loses_a_partition(admin: Admin) -> None:
    before = get_group(admin, GROUP).group_epoch
    assert before is not None
    rebalance_group(admin, GROUP)
    assert (get_group(admin, GROUP).state, get_group(admin, GROUP).group_epoch) == (
        *("Assigning", before + 1),
    )
    consumer_heartbeat(admin, "m", JOINED + 1, owned=[0])
    consumer_heartbeat(admin, "n", JOINED + 1, owned=[1])
    assert (get_group(admin, GROUP).state, owners(admin)) == ("Stable", {"m": [0], "n": [1]})


def test_a_rebalance_of_a_share_group_begins_an_epoch() -> None:
    driver = ShareDriver()
    admin = admin_of(driver.cluster)
    epoch = driver.join(1).member_epoch
    rebalance_group(admin, GROUP)
    assert driver.heartbeat(1, epoch).member_epoch == epoch + 1


def test_members_of_a_classic_group_have_to_join_again() -> None:
    admin = make_admin(**{"group.initial.rebalance.delay.ms": "1000"})
    join = join_request(timeout_ms=30_000)
    admin.cluster.groups.join(join, lambda _result: None, admin.now_ms())
    rebalance_group(admin, GROUP)  # one has begun already
    assert get_group(admin, GROUP).state == "PreparingRebalance"
    admin.cluster.timers.run_due(admin.now_ms() + 2_000)
    assert get_group(admin, GROUP).state == "CompletingRebalance"

    rebalance_group(admin, GROUP)

    (member,) = get_group(admin, GROUP).members
    assert get_group(admin, GROUP).state == "PreparingRebalance"
    groups, generation_id = admin.cluster.groups, get_group(admin, GROUP).generation_id
    assert generation_id is not None
    assert groups.heartbeat("g", member.member_id, None, generation_id, admin.now_ms()) is (
        ErrorCode.REBALANCE_IN_PROGRESS
    )


def test_a_group_without_members_does_not_rebalance() -> None:
    admin = make_admin()
    commit(admin, "g", "a", 0)
    with pytest.raises(Problem, match="no members"):
        rebalance_group(admin, GROUP)


def test_a_manual_assignment_moves_partitions_after_they_were_revoked(admin: Admin) -> None:
    put_assignment(admin, GROUP, body(m=[1], i=[0]))
    group = get_group(admin, GROUP)
    assert (group.is_assigned_manually, group.state) == (True, "Reconciling")

    consumer_heartbeat(admin, "m", JOINED + 1, owned=[0])
    consumer_heartbeat(admin, "n", JOINED + 1, owned=[1])
    assert owners(admin) == {"m": [], "n": []}
    consumer_heartbeat(admin, "m", JOINED + 1)
    consumer_heartbeat(admin, "n", JOINED + 1)
    consumer_heartbeat(admin, "m", JOINED + 2)
    assert owners(admin) == {"m": [1], "n": [0]}
    assert get_group(admin, GROUP).state == "Stable"


def test_members_that_a_manual_assignment_does_not_name_get_nothing(admin: Admin) -> None:
    put_assignment(admin, GROUP, body(m=[0]))
    consumer_heartbeat(admin, "m", JOINED + 1, owned=[0])
    consumer_heartbeat(admin, "n", JOINED + 1, owned=[1])
    consumer_heartbeat(admin, "n", JOINED + 1)
    assert (owners(admin), get_group(admin, GROUP).state) == ({"m": [0], "n": []}, "Stable")


@pytest.mark.parametrize(
    "event", ["a member leaves", "a topic changes", "a rebalance is asked for"]
)
def test_the_assignor_assigns_again_in_the_next_epoch(admin: Admin, event: str) -> None:
    put_assignment(admin, GROUP, body(m=[0]))
    if event == "a member leaves":
        fence_member(admin, MemberPath("g", "n"))
    elif event == "a topic changes":
        topic = admin.cluster.topics.get("t")
        assert topic is not None
        admin.cluster.add_partitions(topic, [(1,)])
    else:
        rebalance_group(admin, GROUP)
    consumer_heartbeat(admin, "m", JOINED + 1, owned=[0])

    group = get_group(admin, GROUP)
    targeted = [entry for member in group.members for entry in member.target or ()]
    assert not group.is_assigned_manually
    assert sum(len(entry.partitions) for entry in targeted) == (
        3 if event == "a topic changes" else 2
    )


@pytest.mark.parametrize(
    ("invalid", "detail", "status"),
    [
        (body(x=[0]), "no member 'x'; it has m, n", 404),
        (body(m=[0, 1], n=[1]), "both have partition 1 of topic 't'", 409),
        (body(n=[0], i=[1]), "member 'n' occurs twice", 422),
        (body(m=[2]), "partitions 0 to 1, not 2", 404),
        (AssignmentBody({"m": [AssignedBody("other", [0])]}), "does not subscribe to topic", 409),
        (AssignmentBody({"m": [AssignedBody("gone", [0])]}), "no topic 'gone'", 404),
    ],
)
def test_an_invalid_assignment_is_refused_and_changes_nothing(
    admin: Admin, invalid: AssignmentBody, detail: str, status: int
) -> None:
    admin.cluster.create_topic("other", [(1,)], {})
    before = get_group(admin, GROUP)
    with pytest.raises(Problem, match=detail) as caught:
        put_assignment(admin, GROUP, invalid)
    assert caught.value.status == status
    assert get_group(admin, GROUP) == before


def test_only_consumer_groups_have_an_assignment_that_can_be_set() -> None:
    admin = make_admin()
    commit(admin, "g", "a", 0)
    with pytest.raises(Problem, match="is a classic group: its leader assigns") as caught:
        put_assignment(admin, GROUP, AssignmentBody({}))
    assert caught.value.status == 409
    driver = ShareDriver()
    driver.join(1)
    with pytest.raises(Problem, match="is a share group"):
        put_assignment(admin_of(driver.cluster), GROUP, AssignmentBody({}))
