from typing import Any

import pytest

from broker.administration import acls as administration
from broker.authorization.acl import Acl
from broker.cluster.cluster import Cluster
from broker.responses import Close
from protocol import messages
from protocol.acls import AclOperation, PatternType, ResourceType
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import ANY_FILTER, acl, acl_cluster, acl_of, authorizer_of
from tests.broker.cluster_builder import call, make_cluster

_Request = messages.DeleteAclsRequest


def acl_filter(**fields: Any) -> _Request.DeleteAclsFilter:
    return _Request.DeleteAclsFilter(**{**ANY_FILTER, **fields})


def delete(cluster: Cluster, version: int, *filters: _Request.DeleteAclsFilter) -> Any:
    return call(cluster, _Request(version=version, filters=list(filters)), version)


def deleted(response: Any) -> list[list[Acl]]:
    found = []
    for result in response.filter_results:
        assert (result.error_code, result.error_message) == (0, None)
        assert {(rule.error_code, rule.error_message) for rule in result.matching_acls} <= {
            (0, None)
        }
        found.append([acl_of(rule, rule) for rule in result.matching_acls])
    return found


def errors(response: Any) -> list[tuple[int, str | None]]:
    return [(result.error_code, result.error_message) for result in response.filter_results]


ORDERS, PREFIX, GROUP = (
    acl(),
    acl("ord", pattern_type=PatternType.PREFIXED),
    acl(resource_type=ResourceType.GROUP),
)


def cluster_with_acls(super_users: str = "User:ANONYMOUS") -> Cluster:
    cluster = acl_cluster(super_users=super_users)
    for rule in (ORDERS, PREFIX, GROUP):
        authorizer_of(cluster).add(rule)
    return cluster


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_security_is_disabled_for_each_one_without_an_authorizer(version: int, count: int) -> None:
    response = delete(make_cluster(1), version, *[acl_filter()] * count)
    assert (
        errors(response) == [(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")] * count
    )
    assert all(result.matching_acls == [] for result in response.filter_results)


def test_an_unknown_operation_closes_the_connection() -> None:
    for cluster in (make_cluster(1), cluster_with_acls()):
        assert isinstance(delete(cluster, 3, acl_filter(), acl_filter(operation=0)), Close)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rules_are_deleted_and_returned(version: int) -> None:
    cluster = cluster_with_acls()
    response = delete(cluster, version, acl_filter(resource_type_filter=2))
    assert deleted(response) == [[ORDERS, PREFIX]]
    assert authorizer_of(cluster).acls() == [GROUP]
    assert deleted(delete(cluster, version, acl_filter(resource_type_filter=2))) == [[]]


def test_a_rule_of_several_filters_is_in_the_result_of_each() -> None:
    cluster = cluster_with_acls()
    by_name = acl_filter(resource_name_filter="orders", pattern_type_filter=2)
    response = delete(cluster, 3, by_name, acl_filter(pattern_type_filter=4), by_name)
    every = [ORDERS, PREFIX, GROUP]
    assert deleted(response) == [every, [PREFIX], every]
    assert authorizer_of(cluster).acls() == []


def test_a_filter_that_is_refused_does_not_stop_the_others() -> None:
    cluster = cluster_with_acls()
    response = delete(
        cluster,
        3,
        acl_filter(resource_type_filter=99),
        acl_filter(pattern_type_filter=99),
        acl_filter(operation=99),
        acl_filter(permission_type=99),
        acl_filter(resource_type_filter=3),
    )
    assert errors(response) == [
        *[(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")] * 2,
        *[(ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")] * 2,
        (0, None),
    ]
    assert authorizer_of(cluster).acls() == [ORDERS, PREFIX]


@pytest.mark.parametrize(("limit", "count"), [("CHANGES_MAX", 1), ("MATCHES_MAX", 5)])
def test_a_bounded_number_of_rules_is_deleted(
    monkeypatch: pytest.MonkeyPatch, limit: str, count: int
) -> None:
    cluster = cluster_with_acls()
    with monkeypatch.context() as patch:
        patch.setattr(administration, limit, 2)
        response = delete(cluster, 3, *[acl_filter(resource_type_filter=3)] * count, acl_filter())
        assert errors(response) == [
            (
                ErrorCode.INVALID_REQUEST,
                "Cannot remove more than 10000 acls in a single delete operation.",
            )
        ] * (count + 1)
        assert len(authorizer_of(cluster).acls()) == 3
    assert deleted(delete(cluster, 3, acl_filter())) == [[ORDERS, PREFIX, GROUP]]


def test_alter_on_the_cluster_is_needed() -> None:
    cluster = cluster_with_acls(super_users="User:admin")
    denied = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Request DeleteAcls needs ALTER permission.")
    assert errors(delete(cluster, 3, acl_filter(), acl_filter())) == [denied] * 2
    rule = acl("kafka-cluster", AclOperation.ALTER, resource_type=ResourceType.CLUSTER)
    authorizer_of(cluster).add(rule)
    assert deleted(delete(cluster, 3, acl_filter())) == [[ORDERS, PREFIX, GROUP, rule]]
