"""IncrementalAlterConfigs: v0-1.

Behaviour:
    Changes single keys of a resource and leaves the others: SET, DELETE (back to the default),
    APPEND and SUBTRACT (lists only, else INVALID_CONFIG). Topics, brokers (by id, or without a name
    for all of them), groups and client metrics. Each resource is changed whole or not at all;
    `validate_only` checks without changing.
    A resource or a key that occurs twice, a null value other than for DELETE, an unknown operation
    or resource type are INVALID_REQUEST; a topic's unknown key or bad value is INVALID_CONFIG, a
    broker's INVALID_REQUEST, and so is a broker's key that can't be changed at run time.
    A change counts from the next request on.

Gaps:
    Unknown keys of a broker are refused; Kafka keeps them for plug-ins.
    A key that all brokers share, such as a topic's default, can't be set for one of several; with
    a single broker it can.
    There are no broker loggers: naming one is INVALID_CONFIG.
    Keys of groups and client metrics are kept and described, and have no effect.
"""

from typing import Any

from broker.administration.config_alteration import Alteration, Operation, alter_configs
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

_Result = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


@handles(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1))
def handle_incremental_alter_configs(
    context: RequestContext, request: Any, cluster: Cluster
) -> Any:
    """Kafka's `ConfigurationControlManager.incrementalAlterConfigs` (KIP-339)."""
    alterations = [
        Alteration(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            operations=tuple(
                Operation(config.name, config.config_operation, config.value)
                for config in resource.configs
            ),
            is_replacement=False,
        )
        for resource in request.resources
    ]
    refusals = alter_configs(
        cluster, context.broker_id, alterations, validate_only=request.validate_only
    )
    return messages.IncrementalAlterConfigsResponse(
        version=context.api_version,
        throttle_time_ms=0,
        responses=[
            _Result(
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.error_message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, refusal in zip(request.resources, refusals, strict=True)
        ],
    )
