"""AlterClientQuotas: v0-1.

Behaviour:
    - Each entity is changed completely or not at all and has its own result. Results come in
      the order of Kafka's hash maps: client-id before user.
    - INVALID_REQUEST: no entity; a type other than user, client-id and ip; an empty name; an
      address together with a user or client id; an invalid address; a key that occurs twice, is
      unknown, or does not fit the types; a value that is not more than 0, is too large, or is not
      whole where it must be. KIP-599's other name, controller_mutations_rate, is refused with the
      right one.
    - A broker that emulates a release (broker.api.versions) refuses keys and entity types that are
      newer. It accepts producer_ids_rate in any release.
    - An entity that occurs twice is changed as its first occurrence says and gets INVALID_REQUEST.
      Removing a key that is not set is no error.
    - Without ALTER_CONFIGS on the cluster every entry gets CLUSTER_AUTHORIZATION_FAILED.
    - Changes apply from the next request on, for all brokers.

Gaps:
    - Host names are not accepted as addresses, since no name is resolved.
"""

from broker.administration.quota_order import (
    entity_text,
    ordered_entities,
    ordered_keys,
    requested_names,
)
from broker.authorization.checks import ALTER_CONFIGS_CLUSTER
from broker.cluster.cluster import Cluster
from broker.config.api_versions import release_of
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced
from protocol.releases import Release
from quotas.entities import Entity, entity_problem, make_entity, release_problem

_Result = messages.AlterClientQuotasResponse.EntryData

Changes = list[tuple[str, float | None]]
"""Values by key; None removes the key."""


@handles(ApiKey.ALTER_CLIENT_QUOTAS, checks=(ALTER_CONFIGS_CLUSTER,))
@may_pause
def handle_alter_client_quotas(
    context: RequestContext, request: "messages.AlterClientQuotasRequest", cluster: Cluster
) -> "messages.AlterClientQuotasResponse":
    """Kafka's `ClientQuotaControlManager.alterClientQuotas`."""
    version = context.api_version
    if not is_allowed(context, cluster, ALTER_CONFIGS_CLUSTER):
        return _denied(version, request)
    release = release_of(cluster.config.for_broker(context.broker_id))
    problems: dict[Entity, str | None] = {}
    names_by_entity: dict[Entity, Entity] = {}
    changes_by_entity: dict[Entity, Changes] = {}
    for entry in paced(request.entries):
        names = requested_names(
            [(part.entity_type, part.entity_name) for part in paced(entry.entity)]
        )
        entity = make_entity(names)
        names_by_entity.setdefault(entity, names)
        values = {op.key: None if op.remove else op.value for op in paced(entry.ops)}
        if entity in problems or len(values) < len(entry.ops):
            problems[entity] = f"Ignoring duplicate entity {entity_text(names)}"
        else:
            problems[entity] = None
            changes_by_entity[entity] = [(key, values[key]) for key in paced(ordered_keys(values))]
    # Kafka puts the new entities of a request before each other (`HashMap.computeIfAbsent`).
    for entity, changes in paced(reversed(changes_by_entity.items())):
        problem = (
            entity_problem(names_by_entity[entity])
            or _release_problem(entity, changes, release)
            or cluster.quotas.clients.alter(entity, changes, validate_only=request.validate_only)
        )
        problems[entity] = problems[entity] or problem
    return messages.AlterClientQuotasResponse(
        version=version,
        entries=[
            _Result(
                version=version,
                error_code=ErrorCode.INVALID_REQUEST if problems[entity] else ErrorCode.NONE,
                error_message=(problems[entity] or "")[:1000] or None,
                entity=[
                    _Result.EntityData(version=version, entity_type=entity_type, entity_name=name)
                    for entity_type, name in paced(names_by_entity[entity])
                ],
            )
            for entity in paced(ordered_entities(problems))
        ],
    )


@may_pause
def _denied(
    version: int, request: "messages.AlterClientQuotasRequest"
) -> "messages.AlterClientQuotasResponse":
    refusal = ALTER_CONFIGS_CLUSTER.refusal
    return messages.AlterClientQuotasResponse(
        version=version,
        entries=[
            _Result(
                version=version,
                error_code=refusal.error_code,
                error_message=refusal.error_message,
                entity=[
                    _Result.EntityData(
                        version=version, entity_type=part.entity_type, entity_name=part.entity_name
                    )
                    for part in paced(entry.entity)
                ],
            )
            for entry in paced(request.entries)
        ],
    )


def _release_problem(entity: Entity, changes: Changes, release: Release) -> str | None:
    added = (name for name, value in changes if value is not None)
    return release_problem(entity, added, release)
