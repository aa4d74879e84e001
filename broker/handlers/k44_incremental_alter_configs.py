"""IncrementalAlterConfigs: v0-1.

Behaviour:
    - Changes single keys of a resource: SET, DELETE (back to the default), APPEND and SUBTRACT
      (lists only, else INVALID_CONFIG). Resources are topics, brokers (by id, or without a name for
      all), groups and client metrics.
    - Each resource is changed completely or not at all. `validate_only` checks without changing.
    - A resource or key that occurs twice, a null value except for DELETE, and an unknown operation
      or resource type get INVALID_REQUEST. An unknown key or invalid value gets INVALID_CONFIG for
      a topic and INVALID_REQUEST for a broker, as does a broker's read-only key.
    - A change applies from the next request on.

Gaps:
    - Unknown keys of a broker are refused; Kafka keeps them for plug-ins.
    - A key that all brokers share, such as a topic's default, cannot be set for one of several
      brokers. With a single broker it can.
    - There are no broker loggers: naming one is INVALID_CONFIG.
    - Keys of groups and client metrics are stored and described, and have no effect.
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
