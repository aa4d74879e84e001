"""Groups and producers over the admin port."""

import pytest

from broker.cluster import failover
from broker.groups.consumer.requests import ConsumerHeartbeat
from broker.groups.requests import JoinRequest
from broker.groups.results import JoinResult
from broker.http_admin.groups import (
    AssignedView,
    CoordinatorBody,
    GroupPath,
    ProducersQuery,
    delete_group,
    get_group,
    list_groups,
    list_producers,
    put_coordinator,
)
from broker.http_admin.operation import Problem
from broker.http_admin.topics import NewTopicBody, create_topic
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.kafka_clients import commit, produce


def test_a_group_is_shown_with_its_offsets_and_lag() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    produce(admin, "a", 1)
    commit(admin, "g", "a", 0)
    commit(admin, "g", "gone", 7)
    (view,) = list_groups(admin)

    assert (view.group_id, view.state, view.members) == ("g", "Empty", [])
    assert view.coordinator in {1, 2, 3}
    assert [(offset.topic, offset.offset, offset.lag) for offset in view.offsets] == [
        ("a", 0, 1),
        ("gone", 7, None),
    ]
    assert get_group(admin, GroupPath("g")) == view


def test_a_group_can_be_deleted_once_it_has_no_members() -> None:
    admin = make_admin()
    commit(admin, "g", "a", 0)
    delete_group(admin, GroupPath("g"))
    with pytest.raises(Problem) as caught:
        delete_group(admin, GroupPath("g"))
    assert caught.value.status == 404

    joined: list[JoinResult] = []
    request = JoinRequest(
        group_id="g",
        member_id="",
        group_instance_id=None,
        client_id="app",
        client_host="/127.0.0.1",
        protocol_type="consumer",
        protocols={"range": b""},
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        must_know_id=False,
    )
    admin.cluster.groups.join(request, joined.append, NOW_MS)
    assert [member.client_id for member in get_group(admin, GroupPath("g")).members] == ["app"]
    with pytest.raises(Problem, match="has members") as caught:
        delete_group(admin, GroupPath("g"))
    assert caught.value.status == 409


def test_a_coordinator_is_moved_to_a_broker_that_is_up() -> None:
    admin = make_admin()
    commit(admin, "g", "a", 0)
    for node_id in (1, 2, 3):
        put_coordinator(admin, GroupPath("g"), CoordinatorBody(node_id))
        assert get_group(admin, GroupPath("g")).coordinator == node_id
    failover.stop_broker(admin.cluster, 1, NOW_MS)
    with pytest.raises(Problem, match="brokers/1/start"):
        put_coordinator(admin, GroupPath("g"), CoordinatorBody(1))
    with pytest.raises(Problem) as caught:
        put_coordinator(admin, GroupPath("g"), CoordinatorBody(9))
    assert caught.value.status == 404


def test_producer_state_is_counted_and_shown_by_partition() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    create_topic(admin, NewTopicBody("b"))
    for producer_id in (5, 6):
        produce(admin, "a", producer_id)
    produce(admin, "b", 5)
    view = list_producers(admin, ProducersQuery())

    assert view.count == 3
    assert view.bytes > 0
    assert [(partition.topic, partition.count) for partition in view.partitions] == [
        ("a", 2),
        ("b", 1),
    ]
    (first,) = list_producers(admin, ProducersQuery("a", 0, 1)).partitions[0].producers
    assert (first.producer_id, first.producer_epoch, first.last_sequence) == (5, 0, 0)
    assert list_producers(admin, ProducersQuery("a", 1)).count == 0
    with pytest.raises(Problem):
        list_producers(admin, ProducersQuery("nowhere"))


def test_a_group_of_the_consumer_protocol_has_epochs_and_each_members_partitions() -> None:
    admin = make_admin()
    admin.cluster.create_topic("t", [(1,), (2,)], {})
    for member_id in ("m", "n"):
        admin.cluster.groups.consumer_heartbeat(
            ConsumerHeartbeat(
                "g",
                member_id,
                0,
                rebalance_timeout_ms=1000,
                subscribed_topic_names=["t"],
                owned_partitions={},
            ),
            NOW_MS,
        )

    group = get_group(admin, GroupPath("g"))

    assert (group.group_type, group.state, group.protocol_name) == (
        *("consumer", "Reconciling", "uniform"),
    )
    assert (group.group_epoch, group.assignment_epoch) == (2, 2)
    first, second = group.members
    assert (first.member_id, first.member_epoch, first.state) == ("m", 1, "stable")
    assert (first.assigned, first.target) == (
        [AssignedView("t", [0, 1])],
        [AssignedView("t", [0])],
    )
    assert (second.state, second.assigned) == ("unreleased_partitions", [])
    assert second.target == [AssignedView("t", [1])]
