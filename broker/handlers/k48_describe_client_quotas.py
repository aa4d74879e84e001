"""DescribeClientQuotas: v0-1.

Behaviour:
    Every entity that matches all components, with its keys, in the order they were first set. A
    component asks for one name, for the default, or for any of a type; no components match all.
    With `strict` the entity has no types besides those of the components.
    INVALID_REQUEST: an empty type, a type twice, an unknown kind of match, a name where there is
    none to give or none where one is needed, addresses together with users or client ids.
    UNSUPPORTED_VERSION: a type that isn't user, client-id or ip. Any broker answers.
"""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from quotas.client_quotas import Component, FilterProblem

_Entry = messages.DescribeClientQuotasResponse.EntryData


@handles(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1))
def handle_describe_client_quotas(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `ClientQuotasImage.describe`."""
    version = context.api_version
    components = [
        Component(each.entity_type, each.match_type, each.match) for each in request.components
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
    return messages.DescribeClientQuotasResponse(
        version=version,
        error_code=ErrorCode.NONE,
        error_message=None,
        entries=[
            _Entry(
                version=version,
                entity=[
                    _Entry.EntityData(version=version, entity_type=entity_type, entity_name=name)
                    for entity_type, name in entity
                ],
                values=[
                    _Entry.ValueData(version=version, key=key, value=value)
                    for key, value in values.items()
                ],
            )
            for entity, values in found
        ],
    )
