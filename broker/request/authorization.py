"""May a request do an operation: the one place where requests are authorized.

Source: Kafka's `AuthHelper`.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypeVar

from broker.authorization.checks import Check, Denial
from broker.authorization.description import rule_text
from broker.cluster.cluster import Cluster
from broker.log import log
from broker.request.context import RequestContext
from protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES
from protocol.pacing import may_pause, paced, paced_elements, paced_stream

if TYPE_CHECKING:  # see ADR 24
    from broker.authorization.authorizer import Authorizer

DENIALS_MAX = 100
"""How many denials of a request are noted."""
NAME_LENGTH_MAX = 255
"""The most characters of a name in a denial; a client chooses what it asks for."""
_NOTHING: frozenset[str] = frozenset()
_Resource = TypeVar("_Resource")


def is_allowed(
    context: RequestContext,
    cluster: Cluster,
    check: Check,
    resource_name: str = CLUSTER_NAME,
    *,
    is_noted: bool = True,
) -> bool:
    """Whether the client may do an operation on a resource; everything without an authorizer.

    A denial is noted for the journal and the log, with the rule that decided, for the first
    `DENIALS_MAX` of a request, and unless `is_noted` is False: for what only leaves a resource out
    of a response.
    """
    authorizer = _authorizer_of(context, cluster)
    if authorizer is None:
        return True
    decision = authorizer.authorize(
        f"User:{context.principal}",
        context.client_host,
        check.operation,
        check.resource_type,
        resource_name,
    )
    if not decision.is_allowed and is_noted and len(context.denials) < DENIALS_MAX:
        _note(context, Denial(check, resource_name, decision.rule))
    return decision.is_allowed


def _authorizer_of(context: RequestContext, cluster: Cluster) -> "Authorizer | None":
    """Return what decides about a request; None if it may do everything.

    Brokers of the cluster, whose connections have negative ids, are super users.
    """
    return cluster.authorizer if context.connection_id >= 0 else None


def _note(context: RequestContext, denial: Denial) -> None:
    """Note a denial for the journal, and write it to the log as Kafka's authorizer does."""
    denial = denial._replace(resource_name=_shortened(denial.resource_name))
    context.denials = (*context.denials, denial)
    log.info(
        "denied",
        principal=f"User:{_shortened(context.principal)}",
        host=context.client_host,
        operation=denial.check.operation.name,
        resource=f"{denial.check.resource_type.name}:{denial.resource_name}",
        api=API_NAMES[ApiKey(context.api_key)],
        rule=rule_text(denial.rule),
    )


def _shortened(name: str) -> str:
    return name if len(name) <= NAME_LENGTH_MAX else f"{name[:NAME_LENGTH_MAX]}..."


@may_pause
def denied_names(
    context: RequestContext,
    cluster: Cluster,
    check: Check,
    names: Iterable[str],
    *,
    is_noted: bool = True,
) -> AbstractSet[str]:
    """Return the names of the resources on which the client may not do an operation.

    Each is checked once, as by `is_allowed`. Without an authorizer `names` are not read.
    """
    if cluster.authorizer is None:
        return _NOTHING
    return {
        name
        for name in paced(dict.fromkeys(paced_stream(names)))
        if not is_allowed(context, cluster, check, name, is_noted=is_noted)
    }


@may_pause
def partition_by_authorized(
    context: RequestContext,
    cluster: Cluster,
    check: Check,
    resources: Sequence[_Resource],
    name_of: Callable[[_Resource], str],
) -> tuple[Sequence[_Resource], Sequence[_Resource]]:
    """Return those of a request's resources that the client may use, and the denied ones."""
    denied = denied_names(context, cluster, check, map(name_of, resources))
    if not denied:
        return resources, ()
    allowed_ones: list[_Resource] = []
    denied_ones: list[_Resource] = []
    for resource in paced_elements(resources):
        (denied_ones if name_of(resource) in denied else allowed_ones).append(resource)
    return allowed_ones, denied_ones


def may_any(
    context: RequestContext,
    cluster: Cluster,
    operation: AclOperation,
    resource_type: ResourceType,
) -> bool:
    """Whether the client may do an operation on at least one resource of a type."""
    authorizer = _authorizer_of(context, cluster)
    return authorizer is None or authorizer.authorize_by_resource_type(
        f"User:{context.principal}", context.client_host, operation, resource_type
    )


def authorized_operations(
    context: RequestContext,
    cluster: Cluster,
    resource_type: ResourceType,
    resource_name: str,
    supported: frozenset[AclOperation],
) -> frozenset[AclOperation]:
    """Return those of the `supported` operations that the client may do on a resource (KIP-430)."""
    authorizer = _authorizer_of(context, cluster)
    if authorizer is None:
        return supported
    principal, host = f"User:{context.principal}", context.client_host
    return frozenset(
        operation
        for operation in supported
        if authorizer.authorize(principal, host, operation, resource_type, resource_name).is_allowed
    )
