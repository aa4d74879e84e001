"""Rules and decisions as values and as text."""

import msgspec
import pytest

from broker.http_admin.acls import AclBody, DecisionView
from mock_kafka import Acl, AclDecision, Denial
from mock_kafka.acl_views import acl_of, decision_of, denial_of

BODY = AclBody("alice", "ALLOW", "READ", "TOPIC", "ord", "PREFIXED", "10.0.0.1")
ALLOW = Acl("User:alice", "ALLOW", "READ", "TOPIC", "ord", "PREFIXED", "10.0.0.1")


def test_a_rule_of_the_admin_port_is_a_value() -> None:
    assert acl_of(msgspec.to_builtins(BODY)) == ALLOW
    assert str(ALLOW) == "User:alice ALLOW READ TOPIC:PREFIXED:ord from 10.0.0.1"
    assert str(Acl("User:*", "DENY", "ALL", "GROUP", "*")) == "User:* DENY ALL GROUP:LITERAL:*"


@pytest.mark.parametrize(
    ("view", "decision"),
    [
        (DecisionView("READ", True, "ACL", BODY), AclDecision("READ", True, "ACL", ALLOW)),
        (
            DecisionView("READ", False, "DefaultDeny", None),
            AclDecision("READ", False, "DefaultDeny"),
        ),
    ],
)
def test_a_decision_is_true_if_the_operation_is_allowed(
    view: DecisionView, decision: AclDecision
) -> None:
    found = decision_of(msgspec.to_builtins(view))
    assert found == decision
    assert bool(found) is found.is_allowed


def test_a_denial_says_what_decided() -> None:
    denial = {"operation": "READ", "resource_type": "TOPIC", "resource_name": "orders"}
    by_default = denial_of({**denial, "rule": "DefaultDeny", "acl": None})
    assert by_default == Denial("READ", "TOPIC", "orders", "DefaultDeny")
    assert str(by_default) == "READ TOPIC:orders by DefaultDeny"
    by_rule = denial_of({**denial, "rule": "ACL", "acl": msgspec.to_builtins(BODY)})
    assert by_rule.acl == ALLOW
    assert str(by_rule) == f"READ TOPIC:orders by {ALLOW}"
