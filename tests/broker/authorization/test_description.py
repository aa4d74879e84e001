"""Rules and denials in words."""

import pytest

from broker.authorization.acl import Acl
from broker.authorization.authorizer import DEFAULT_DENY
from broker.authorization.checks import WRITE_TOPIC, Denial
from broker.authorization.description import (
    acl_fields,
    denial_fields,
    principal_of,
    rule_text,
)
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType

RULE = Acl(
    ResourceType.TOPIC,
    "ord",
    PatternType.PREFIXED,
    "User:*",
    "10.0.0.0/8",
    AclOperation.DESCRIBE_CONFIGS,
    PermissionType.DENY,
)
FIELDS = {
    "principal": "User:*",
    "permission_type": "DENY",
    "operation": "DESCRIBE_CONFIGS",
    "resource_type": "TOPIC",
    "resource_name": "ord",
    "pattern_type": "PREFIXED",
    "host": "10.0.0.0/8",
}


def test_a_rule_has_kafkas_names() -> None:
    assert acl_fields(RULE) == FIELDS
    assert rule_text(RULE) == "User:* DENY DESCRIBE_CONFIGS TOPIC:PREFIXED:ord from 10.0.0.0/8"
    assert rule_text(DEFAULT_DENY) == "DefaultDeny"


@pytest.mark.parametrize(
    ("rule", "fields"),
    [(RULE, {"rule": "ACL", "acl": FIELDS}), (DEFAULT_DENY, {"rule": "DefaultDeny", "acl": None})],
)
def test_a_denial_says_what_was_denied_and_by_which_rule(
    rule: Acl | str, fields: dict[str, object]
) -> None:
    assert denial_fields(Denial(WRITE_TOPIC, "orders", rule)) == {
        "operation": "WRITE",
        "resource_type": "TOPIC",
        "resource_name": "orders",
        **fields,
    }


@pytest.mark.parametrize(
    ("user", "principal"),
    [("alice", "User:alice"), ("User:alice", "User:alice"), ("*", "User:*"), ("a:b", "User:a:b")],
)
def test_the_type_of_a_principal_may_be_left_out(user: str, principal: str) -> None:
    assert principal_of(user) == principal
