from typing import Any

import pytest

from broker.administration import acls as administration
from broker.cluster.cluster import Cluster
from broker.responses import Close
from protocol import messages
from protocol.acls import AclOperation, ResourceType
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import acl, acl_cluster, authorizer_of
from tests.broker.cluster_builder import call, make_cluster

_Request = messages.CreateAclsRequest


def creation(**fields: Any) -> _Request.AclCreation:
    return _Request.AclCreation(
        **{
            "resource_type": 2,
            "resource_name": "topic",
            "resource_pattern_type": 3,
            "principal": "User:alice",
            "host": "*",
            "operation": 3,
            "permission_type": 3,
            **fields,
        }
    )


def create(cluster: Cluster, version: int, *creations: _Request.AclCreation) -> Any:
    return call(cluster, _Request(version=version, creations=list(creations)), version)


def errors(response: Any) -> list[tuple[int, str | None]]:
    return [(result.error_code, result.error_message) for result in response.results]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_security_is_disabled_for_each_one_without_an_authorizer(version: int, count: int) -> None:
    assert (
        errors(create(make_cluster(1), version, *[creation()] * count))
        == [(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")] * count
    )


def test_an_unknown_permission_type_closes_the_connection() -> None:
    for cluster in (make_cluster(1), acl_cluster()):
        response = create(cluster, 3, creation(), creation(permission_type=0))
        assert isinstance(response, Close)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rules_are_created_once_and_apply_at_once(version: int) -> None:
    cluster = acl_cluster()
    authorizer, generation = authorizer_of(cluster), cluster.generation
    expected = acl("topic", principal="User:alice")
    for _ in range(2):
        assert errors(create(cluster, version, creation(), creation())) == [(0, "")] * 2
        assert authorizer.acls() == [expected]
    decision = authorizer.authorize(
        "User:alice", "h", AclOperation.READ, ResourceType.TOPIC, "topic"
    )
    assert decision == (True, expected)
    assert cluster.generation == generation + 1


INVALID = ErrorCode.INVALID_REQUEST
NO_TYPE = (
    "Could not parse principal from `alice` (no colon is present separating the principal type"
    " from the principal name)"
)
CIDR = "Invalid CIDR notation '10.0.0.0/40': Value [40] not in range [0,32]"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"resource_type": 4},
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": -1}, "Invalid patternType UNKNOWN"),
        ({"operation": 16}, "Invalid operation UNKNOWN"),
        ({"permission_type": 9}, "Invalid permissionType UNKNOWN"),
        (
            {"principal": "alice"},
            NO_TYPE,
        ),
        ({"host": ""}, "Host pattern cannot be null or empty"),
        ({"host": "10.0.0.0/40"}, CIDR),
    ],
)
def test_a_rule_that_kafka_refuses_is_refused_alone(fields: dict[str, Any], message: str) -> None:
    cluster = acl_cluster()
    response = create(cluster, 3, creation(**fields), creation())
    assert errors(response) == [(INVALID, message), (0, "")]
    assert authorizer_of(cluster).acls() == [acl("topic", principal="User:alice")]


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": 1},
        {"resource_pattern_type": 1},
        {"resource_pattern_type": 2},
        {"operation": 1},
        {"permission_type": 1},
    ],
)
def test_a_rule_with_what_only_filters_have_fails_the_request(fields: dict[str, int]) -> None:
    cluster = acl_cluster()
    response = create(cluster, 3, creation(), creation(**fields), creation(host=""))
    assert errors(response) == [(ErrorCode.UNKNOWN_SERVER_ERROR, None)] * 3
    assert authorizer_of(cluster).acls() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": 4, "resource_name": "kafka-cluster"},
        {"resource_type": 7, "resource_name": "User:a", "operation": 13},
        {"resource_pattern_type": 4},
        {"operation": 2},
        {"operation": 15, "resource_type": 5},
        {"permission_type": 2},
        {"principal": "User:CN=a,O=b"},
        {"principal": ":"},
        {"host": "not an address"},
        {"host": "2001:db8::/32"},
        {"resource_name": "a name that no topic has!"},
    ],
)
def test_what_kafka_takes_is_taken(fields: dict[str, Any]) -> None:
    cluster = acl_cluster()
    assert errors(create(cluster, 3, creation(**fields))) == [(0, "")]
    assert len(authorizer_of(cluster).acls()) == 1


def test_ranges_of_addresses_need_a_metadata_version() -> None:
    cluster = acl_cluster(**{"broker.api.versions": "4.3"})
    assert errors(create(cluster, 3, creation(host="10.0.0.0/8"))) == [
        (
            ErrorCode.UNSUPPORTED_VERSION,
            "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher.",
        )
    ]


def test_a_bounded_number_of_rules_is_created(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(administration, "CHANGES_MAX", 2)
    cluster = acl_cluster()
    three = [creation(resource_name=name) for name in "abc"]
    assert (
        errors(create(cluster, 3, *three))
        == [(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")]
        * 3
    )
    assert authorizer_of(cluster).acls() == []
    assert errors(create(cluster, 3, *three[:2], three[0])) == [(0, "")] * 3
    assert errors(create(cluster, 3, *three)) == [(0, "")] * 3


def test_alter_on_the_cluster_is_needed() -> None:
    cluster = acl_cluster(super_users="User:admin")
    denied = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Request CreateAcls needs ALTER permission.")
    assert errors(create(cluster, 3, creation(), creation(host=""))) == [denied] * 2
    assert authorizer_of(cluster).acls() == []
    authorizer_of(cluster).add(
        acl("kafka-cluster", AclOperation.ALTER, resource_type=ResourceType.CLUSTER)
    )
    assert errors(create(cluster, 3, creation())) == [(0, "")]
