"""Voters, observers and the checks of their changes."""

import pytest

from broker.addresses import Address
from broker.administration.quorum import (
    check_cluster_id,
    controller_listener_name,
    endpoints_text,
    metadata_log_end_offset,
    observer_ids,
    voter_ids,
)
from broker.cluster import failover
from broker.cluster.broker_membership import add_broker, new_broker
from broker.cluster.cluster import Cluster
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import CLUSTER_ID, NOW_MS, make_cluster


def test_brokers_of_the_start_vote_and_added_ones_observe() -> None:
    cluster = make_cluster(3)
    add_broker(cluster, new_broker(cluster), NOW_MS)
    assert (voter_ids(cluster), observer_ids(cluster)) == ([1, 2, 3], [4])


def test_an_added_broker_that_becomes_the_controller_is_a_voter() -> None:
    cluster = make_cluster(1)
    add_broker(cluster, new_broker(cluster), NOW_MS)
    failover.stop_broker(cluster, 1, NOW_MS)
    assert cluster.controller_id == 2
    assert (voter_ids(cluster), observer_ids(cluster)) == ([1, 2], [])


@pytest.mark.parametrize(
    ("voters", "expected"),
    [
        ("1@a:9093,3@b:9093", ([1, 3], [2])),
        ("2@a:9093", ([1, 2], [3])),  # the controller is one, too
        ("100@a:9093,101@a:9093", ([1, 2, 3], [])),
        ("x", ([1, 2, 3], [])),
    ],
)
def test_voters_may_be_named(voters: str, expected: tuple[list[int], list[int]]) -> None:
    cluster = make_cluster(3, **{"controller.quorum.voters": voters})
    assert (voter_ids(cluster), observer_ids(cluster)) == expected


def test_the_metadata_log_grows_by_two_records_per_second() -> None:
    assert grown_in_10_s(make_cluster(1)) == 20


@pytest.mark.parametrize(("interval_ms", "grown"), [("100", 100), ("10000", 1), ("0", 0)])
def test_the_interval_of_the_records_is_a_key(interval_ms: str, grown: int) -> None:
    cluster = make_cluster(1, **{"metadata.max.idle.interval.ms": interval_ms})
    assert grown_in_10_s(cluster) == grown


def grown_in_10_s(cluster: Cluster) -> int:
    ends = [metadata_log_end_offset(cluster, NOW_MS + later_ms) for later_ms in (0, 10_000)]
    return ends[1] - ends[0]


def test_the_id_of_another_cluster_is_refused() -> None:
    cluster = make_cluster(1)
    assert check_cluster_id(cluster, None) is None
    assert check_cluster_id(cluster, CLUSTER_ID) is None
    refusal = check_cluster_id(cluster, "other")
    assert refusal is not None
    assert refusal.error_code is ErrorCode.INCONSISTENT_CLUSTER_ID
    expected = f'The given id "other" doesn\'t match the cluster id "{CLUSTER_ID}"'
    assert refusal.error_message == expected


def test_endpoints_are_shown_as_kafka_shows_them() -> None:
    assert endpoints_text([]) == "Endpoints(endpoints={})"
    text = endpoints_text([("x", Address("localhost", 9))])
    assert text == "Endpoints(endpoints={ListenerName(X)=localhost/<unresolved>:9})"


def test_the_name_of_the_controllers_listener_is_configured() -> None:
    assert controller_listener_name(make_cluster(1)) == "CONTROLLER"
    configured = make_cluster(1, **{"controller.listener.names": "RAFT"})
    assert controller_listener_name(configured) == "RAFT"
