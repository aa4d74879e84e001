"""AlterClientQuotas: v0-1.

Behaviour:
    Each entity is changed whole or not at all, and answered for itself, in request order. All that
    is wrong gets INVALID_REQUEST: no entity, a type that isn't user, client-id or ip, an empty
    name, an address together with a user or client id or one that isn't an address; a key twice,
    unknown, or not for these types; a value that isn't more than 0, too large, or not whole where
    it must be. KIP-599's other spelling, controller_mutations_rate, is refused with the right one.
    A broker that emulates a release (broker.api.versions) refuses keys and entity types that came
    later, and knows producer_ids_rate in any release.
    An entity that occurs twice is changed as it says the first time and gets INVALID_REQUEST.
    Taking away what isn't set is fine. Changes count from the next request on, for all brokers.

Gaps:
    Host names are no addresses: nothing is looked up.
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
        entity = make_entity((each.entity_type, each.entity_name) for each in entry.entity)
        if entity in problems:
            problems[entity] = "Duplicate client quota entity"
            continue
        changes = [(op.key, None if op.remove else op.value) for op in entry.ops]
        problem = None
        if release is not None:
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
