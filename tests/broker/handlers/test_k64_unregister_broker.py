"""UnregisterBroker: fenced brokers, brokers that are up, and the last one."""

from typing import Any

import pytest

from broker.cluster import failover
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster


def unregister(cluster: Cluster, broker_id: int) -> Any:
    request = messages.UnregisterBrokerRequest(version=0, broker_id=broker_id)
    return call(cluster, request, 0)


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_broker_leaves_the_metadata_and_its_partitions_get_other_leaders(
    *, is_stopped: bool
) -> None:
    cluster = make_cluster(3)
    partition = cluster.create_topic("a", [(2, 3)], {}).partitions[0]
    if is_stopped:
        failover.stop_broker(cluster, 2, NOW_MS)
    response = unregister(cluster, 2)

    assert (response.error_code, response.error_message) == (ErrorCode.NONE, "")
    assert list(cluster.brokers) == [1, 3]
    assert (partition.leader_id, partition.replicas, partition.isr) == (3, (2, 3), (3,))
    availability = Availability.DOWN if is_stopped else Availability.UP
    assert cluster.decommissioned[2].availability is availability
    assert unregister(cluster, 2).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_broker_that_is_unregistered_continues_to_answer() -> None:
    cluster = make_cluster(2)
    unregister(cluster, 2)
    request = messages.MetadataRequest(version=9, topics=[])
    response = call(cluster, request, 9, broker_id=2)
    assert [broker.node_id for broker in response.brokers] == [1]


def test_an_unknown_broker_is_refused() -> None:
    response = unregister(make_cluster(1), 7)
    assert response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert response.error_message == "Broker ID 7 is not currently registered"
    older = unregister(make_cluster(1, **{"broker.api.versions": "4.0"}), 7)
    assert (older.error_code, older.error_message) == (ErrorCode.BROKER_ID_NOT_REGISTERED, "")


def test_the_last_broker_is_fenced() -> None:
    cluster = make_cluster(1)
    assert unregister(cluster, 1).error_code == ErrorCode.NONE
    assert (list(cluster.brokers), cluster.alive_broker_ids()) == ([1], [])
    failover.start_broker(cluster, 1, NOW_MS)
    assert cluster.alive_broker_ids() == [1]
