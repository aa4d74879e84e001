"""What the methods for access control lists return."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Acl:
    """A rule of access control, with Kafka's names, such as `READ`, `TOPIC` and `PREFIXED`.

    `principal` has its type: `User:alice`, or `User:*` for all users. `resource_name` is `*` for
    all resources of the type, and with `PREFIXED` the start of names.
    """

    principal: str
    permission_type: str
    operation: str
    resource_type: str
    resource_name: str
    pattern_type: str = "LITERAL"
    host: str = "*"

    def __str__(self) -> str:
        """Return one readable line, such as `User:alice ALLOW READ TOPIC:LITERAL:orders`."""
        resource = f"{self.resource_type}:{self.pattern_type}:{self.resource_name}"
        origin = "" if self.host == "*" else f" from {self.host}"
        return f"{self.principal} {self.permission_type} {self.operation} {resource}{origin}"


@dataclass(frozen=True, slots=True)
class AclDecision:
    """Whether an operation is allowed, and what decided; false in conditions if it is not.

    `rule` is `ACL`, and `acl` has it; `SuperUser`; or `DefaultDeny` or `DefaultAllow` if no rule
    applies, by `allow.everyone.if.no.acl.found`.
    """

    operation: str
    is_allowed: bool
    rule: str
    acl: Acl | None = None

    def __bool__(self) -> bool:
        return self.is_allowed


@dataclass(frozen=True, slots=True)
class Denial:
    """An operation that a request was not allowed to do, and what decided, as in `AclDecision`."""

    operation: str
    resource_type: str
    resource_name: str
    rule: str
    acl: Acl | None = None

    def __str__(self) -> str:
        """Return one readable line, such as `READ TOPIC:orders by DefaultDeny`."""
        return (
            f"{self.operation} {self.resource_type}:{self.resource_name} by {self.acl or self.rule}"
        )


def acl_of(data: Mapping[str, Any]) -> Acl:
    """Return a rule from the admin port's JSON."""
    return Acl(**data)


def decision_of(data: Mapping[str, Any]) -> AclDecision:
    """Return a decision from the admin port's JSON."""
    return AclDecision(**{**data, "acl": _acl_or_none(data["acl"])})


def denial_of(data: Mapping[str, Any]) -> Denial:
    """Return a denial from the admin port's JSON."""
    return Denial(**{**data, "acl": _acl_or_none(data["acl"])})


def _acl_or_none(data: Mapping[str, Any] | None) -> Acl | None:
    return None if data is None else acl_of(data)
