"""Groups over the admin port: list, delete, move, wait."""

import asyncio

import pytest

from broker.cluster import failover
from broker.groups.results import JoinResult
from broker.http_admin.groups import (
    CoordinatorBody,
    GroupPath,
    StableQuery,
    delete_group,
    get_group,
    list_groups,
    put_coordinator,
    wait_for_stable_group,
)
from broker.http_admin.operation import Problem
from broker.http_admin.topics import NewTopicBody, create_topic
from tests.broker.cluster_builder import NOW_MS
from tests.broker.groups.consumer.driver import JOINED
from tests.broker.http_admin.admin_server import admin_of, make_admin
from tests.broker.http_admin.group_members import consumer_heartbeat, join_request
from tests.broker.http_admin.kafka_clients import commit, produce
from tests.broker.share_driver import ShareDriver


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
    request = join_request()
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


def test_a_share_group_is_deleted_with_its_state_once_it_has_no_members() -> None:
    driver = ShareDriver()
    admin = admin_of(driver.cluster)
    driver.join(1)
    assert [group.group_type for group in list_groups(admin)] == ["share"]
    with pytest.raises(Problem, match="has members"):
        delete_group(admin, GroupPath("g"))

    driver.heartbeat(1, -1)
    assert driver.cluster.share.states.keys()
    delete_group(admin, GroupPath("g"))

    assert list_groups(admin) == []
    assert driver.cluster.share.states.keys() == []


async def test_a_request_waits_until_every_member_has_its_partitions() -> None:
    admin = make_admin()
    admin.cluster.create_topic("t", [(1,), (2,)], {})
    path = GroupPath("g")
    assert await wait_for_stable_group(admin, path, StableQuery(timeout_ms=0)) is None
    consumer_heartbeat(admin, "m", 0)
    alone = await wait_for_stable_group(admin, path, StableQuery(timeout_ms=0))
    assert alone is not None
    consumer_heartbeat(admin, "n", 0)
    assert await wait_for_stable_group(admin, path, StableQuery(timeout_ms=0)) is None

    waiting = asyncio.create_task(wait_for_stable_group(admin, path, StableQuery(2, 10_000)))
    await asyncio.sleep(0)
    consumer_heartbeat(admin, "m", JOINED, owned=[0, 1])
    consumer_heartbeat(admin, "m", JOINED, owned=[0])
    assert not waiting.done()
    consumer_heartbeat(admin, "n", JOINED + 1, owned=[])
    group = await waiting

    assert group is not None
    assert group.state == "Stable"
    assert [member.member_epoch for member in group.members] == [JOINED + 1] * 2
    assert await wait_for_stable_group(admin, path, StableQuery(3, 0)) is None


async def test_a_share_group_is_stable_when_its_members_have_all_partitions() -> None:
    driver = ShareDriver(partition_count=2)
    admin = admin_of(driver.cluster)
    driver.heartbeat(1, 0, ["t"])
    path, query = GroupPath("g"), StableQuery(timeout_ms=0)
    assert await wait_for_stable_group(admin, path, query) is None
    driver.heartbeat(1, 2)
    assert await wait_for_stable_group(admin, path, query) is not None
