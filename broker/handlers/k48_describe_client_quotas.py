"""DescribeClientQuotas: v0-1.

Behaviour:
    - Returns every entity that matches all components, with its keys, in the order of Kafka's
      hash maps: client-id before user. A component matches one name, the default, or any name of
      a type. No components match all entities. With `strict` the entity has no further types.
    - INVALID_REQUEST: an empty type, a type that occurs twice, an unknown kind of match, a name
      that is missing or not allowed, addresses together with users or client ids.
    - UNSUPPORTED_VERSION: a type other than user, client-id and ip.
    - Without DESCRIBE_CONFIGS on the cluster it is CLUSTER_AUTHORIZATION_FAILED.
    - Every broker serves the request.
"""

from broker.administration.quota_order import ordered_entities, ordered_names
from broker.authorization.checks import DESCRIBE_CONFIGS_CLUSTER
from broker.cluster.cluster import Cluster
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.hash_order import grown_capacity
from protocol.pacing import may_pause, paced
from quotas.client_quotas import Component, FilterProblem

_Entry = messages.DescribeClientQuotasResponse.EntryData


@handles(ApiKey.DESCRIBE_CLIENT_QUOTAS, checks=(DESCRIBE_CONFIGS_CLUSTER,))
@may_pause
def handle_describe_client_quotas(
    context: RequestContext, request: "messages.DescribeClientQuotasRequest", cluster: Cluster
) -> "messages.DescribeClientQuotasResponse":
    """Kafka's `ClientQuotasImage.describe`."""
    version = context.api_version
    if not is_allowed(context, cluster, DESCRIBE_CONFIGS_CLUSTER):
        return messages.DescribeClientQuotasResponse(
            version=version,
            error_code=DESCRIBE_CONFIGS_CLUSTER.error_code,
            error_message=None,
            entries=None,
        )
    components = [
        Component(component.entity_type, component.match_type, component.match)
        for component in paced(request.components)
    ]
    found = cluster.quotas.clients.describe(components, strict=request.strict)
    if isinstance(found, FilterProblem):
        is_unsupported = found.is_unsupported
        return messages.DescribeClientQuotasResponse(
            version=version,
            error_code=(
                ErrorCode.UNSUPPORTED_VERSION if is_unsupported else ErrorCode.INVALID_REQUEST
            ),
            error_message=found.message[:1000],
            entries=None,
        )
    values_by_entity = dict(found)
    # Kafka filters the entries of the map of all entities.
    capacity = grown_capacity(cluster.quotas.clients.entity_count, capacity_min=1)
    return messages.DescribeClientQuotasResponse(
        version=version,
        error_code=ErrorCode.NONE,
        error_message="",
        entries=[
            _Entry(
                version=version,
                entity=[
                    _Entry.EntityData(version=version, entity_type=entity_type, entity_name=name)
                    for entity_type, name in ordered_names(entity)
                ],
                values=[
                    _Entry.ValueData(version=version, key=key, value=value)
                    for key, value in values_by_entity[entity].items()
                ],
            )
            for entity in ordered_entities(values_by_entity, capacity_min=capacity)
        ],
    )
