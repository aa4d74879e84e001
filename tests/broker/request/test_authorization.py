from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from broker.authorization.authorizer import DEFAULT_DENY
from broker.authorization.checks import ALTER_CLUSTER, READ_TOPIC, WRITE_TOPIC, Denial
from broker.request.authorization import (
    authorized_operations,
    denied_names,
    is_allowed,
    may_any,
    partition_by_authorized,
)
from broker.request.context import RequestContext
from protocol.acls import AclOperation, PermissionType, ResourceType
from protocol.api_keys import ApiKey
from tests.broker.acl_cluster import acl, acl_cluster, authorizer_of
from tests.broker.cluster_builder import make_cluster, make_context

SUPPORTED = frozenset({AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE})


def context_of(principal: str = "alice", client_host: str = "10.0.0.1") -> RequestContext:
    return make_context(ApiKey.METADATA, 12, principal=principal, client_host=client_host)


def test_a_broker_of_the_cluster_may_do_everything() -> None:
    cluster, context = acl_cluster(super_users="User:root"), context_of()
    assert not may_any(context, cluster, AclOperation.WRITE, ResourceType.TOPIC)
    context.connection_id = -1
    assert is_allowed(context, cluster, WRITE_TOPIC, "t")
    assert may_any(context, cluster, AclOperation.WRITE, ResourceType.TOPIC)
    assert authorized_operations(context, cluster, ResourceType.TOPIC, "t", SUPPORTED) == SUPPORTED


def test_without_an_authorizer_everything_is_allowed_and_nothing_noted() -> None:
    cluster, context = make_cluster(1), context_of()
    assert is_allowed(context, cluster, WRITE_TOPIC, "t")
    assert may_any(context, cluster, AclOperation.WRITE, ResourceType.TOPIC)
    assert authorized_operations(context, cluster, ResourceType.TOPIC, "t", SUPPORTED) == SUPPORTED
    assert context.denials == ()


def test_the_user_of_a_request_and_its_host_are_authorized() -> None:
    cluster = acl_cluster(super_users="User:admin")
    authorizer_of(cluster).add(acl("t", principal="User:alice", host="10.0.0.0/24"))
    assert is_allowed(context_of(), cluster, READ_TOPIC, "t")
    assert not is_allowed(context_of(client_host="10.0.1.1"), cluster, READ_TOPIC, "t")
    assert not is_allowed(context_of("bob"), cluster, READ_TOPIC, "t")
    assert not is_allowed(context_of(), cluster, WRITE_TOPIC, "t")
    assert is_allowed(context_of("admin"), cluster, WRITE_TOPIC, "t")


def test_denials_are_noted_in_their_order_with_the_rule_that_decided() -> None:
    cluster, context = acl_cluster(super_users=""), context_of()
    deny = acl("t", AclOperation.ALL, principal="User:*", permission_type=PermissionType.DENY)
    authorizer_of(cluster).add(deny)
    assert not is_allowed(context, cluster, READ_TOPIC, "t")
    assert not is_allowed(context, cluster, WRITE_TOPIC, "u")
    assert not is_allowed(context, cluster, WRITE_TOPIC, "v", is_noted=False)
    assert context.denials == (
        Denial(READ_TOPIC, "t", deny),
        Denial(WRITE_TOPIC, "u", DEFAULT_DENY),
    )


def test_a_denial_is_a_line_of_the_log() -> None:
    cluster, context = acl_cluster(super_users=""), context_of()
    with capture_logs() as lines:
        is_allowed(context, cluster, READ_TOPIC, "t")
        is_allowed(context, cluster, READ_TOPIC, "t", is_noted=False)
    assert lines == [
        {
            "log_level": "info",
            "event": "denied",
            "principal": "User:alice",
            "host": "10.0.0.1",
            "operation": "READ",
            "resource": "TOPIC:t",
            "api": "Metadata",
            "rule": DEFAULT_DENY,
        }
    ]


def test_a_long_name_is_noted_in_part() -> None:
    cluster, context = acl_cluster(super_users=""), context_of("p" * 300)
    with capture_logs() as lines:
        is_allowed(context, cluster, READ_TOPIC, "t" * 255)
        is_allowed(context, cluster, READ_TOPIC, "t" * 30_000)
    assert [denial.resource_name for denial in context.denials] == ["t" * 255, "t" * 255 + "..."]
    assert lines[1]["resource"] == f"TOPIC:{'t' * 255}..."
    assert lines[1]["principal"] == f"User:{'p' * 255}..."


@pytest.mark.parametrize(("user", "may"), [("alice", True), ("bob", False)])
def test_one_topic_is_enough_for_an_operation_on_any(user: str, may: bool) -> None:
    cluster, context = acl_cluster(super_users=""), context_of(user)
    authorizer_of(cluster).add(acl("t", AclOperation.WRITE, principal="User:alice"))
    assert may_any(context, cluster, AclOperation.WRITE, ResourceType.TOPIC) is may
    assert not may_any(context, cluster, AclOperation.WRITE, ResourceType.GROUP)


def test_authorized_operations_are_those_of_rules_and_what_they_imply() -> None:
    cluster, context = acl_cluster(super_users=""), context_of()
    authorizer_of(cluster).add(acl("t", principal="User:alice"))
    found = authorized_operations(context, cluster, ResourceType.TOPIC, "t", SUPPORTED)
    assert found == {AclOperation.READ, AclOperation.DESCRIBE}
    assert context.denials == ()


def test_each_name_is_asked_about_once() -> None:
    cluster, context = acl_cluster(super_users=""), context_of()
    authorizer_of(cluster).add(acl("t", principal="User:alice"))
    assert denied_names(context, cluster, READ_TOPIC, ["u", "t", "u", "v"]) == {"u", "v"}
    assert [denial.resource_name for denial in context.denials] == ["u", "v"]
    found = partition_by_authorized(context, cluster, READ_TOPIC, ["u", "t", "u", "v"], str)
    assert found == (["t"], ["u", "u", "v"])


def test_without_an_authorizer_no_name_is_read() -> None:
    def names() -> Iterator[str]:
        raise AssertionError
        yield ""

    cluster, context = make_cluster(1), context_of()
    assert not denied_names(context, cluster, READ_TOPIC, names())
    topics = ["u", "t"]
    allowed, denied = partition_by_authorized(context, cluster, READ_TOPIC, topics, str)
    assert allowed is topics
    assert not denied


def test_brokers_of_the_cluster_may_do_everything() -> None:
    cluster = acl_cluster(super_users="")
    context = make_context(ApiKey.WRITE_TXN_MARKERS, 1, connection_id=-1)
    assert is_allowed(context, cluster, ALTER_CLUSTER)
