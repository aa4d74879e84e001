"""Rules of clients: kinds of them for one check of an API, and random ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from broker.authorization.checks import Check
from protocol.acls import CLUSTER_NAME, AclOperation, PatternType, PermissionType, ResourceType
from tests.differential.clusters import SUPER_USER
from tests.differential.conversation import Connection, Send
from tests.differential.values import TRANSACTIONAL_ID

Rule = dict[str, Any]
"""A rule as CreateAcls has it, without the principal."""
LISTENER = "SASL_PLAINTEXT"
_ANY_NAME = "*"
NAMES: Mapping[ResourceType, str] = {
    ResourceType.TOPIC: "~a",
    ResourceType.GROUP: "~g",
    ResourceType.CLUSTER: CLUSTER_NAME,
    ResourceType.TRANSACTIONAL_ID: TRANSACTIONAL_ID,
    ResourceType.DELEGATION_TOKEN: "token_id#0",
    ResourceType.USER: "User:~owner",
}
"""The resource of each type that a rule is about; requests name others beside it."""
_IMPLYING: Mapping[AclOperation, Sequence[AclOperation]] = {
    AclOperation.DESCRIBE: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.DELETE,
        AclOperation.ALTER,
    ),
    AclOperation.DESCRIBE_CONFIGS: (AclOperation.ALTER_CONFIGS,),
}
"""Operations that imply another one."""


def _rule(
    check: Check,
    *,
    name: str = "",
    pattern_type: PatternType = PatternType.LITERAL,
    host: str = "*",
    operation: AclOperation | None = None,
    permission_type: PermissionType = PermissionType.ALLOW,
) -> Rule:
    return {
        "resource_type": int(check.resource_type),
        "resource_name": name or NAMES[check.resource_type],
        "resource_pattern_type": int(pattern_type),
        "host": host,
        "operation": int(check.operation if operation is None else operation),
        "permission_type": int(permission_type),
    }


def everywhere(check: Check) -> Rule:
    """Allow on all resources of the type; the cluster has no other name."""
    is_cluster = check.resource_type is ResourceType.CLUSTER
    return _rule(check, name=CLUSTER_NAME if is_cluster else _ANY_NAME)


def _prefixed(check: Check, **fields: Any) -> Rule:
    name = NAMES[check.resource_type]
    return _rule(check, name=name[:-1], pattern_type=PatternType.PREFIXED, **fields)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of rules for one check; the other checks of the API are allowed everywhere."""

    name: str
    rules: Callable[[Check], list[Rule]]


DENYING = (
    Kind("none", lambda check: []),
    Kind(
        "deny over allow",
        lambda check: [everywhere(check), _rule(check, permission_type=PermissionType.DENY)],
    ),
    Kind(
        "prefixed deny",
        lambda check: [_rule(check), _prefixed(check, permission_type=PermissionType.DENY)],
    ),
    Kind("another host", lambda check: [_rule(check, host="192.0.2.1")]),
    Kind(
        "deny all operations",
        lambda check: [
            _rule(check),
            _rule(check, operation=AclOperation.ALL, permission_type=PermissionType.DENY),
        ],
    ),
)
ALLOWING = (
    Kind("literal", lambda check: [_rule(check)]),
    Kind("prefixed", lambda check: [_prefixed(check)]),
    Kind("everywhere", lambda check: [everywhere(check)]),
    Kind("own host", lambda check: [_rule(check, host="127.0.0.1")]),
    Kind("own network", lambda check: [_rule(check, host="127.0.0.0/8")]),
    Kind("all operations", lambda check: [_rule(check, operation=AclOperation.ALL)]),
)


def kinds_of(check: Check) -> list[Kind]:
    """Return the kinds of rules for a check, those that deny it first."""
    implied = (_implied(operation) for operation in _IMPLYING.get(check.operation, ()))
    return [*DENYING, *ALLOWING, *implied]


def _implied(operation: AclOperation) -> Kind:
    return Kind(f"implied by {operation.name}", lambda check: [_rule(check, operation=operation)])


CLIENTS = {name: Connection(listener=LISTENER, user=f"~{name}") for name in ("u0", "u1")} | {
    "r": Connection(listener=LISTENER, user=SUPER_USER)
}
"""Connections of generated conversations: clients who need rules, and one who does not."""
_RESOURCE_NAMES: Mapping[ResourceType, Sequence[tuple[PatternType, str]]] = {
    **{
        resource_type: (
            *((PatternType.LITERAL, name) for name in (*names, _ANY_NAME)),
            *((PatternType.PREFIXED, prefix) for prefix in ("~", names[0])),
        )
        for resource_type, names in (
            (ResourceType.TOPIC, ("~a", "~b", "~missing")),
            (ResourceType.GROUP, ("~g", "~h")),
            (ResourceType.TRANSACTIONAL_ID, (TRANSACTIONAL_ID, "~y")),
            (ResourceType.USER, ("User:~u0", "User:~u1")),
            (ResourceType.DELEGATION_TOKEN, ("token_id#0", "token_id#1")),
        )
    },
    ResourceType.CLUSTER: ((PatternType.LITERAL, CLUSTER_NAME),),
}
_HOSTS = ("*", "*", "*", "127.0.0.1", "127.0.0.0/8", "192.0.2.1", "::1")
_OPERATIONS = tuple(AclOperation)[AclOperation.ALL :]
_RULES_MAX = 5


@st.composite
def rules(draw: st.DrawFn, checks: Sequence[Check]) -> Send:
    """Return a request for rules of the clients of a conversation, most about these checks."""
    creations = draw(st.lists(_rules_of(checks), max_size=_RULES_MAX))
    return Send("CreateAcls", 3, {"creations": creations})


@st.composite
def _rules_of(draw: st.DrawFn, checks: Sequence[Check]) -> Rule:
    check = draw(st.sampled_from(checks))
    operation = draw(st.one_of(*(st.just(check.operation),) * 4, st.sampled_from(_OPERATIONS)))
    pattern_type, name = draw(st.sampled_from(_RESOURCE_NAMES[check.resource_type]))
    permission_type = draw(st.sampled_from((PermissionType.ALLOW,) * 4 + (PermissionType.DENY,)))
    # A rule for all users must not change the answers to other conversations.
    users = ("~u0", "~u0", "~u1", *(["*"] if name.startswith("~") else []))
    return {
        **_rule(
            check,
            name=name,
            pattern_type=pattern_type,
            host=draw(st.sampled_from(_HOSTS)),
            operation=operation,
            permission_type=permission_type,
        ),
        "principal": f"User:{draw(st.sampled_from(users))}",
    }
