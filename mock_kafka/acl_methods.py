"""The methods of a cluster for access control lists."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Unpack

from mock_kafka.arguments import Resource
from mock_kafka.control import Control
from mock_kafka.near_names import did_you_mean

if TYPE_CHECKING:  # `BrokerProcess` imports them while the broker starts
    from mock_kafka.acl_views import Acl, AclDecision

__tracebackhide__ = True  # pytest shows the line of the caller

_CLUSTER_NAME = "kafka-cluster"
_RESOURCE_TYPES = {kind: kind.upper() for kind in Resource.__annotations__}
_KINDS = ", ".join(_RESOURCE_TYPES)
_ONE_RESOURCE = f"name one resource: {_KINDS}"


class AclMethods(ABC):
    """The part of `ClusterMethods` for access control lists.

    They need a cluster with an authorizer: `acls=True`. A principal is a user: `alice` is short for
    `User:alice`, and `*` is any user.
    """

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    def allow(
        self,
        principal: str,
        operations: str | Iterable[str],
        *,
        prefix: bool = False,
        host: str = "*",
        **resource: Unpack[Resource],
    ) -> None:
        """Allow a user operations on a resource: `allow("alice", "read", topic="orders")`.

        A resource is a `topic`, a `group`, a `transactional_id`, `cluster=True`, or a `user` or
        `delegation_token` whose tokens are meant. With several resources each operation is allowed
        on each of them. Names of operations are Kafka's, such as `READ` or `DESCRIBE_CONFIGS`, in
        any case, or `ALL`. The name `*` is any resource of its type; with `prefix` a name is the
        start of names. `host` is a client's address, or a range such as `10.0.0.0/8`. It applies
        from the next request on.

        Raises:
            ControlError: the cluster has no authorizer, or there is no such operation.
            ValueError: no resource is given, or no operation.
        """
        self._add("ALLOW", principal, operations, resource, prefix=prefix, host=host)

    def deny(
        self,
        principal: str,
        operations: str | Iterable[str],
        *,
        prefix: bool = False,
        host: str = "*",
        **resource: Unpack[Resource],
    ) -> None:
        """Deny a user operations on a resource, whatever else allows them; see `allow`.

        Without any rule a user may do nothing, except for those of `super.users`.

        Raises:
            ControlError: the cluster has no authorizer, or there is no such operation.
            ValueError: no resource is given, or no operation.
        """
        self._add("DENY", principal, operations, resource, prefix=prefix, host=host)

    def acls(
        self,
        principal: str | None = None,
        *,
        operation: str | None = None,
        permission: Literal["allow", "deny"] | None = None,
        pattern: Literal["literal", "prefixed", "match"] | None = None,
        host: str | None = None,
        **resource: Unpack[Resource],
    ) -> "list[Acl]":
        """Return the rules for which all given values are the rule's own.

        With `pattern="match"` they are the rules that apply to the resource: also those with a
        prefix of its name, and for all resources of its type.
        """
        from mock_kafka.acl_views import acl_of  # noqa: PLC0415 - see `BrokerProcess`

        query = _query(principal, operation, permission, pattern, host, resource)
        return list(map(acl_of, self.control.ask("GET", "/v1/acls", query=query)))

    def delete_acls(
        self,
        principal: str | None = None,
        *,
        operation: str | None = None,
        permission: Literal["allow", "deny"] | None = None,
        pattern: Literal["literal", "prefixed", "match"] | None = None,
        host: str | None = None,
        **resource: Unpack[Resource],
    ) -> "list[Acl]":
        """Remove the rules that `acls` returns for the same arguments, and return them.

        Without arguments all rules are removed.

        Raises:
            ControlError: the cluster has no authorizer.
        """
        from mock_kafka.acl_views import acl_of  # noqa: PLC0415 - see `BrokerProcess`

        query = _query(principal, operation, permission, pattern, host, resource)
        return list(map(acl_of, self.control.ask("DELETE", "/v1/acls", query=query)))

    def authorize(
        self,
        principal: str,
        operation: str,
        *,
        host: str = "127.0.0.1",
        **resource: Unpack[Resource],
    ) -> "AclDecision":
        """Return whether a user may do an operation, and the rule that decides.

        Raises:
            ControlError: the cluster has no authorizer, or there is no such operation.
            ValueError: not exactly one resource is given.
        """
        from mock_kafka.acl_views import decision_of  # noqa: PLC0415 - see `BrokerProcess`

        query = _query(principal, operation, None, None, host, resource)
        if query["resource_type"] is None:
            raise ValueError(_ONE_RESOURCE)
        [decision] = self.control.ask("GET", "/v1/acls/decisions", query=query)
        return decision_of(decision)

    def _add(
        self,
        permission: str,
        principal: str,
        operations: str | Iterable[str],
        resource: Resource,
        *,
        prefix: bool,
        host: str,
    ) -> None:
        names = [operations] if isinstance(operations, str) else list(operations)
        resources = _resources_of(resource)
        if not names or not resources:
            missing = "a resource, such as topic='orders'" if names else "an operation"
            raise ValueError(f"{permission.lower()} needs {missing}")
        acls = [
            {
                "principal": principal,
                "permission_type": permission,
                "operation": operation,
                "resource_type": resource_type,
                "resource_name": name,
                "pattern_type": "PREFIXED" if prefix else "LITERAL",
                "host": host,
            }
            for resource_type, name in resources
            for operation in names
        ]
        self.control.ask("POST", "/v1/acls", {"acls": acls})


def _query(
    principal: str | None,
    operation: str | None,
    permission: str | None,
    pattern: str | None,
    host: str | None,
    resource: Resource,
) -> dict[str, str | None]:
    resources = _resources_of(resource)
    if len(resources) > 1:
        raise ValueError(_ONE_RESOURCE)
    resource_type, name = resources[0] if resources else (None, None)
    return {
        "principal": principal,
        "operation": operation,
        "permission_type": permission,
        "resource_type": resource_type,
        "resource_name": name,
        "pattern_type": pattern,
        "host": host,
    }


def _resources_of(resource: Resource) -> list[tuple[str, str]]:
    """Return the types and names of the resources that are given.

    Raises:
        TypeError: there is no such type.
    """
    found = []
    for kind, name in resource.items():
        if kind not in _RESOURCE_TYPES:
            hint = did_you_mean(kind, _RESOURCE_TYPES) or f"; there are: {_KINDS}"
            raise TypeError(f"there is no resource {kind!r}{hint}")
        if kind != "cluster":
            found.append((_RESOURCE_TYPES[kind], str(name)))
        elif name:
            found.append((_RESOURCE_TYPES[kind], _CLUSTER_NAME))
    return found
