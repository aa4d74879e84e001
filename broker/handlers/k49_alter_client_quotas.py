"""AlterClientQuotas: v0-1.

Behaviour:
    - Each entity is changed completely or not at all and has its own result, in request order.
    - INVALID_REQUEST: no entity; a type other than user, client-id and ip; an empty name; an
      address together with a user or client id; an invalid address; a key that occurs twice, is
      unknown, or does not fit the types; a value that is not more than 0, is too large, or is not
      whole where it must be. KIP-599's other name, controller_mutations_rate, is refused with the
      right one.
    - A broker that emulates a release (broker.api.versions) refuses keys and entity types that are
      newer. It accepts producer_ids_rate in any release.
    - An entity that occurs twice is changed as its first occurrence says and gets INVALID_REQUEST.
      Removing a key that is not set is no error.
    - Changes apply from the next request on, for all brokers.

Gaps:
    - Host names are not accepted as addresses, since no name is resolved.
"""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.config.api_versions import emulated_release
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from quotas.entities import Entity, make_entity, release_problem

_Result = messages.AlterClientQuotasResponse.EntryData


@handles(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1))
def handle_alter_client_quotas(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `ClientQuotaControlManager.alterClientQuotas`."""
    version = context.api_version
    config = cluster.config.for_broker(context.broker_id)
    release = emulated_release(config["broker.api.versions"])
    problems: dict[Entity, str | None] = {}
    for entry in request.entries:
        entity = make_entity((part.entity_type, part.entity_name) for part in entry.entity)
        if entity in problems:
            problems[entity] = "Duplicate client quota entity"
            continue
        changes = [(op.key, None if op.remove else op.value) for op in entry.ops]
        added = (name for name, value in changes if value is not None)
        problem = release_problem(entity, added, release)
        problems[entity] = problem or cluster.quotas.clients.alter(
            entity, changes, validate_only=request.validate_only
        )
    return messages.AlterClientQuotasResponse(
        version=version,
        entries=[
            _Result(
                version=version,
                error_code=ErrorCode.NONE if problem is None else ErrorCode.INVALID_REQUEST,
                error_message=None if problem is None else problem[:1000],
                entity=[
                    _Result.EntityData(version=version, entity_type=entity_type, entity_name=name)
                    for entity_type, name in entity
                ],
            )
            for entity, problem in problems.items()
        ],
    )
