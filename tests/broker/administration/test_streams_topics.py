"""The creation of internal topics of streams groups."""

import pytest

from tests.broker.acl_cluster import AUTHORIZER, allow
from tests.broker.groups.group_cluster import GroupCluster
from tests.broker.handlers.streams_requests import (
    heartbeat,
    joined,
    make_cluster,
    store,
    subtopology,
)


def test_a_topic_that_cannot_be_created_is_tried_again_after_two_heartbeats() -> None:
    cluster = make_cluster()
    topology = [subtopology(state_changelog_topics=[store(replication_factor=9)])]
    epoch = joined(cluster, subtopologies=topology).member_epoch
    (status,) = heartbeat(cluster, epoch).status
    assert status.status_detail.startswith(
        "Internal topics are missing: store; Creation failed: store (Unable to replicate the"
        " partition 9 time(s):"
    )
    cluster.now_ms += 10_000
    (status,) = heartbeat(cluster, epoch).status
    assert status.status_detail == "Internal topics are missing: store"


def test_up_to_three_errors_are_shown() -> None:
    cluster = make_cluster()
    stores = [store(name=f"store{number}", replication_factor=9) for number in range(5)]
    epoch = joined(cluster, subtopologies=[subtopology(state_changelog_topics=stores)]).member_epoch
    (status,) = heartbeat(cluster, epoch).status
    assert status.status_detail.count("(Unable to replicate") == 3
    assert status.status_detail.endswith(" and 2 more.")


def acl_cluster(*rights: str) -> GroupCluster:
    cluster = make_cluster(**{name.replace(".", "_"): text for name, text in AUTHORIZER.items()})
    allow(cluster.cluster, "READ GROUP *", "DESCRIBE TOPIC *", *rights)
    return cluster


def status_of_stores(cluster: GroupCluster, *names: str) -> str:
    topology = [subtopology(state_changelog_topics=[store(name=name) for name in names])]
    epoch = joined(cluster, subtopologies=topology).member_epoch
    (status,) = heartbeat(cluster, epoch).status or [None]
    return "" if status is None else status.status_detail


def test_no_topic_is_created_if_the_client_may_not_create_one_of_them() -> None:
    cluster = acl_cluster("CREATE TOPIC store")
    assert status_of_stores(cluster, "store", "z", "b") == (
        "Internal topics are missing: b, store, z; Unauthorized to CREATE on topics b, z."
    )
    assert cluster.cluster.topics.get("store") is None


@pytest.mark.parametrize("rights", [["CREATE CLUSTER"], ["CREATE TOPIC store", "CREATE TOPIC z"]])
def test_create_on_the_cluster_or_on_every_topic_is_enough(rights: list[str]) -> None:
    cluster = acl_cluster(*rights)
    assert status_of_stores(cluster, "store", "z") == ""
    assert cluster.cluster.topics.get("store") is not None
    assert cluster.cluster.topics.get("z") is not None
