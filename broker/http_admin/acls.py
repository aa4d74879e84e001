"""Access control lists: list, add and remove rules, and ask what they decide."""

from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import Annotated, TypeAlias

import msgspec

from broker.administration.acls import refuse_acl
from broker.authorization.acl import Acl, AclFilter
from broker.authorization.authorizer import Authorizer
from broker.authorization.description import acl_fields, principal_of, rule_fields
from broker.config.features import METADATA_VERSION
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.long_body import read_long_body
from broker.http_admin.operation import Input, Name, Problem, operation
from broker.http_admin.state import Admin
from broker.http_admin.unknown_names import unknown_key_hint
from protocol.acls import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from protocol.pacing import may_pause, paced

NO_AUTHORIZER = (
    "there is no authorization; start the cluster with authorizer.class.name=acl in its"
    " configuration"
)


def _names(kind: type[IntEnum], *, without: Collection[str] = ("UNKNOWN", "ANY")) -> list[str]:
    return [name for name in kind.__members__ if name not in without]


_OPERATIONS = _names(AclOperation)
_RESOURCE_TYPES = _names(ResourceType)
_PERMISSION_TYPES = _names(PermissionType)
_PATTERN_TYPES = _names(PatternType)


def _one_of(names: Collection[str]) -> msgspec.Meta:
    """Return the schema of a name; it is also accepted in any case, with or without `_`."""
    return msgspec.Meta(extra_json_schema={"enum": list(names)})


OperationName: TypeAlias = Annotated[str, _one_of(_OPERATIONS)]
ResourceTypeName: TypeAlias = Annotated[str, _one_of(_RESOURCE_TYPES)]
PermissionTypeName: TypeAlias = Annotated[str, _one_of(_PERMISSION_TYPES)]
PatternTypeName: TypeAlias = Annotated[str, _one_of(_PATTERN_TYPES)]
SpecificPatternTypeName: TypeAlias = Annotated[str, _one_of(("LITERAL", "PREFIXED"))]


class AclBody(Input):
    """A rule. `User:` in front of the principal may be left out; `User:*` is any user.

    `resource_name` is a name, with `PREFIXED` the start of names, or `*` for any resource of the
    type; that of a USER is a principal, that of the CLUSTER `kafka-cluster`. `host` is `*`, an
    address, or a range such as 10.0.0.0/8.
    """

    principal: Name
    permission_type: PermissionTypeName
    operation: OperationName
    resource_type: ResourceTypeName
    resource_name: Name
    pattern_type: SpecificPatternTypeName = "LITERAL"
    host: Name = WILDCARD

    def __post_init__(self) -> None:
        self.principal = principal_of(self.principal)
        self.permission_type = _exact("permission_type", self.permission_type, _PERMISSION_TYPES)
        self.operation = _exact("operation", self.operation, _OPERATIONS)
        self.resource_type = _exact("resource_type", self.resource_type, _RESOURCE_TYPES)
        self.resource_name = _resource_name(self.resource_type, self.resource_name)
        specific = ("LITERAL", "PREFIXED")
        self.pattern_type = _exact("pattern_type", self.pattern_type, specific)


class AclsBody(Input):
    """Rules to add."""

    acls: Annotated[list[AclBody], msgspec.Meta(min_length=1)]


class AclQuery(Input):
    """Which rules: all set values must be those of the rule.

    With `pattern_type` MATCH it is a rule that applies to the resource of this name: also one with
    a prefix of it, or for any resource.
    """

    principal: Name | None = None
    permission_type: PermissionTypeName | None = None
    operation: OperationName | None = None
    resource_type: ResourceTypeName | None = None
    resource_name: Name | None = None
    pattern_type: PatternTypeName | None = None
    host: Name | None = None

    def __post_init__(self) -> None:
        self.filter()  # a misspelt name is an error of the input

    def filter(self) -> AclFilter:
        """Return the filter.

        Raises:
            ValueError: there is no such type or operation.
        """
        resource_type = _exact_or_any("resource_type", self.resource_type, _RESOURCE_TYPES)
        pattern_type = _exact_or_any("pattern_type", self.pattern_type, _PATTERN_TYPES)
        operation_name = _exact_or_any("operation", self.operation, _OPERATIONS)
        permission = _exact_or_any("permission_type", self.permission_type, _PERMISSION_TYPES)
        name = self.resource_name
        return AclFilter(
            ResourceType[resource_type],
            None if name is None else _resource_name(resource_type, name),
            PatternType[pattern_type],
            None if self.principal is None else principal_of(self.principal),
            self.host,
            AclOperation[operation_name],
            PermissionType[permission],
        )


class DecisionQuery(Input):
    """Who would do something from which host, and with which resource.

    Without `operation` all operations of the type of resource.
    """

    principal: Name
    resource_type: ResourceTypeName
    resource_name: Name = CLUSTER_NAME
    operation: OperationName | None = None
    host: Name = "127.0.0.1"

    def __post_init__(self) -> None:
        self.resource_type = _exact("resource_type", self.resource_type, _RESOURCE_TYPES)
        self.resource_name = _resource_name(self.resource_type, self.resource_name)
        if self.operation is not None:
            self.operation = _exact("operation", self.operation, _OPERATIONS)


class DecisionView(msgspec.Struct):
    """Whether an operation is allowed, and what decided.

    `rule` is ACL, with the rule in `acl`; SuperUser; or DefaultDeny or DefaultAllow if no rule
    applies, by `allow.everyone.if.no.acl.found`.
    """

    operation: str
    is_allowed: bool
    rule: str
    acl: AclBody | None


@operation("GET", "/v1/acls", tag="acls", turn_kind=TurnKind.READING)
@may_pause
def list_acls(admin: Admin, query: AclQuery) -> list[AclBody]:
    """List the rules that fit, as DescribeAcls shows them; none without an authorizer."""
    authorizer = admin.cluster.authorizer
    return [] if authorizer is None else acl_views(authorizer.matching(query.filter()))


@operation(
    "POST",
    "/v1/acls",
    tag="acls",
    status=201,
    read_bytes=lambda body: read_long_body(body, AclsBody, frozenset({AclsBody})),
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="The resource has no such operation, or Kafka refuses the rule",
)
@may_pause
def add_acls(admin: Admin, body: AclsBody) -> list[AclBody]:
    """Add rules, all of them or none; they apply from the next request on."""
    for acl in paced(body.acls):
        _check_operation(acl)
    put_acls(admin, body.acls)
    return body.acls


@operation("DELETE", "/v1/acls", tag="acls", turn_kind=TurnKind.EXCLUSIVE)
@may_pause
def remove_acls(admin: Admin, query: AclQuery) -> list[AclBody]:
    """Remove the rules that fit, and return them; without a query all."""
    authorizer = authorizer_of(admin)
    removed = authorizer.matching(query.filter())
    for acl in paced(removed):
        authorizer.remove(acl)
    return acl_views(removed)


@operation("GET", "/v1/acls/decisions", tag="acls", turn_kind=TurnKind.READING)
@may_pause
def list_decisions(admin: Admin, query: DecisionQuery) -> list[DecisionView]:
    """List what a principal may do with a resource, and why."""
    authorizer = authorizer_of(admin)
    principal, resource_type = principal_of(query.principal), ResourceType[query.resource_type]
    operations = (
        sorted(SUPPORTED_OPERATIONS[resource_type])
        if query.operation is None
        else [AclOperation[query.operation]]
    )
    views = []
    for requested in paced(operations):
        is_allowed, rule = authorizer.authorize(
            principal, query.host, requested, resource_type, query.resource_name
        )
        fields = rule_fields(rule)
        acl = None if fields["acl"] is None else AclBody(**fields["acl"])
        views.append(DecisionView(requested.name, is_allowed, fields["rule"], acl))
    return views


def authorizer_of(admin: Admin) -> Authorizer:
    """Return the authorizer of the cluster.

    Raises:
        Problem: 409, there is none.
    """
    authorizer = admin.cluster.authorizer
    if authorizer is None:
        raise Problem(409, NO_AUTHORIZER)
    return authorizer


@may_pause
def put_acls(admin: Admin, bodies: Sequence[AclBody]) -> None:
    """Add rules, all of them or none.

    Raises:
        Problem: 409, there is no authorizer; 422, Kafka refuses a rule.
    """
    authorizer = authorizer_of(admin)
    acls = [_acl_of(body) for body in paced(bodies)]
    metadata_version = admin.cluster.features.level(METADATA_VERSION)
    for acl in paced(acls):
        refusal = refuse_acl(acl, metadata_version)
        if refusal is not None:
            raise Problem(422, str(refusal.error_message))
    for acl in paced(acls):
        authorizer.add(acl)


@may_pause
def acl_views(acls: Sequence[Acl]) -> list[AclBody]:
    """Return rules in the form in which they are added."""
    return [AclBody(**acl_fields(acl)) for acl in paced(acls)]


def _acl_of(body: AclBody) -> Acl:
    return Acl(
        ResourceType[body.resource_type],
        body.resource_name,
        PatternType[body.pattern_type],
        body.principal,
        body.host,
        AclOperation[body.operation],
        PermissionType[body.permission_type],
    )


def _check_operation(body: AclBody) -> None:
    """Refuse a rule that could never apply. Kafka's brokers take it, kafka-acls.sh does not."""
    supported = {AclOperation.ALL, *SUPPORTED_OPERATIONS[ResourceType[body.resource_type]]}
    if AclOperation[body.operation] not in supported:
        names = ", ".join(one.name for one in sorted(supported))
        reason = f"a {body.resource_type} has no operation {body.operation}; there are: {names}"
        raise Problem(422, reason, location="body")


def _resource_name(resource_type: str, name: str) -> str:
    """Return the name of a resource; that of a user is a principal."""
    return principal_of(name) if resource_type == "USER" and name != WILDCARD else name


def _exact_or_any(field: str, given: str | None, names: Collection[str]) -> str:
    """Return a name as Kafka writes it, or ANY if a query leaves it open."""
    return _exact(field, given, names) if given and given != "ANY" else "ANY"


def _exact(field: str, given: str, names: Collection[str]) -> str:
    """Return a name as Kafka writes it.

    Raises:
        ValueError: there is no such name.
    """
    if given in names:
        return given
    letters = _letters(given)
    for name in names:
        if _letters(name) == letters:
            return name
    raise ValueError(f"{field}: there is no {given!r}{unknown_key_hint(given, names)}")


def _letters(name: str) -> str:
    return name.replace("_", "").upper()
