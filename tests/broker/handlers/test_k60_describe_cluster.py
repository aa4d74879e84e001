from typing import Any

import pytest

from broker.administration.authorized_operations import CLUSTER_OPERATIONS
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.acls import AclOperation
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import make_acl_cluster
from tests.broker.cluster_builder import CLUSTER_ID, NOW_MS, call, make_cluster

VERSIONS = range(3)


def describe(cluster: Cluster, version: int = 2, **fields: Any) -> Any:
    return call(cluster, messages.DescribeClusterRequest(version=version, **fields), version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_returns_the_brokers_that_are_up(version: int) -> None:
    cluster = make_cluster()
    cluster.brokers[1].rack = "r1"
    failover.stop_broker(cluster, 2, NOW_MS)

    response = describe(cluster, version)

    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    assert (response.cluster_id, response.controller_id) == (CLUSTER_ID, cluster.controller_id)
    assert [(b.broker_id, b.host, b.port, b.rack) for b in response.brokers] == [
        (1, "localhost", 9092, "r1"),
        (3, "localhost", 9094, None),
    ]
    assert response.authorized_operations is None


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_returns_authorized_operations_if_requested(version: int) -> None:
    response = describe(make_cluster(), version, include_cluster_authorized_operations=True)

    assert response.authorized_operations == CLUSTER_OPERATIONS


def test_version_2_returns_brokers_that_are_down_if_requested() -> None:
    cluster = make_cluster()
    failover.stop_broker(cluster, 2, NOW_MS)

    response = describe(cluster, include_fenced_brokers=True)

    brokers = [(broker.broker_id, broker.is_fenced) for broker in response.brokers]
    assert brokers == [(1, False), (2, True), (3, False)]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("endpoint_type", "error_code", "words"),
    [
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE, "endpoint of type CONTROLLER"),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 3"),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 0"),
    ],
)
def test_a_broker_listener_describes_only_brokers(
    version: int, endpoint_type: int, error_code: ErrorCode, words: str
) -> None:
    response = describe(make_cluster(), version, endpoint_type=endpoint_type)

    assert response.error_code == error_code
    assert words in response.error_message
    assert (response.brokers, response.controller_id) == ([], -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_authorized_operations_are_those_that_the_client_may_do(version: int) -> None:
    cluster = make_acl_cluster("ALTER CLUSTER", "CREATE CLUSTER")
    response = describe(cluster, version, include_cluster_authorized_operations=True)
    assert response.authorized_operations == {
        AclOperation.ALTER,
        AclOperation.CREATE,
        AclOperation.DESCRIBE,
    }
    assert len(response.brokers) == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_there_are_none_without_describe_but_brokers_are_listed(version: int) -> None:
    cluster = make_acl_cluster("CREATE CLUSTER")
    response = describe(cluster, version, include_cluster_authorized_operations=True)
    assert (response.error_code, response.authorized_operations) == (ErrorCode.NONE, set())
    assert len(response.brokers) == 3
    assert describe(cluster, version).authorized_operations is None
