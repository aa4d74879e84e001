"""Groups as the admin port shows them."""

from broker.groups.requests import SyncRequest
from broker.groups.results import JoinResult
from broker.http_admin.group_views import AssignedView, GroupView, group_view, is_stable
from broker.http_admin.share_views import ShareSessionView
from broker.http_admin.state import Admin
from protocol.consumer_protocol import encode_assignment, encode_subscription
from tests.broker.cluster_builder import NOW_MS
from tests.broker.groups.consumer.driver import JOINED
from tests.broker.handlers.streams_requests import heartbeat
from tests.broker.handlers.streams_requests import make_cluster as streams_cluster
from tests.broker.http_admin.admin_server import admin_of, make_admin
from tests.broker.http_admin.group_members import consumer_heartbeat, join_request
from tests.broker.share_driver import ShareDriver, member_id


def shown(admin: Admin, group_id: str = "g") -> GroupView:
    view = group_view(admin, group_id)
    assert view is not None
    return view


def test_a_group_of_the_consumer_protocol_has_epochs_and_each_members_partitions() -> None:
    admin = make_admin()
    admin.cluster.create_topic("t", [(1,), (2,)], {})
    for member in ("m", "n"):
        consumer_heartbeat(admin, member, 0)

    group = shown(admin)

    assert (group.group_type, group.state, group.protocol_name) == (
        *("consumer", "Reconciling", "uniform"),
    )
    assert (group.group_epoch, group.assignment_epoch) == (JOINED + 1, JOINED + 1)
    first, second = group.members
    assert (first.member_id, first.member_epoch, first.state) == ("m", JOINED, "stable")
    assert (first.assigned, first.target) == (
        [AssignedView("t", [0, 1])],
        [AssignedView("t", [0])],
    )
    assert (second.state, second.assigned) == ("unreleased_partitions", [])
    assert second.target == [AssignedView("t", [1])]
    assert (second.protocol, second.subscribed_topics) == ("consumer", ["t"])
    assert not is_stable(admin.cluster, "g", None)


def test_a_member_of_a_streams_group_has_what_its_active_tasks_read() -> None:
    cluster = streams_cluster()
    admin = admin_of(cluster.cluster)
    heartbeat(cluster)
    heartbeat(cluster, member_id="n", process_id="q")

    group = shown(admin)

    assert (group.group_type, group.state, group.protocol_name) == (
        *("streams", "Reconciling", "sticky"),
    )
    assert (group.group_epoch, group.assignment_epoch) == (3, 3)
    first, second = group.members
    assert (first.assigned, first.target) == (
        [AssignedView("t", [0, 1])],
        [AssignedView("t", [0])],
    )
    assert (second.state, second.assigned) == ("unreleased_tasks", [])
    assert (second.protocol, second.subscribed_topics) == ("streams", ["t"])
    assert not is_stable(admin.cluster, "g", None)
    heartbeat(cluster, -1, member_id="n")
    heartbeat(cluster, 2)
    assert is_stable(admin.cluster, "g", 1)


def classic_admin() -> Admin:
    return make_admin(**{"group.initial.rebalance.delay.ms": "0"})


def join_classic(admin: Admin, protocol_type: str, metadata: bytes, assignment: bytes) -> None:
    """Make a classic group with one member stable."""
    groups, joined = admin.cluster.groups, list[JoinResult]()
    groups.join(
        join_request(protocol_type=protocol_type, metadata=metadata),
        joined.append,
        NOW_MS,
    )
    (result,) = joined
    groups.sync(
        SyncRequest(
            group_id="g",
            member_id=result.member_id,
            group_instance_id=None,
            generation_id=result.generation_id,
            protocol_type=None,
            protocol_name=None,
            assignments={result.member_id: assignment},
        ),
        lambda _result: None,
        NOW_MS,
    )


def test_members_of_a_classic_group_have_topics_and_partitions_while_it_is_stable() -> None:
    admin = classic_admin()
    join_classic(
        admin, "consumer", encode_subscription(["t", "a"]), encode_assignment({"t": [2, 0]})
    )

    group = shown(admin)

    (member,) = group.members
    assert (group.group_type, group.state, group.generation_id) == ("classic", "Stable", 1)
    assert (group.group_epoch, member.member_epoch, member.target) == (None, None, None)
    assert (member.subscribed_topics, member.assigned) == (["a", "t"], [AssignedView("t", [0, 2])])
    assert is_stable(admin.cluster, "g", 1)
    assert not is_stable(admin.cluster, "g", 2)


def test_bytes_of_members_that_are_no_consumers_are_not_interpreted() -> None:
    admin = classic_admin()
    join_classic(admin, "connect", encode_subscription(["t"]), encode_assignment({"t": [0]}))
    (member,) = shown(admin).members
    assert (member.subscribed_topics, member.assigned) == (None, None)

    admin = classic_admin()
    join_classic(admin, "consumer", b"?", b"?")
    (member,) = shown(admin).members
    assert (member.subscribed_topics, member.assigned) == (None, None)


def test_a_member_of_a_share_group_has_its_epoch_partitions_and_sessions() -> None:
    driver = ShareDriver(partition_count=2)
    admin = admin_of(driver.cluster)
    driver.join(1)
    driver.fetch(1, partitions=[0, 1])

    group = shown(admin)

    (member,) = group.members
    assert (group.group_type, group.protocol_name, group.state) == ("share", "simple", "Stable")
    assert (member.member_id, member.protocol) == (member_id(1), "share")
    assert member.client_id == "test-client"
    assert member.member_epoch == group.group_epoch == group.assignment_epoch
    assert member.assigned == member.target == [AssignedView("t", [0, 1])]
    assert member.sessions == [ShareSessionView(broker=1, epoch=1, partitions=2)]
    assert [view.partition for view in group.share_partitions] == [0, 1]


def test_there_is_no_view_of_a_group_that_does_not_exist() -> None:
    admin = make_admin()
    assert group_view(admin, "g") is None
    assert not is_stable(admin.cluster, "g", None)
