from typing import Any

import pytest

from broker.authorization.acl import Acl
from broker.cluster.cluster import Cluster
from broker.responses import Close
from protocol import messages
from protocol.acls import AclOperation, PatternType, ResourceType
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import ANY_FILTER, acl, acl_cluster, acl_of, authorizer_of
from tests.broker.cluster_builder import call, make_cluster


def describe(cluster: Cluster, version: int, **fields: Any) -> Any:
    request = messages.DescribeAclsRequest(version=version, **{**ANY_FILTER, **fields})
    return call(cluster, request, version)


def described(cluster: Cluster, version: int = 3, **fields: Any) -> list[Acl]:
    response = describe(cluster, version, **fields)
    assert (response.error_code, response.error_message) == (0, "")
    patterns = [(r.resource_type, r.resource_name, r.pattern_type) for r in response.resources]
    assert len(patterns) == len(set(patterns))
    return [acl_of(resource, rule) for resource in response.resources for rule in resource.acls]


ORDERS = acl()
ORDERS_WRITE = acl(operation=AclOperation.WRITE, principal="User:bob")
PREFIX = acl("ord", pattern_type=PatternType.PREFIXED)
GROUP = acl(resource_type=ResourceType.GROUP, host="10.0.0.0/8")
ACLS = [ORDERS, GROUP, PREFIX, ORDERS_WRITE]


def cluster_with_acls() -> Cluster:
    cluster = acl_cluster()
    for rule in ACLS:
        authorizer_of(cluster).add(rule)
    return cluster


@pytest.mark.parametrize("version", [1, 2, 3])
def test_security_is_disabled_without_an_authorizer(version: int) -> None:
    response = describe(make_cluster(1), version)
    assert response.error_code == ErrorCode.SECURITY_DISABLED
    assert response.error_message == "No Authorizer is configured on the broker"
    assert response.resources == []


@pytest.mark.parametrize("field", ["resource_type_filter", "operation", "permission_type"])
def test_an_unknown_type_closes_the_connection(field: str) -> None:
    assert isinstance(describe(make_cluster(1), 3, **{field: 0}), Close)
    assert isinstance(describe(acl_cluster(super_users=""), 3, **{field: 0}), Close)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rules_come_by_resource_pattern(version: int) -> None:
    assert described(cluster_with_acls(), version) == [ORDERS, ORDERS_WRITE, GROUP, PREFIX]


@pytest.mark.parametrize(
    ("fields", "acls"),
    [
        ({"resource_type_filter": 3}, [GROUP]),
        ({"resource_name_filter": "orders"}, [ORDERS, ORDERS_WRITE, GROUP]),
        (
            {"resource_name_filter": "orders", "resource_type_filter": 2, "pattern_type_filter": 2},
            [ORDERS, ORDERS_WRITE, PREFIX],
        ),
        ({"pattern_type_filter": 4}, [PREFIX]),
        ({"principal_filter": "User:bob"}, [ORDERS_WRITE]),
        ({"host_filter": "10.0.0.0/8"}, [GROUP]),
        ({"host_filter": "10.0.0.1"}, []),
        ({"operation": 4}, [ORDERS_WRITE]),
        ({"permission_type": 2}, []),
        ({"operation": 99}, []),
        ({"pattern_type_filter": 99}, []),
    ],
)
def test_a_filter_chooses_rules(fields: dict[str, Any], acls: list[Acl]) -> None:
    assert described(cluster_with_acls(), **fields) == acls


def test_describe_on_the_cluster_is_needed() -> None:
    cluster = acl_cluster(super_users="User:admin")
    response = describe(cluster, 3)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert response.error_message == "Request DescribeAcls needs DESCRIBE permission."
    rule = acl("kafka-cluster", AclOperation.DESCRIBE, resource_type=ResourceType.CLUSTER)
    authorizer_of(cluster).add(rule)
    assert described(cluster) == [rule]
