"""AlterConfigs: v0-2.

Behaviour:
    - Replaces the whole configuration of a resource: keys that the request does not name return to
      their default. Resources are topics, brokers (by id, or without a name for all), groups and
      client metrics.
    - Each resource is changed completely or not at all. `validate_only` checks without changing.
    - A resource or key that occurs twice, a null value and an unknown resource type get
      INVALID_REQUEST. An unknown key or invalid value gets INVALID_CONFIG for a topic and
      INVALID_REQUEST for a broker.
    - A change applies from the next request on.

Gaps:
    - Unknown keys of a broker are refused; Kafka keeps them for plug-ins.
    - A key that all brokers share, such as a topic's default, cannot be set for one of several
      brokers. With a single broker it can.
    - Keys of groups and client metrics are stored and described, and have no effect.
"""

from typing import Any

from broker.administration.config_alteration import Alteration, Operation, alter_configs
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ConfigOperation
from protocol.errors import ErrorCode

_Result = messages.AlterConfigsResponse.AlterConfigsResourceResponse


@handles(ApiKey.ALTER_CONFIGS, versions=(0, 2))
def handle_alter_configs(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `ConfigurationControlManager.legacyAlterConfigs`."""
    alterations = [
        Alteration(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            operations=tuple(
                Operation(config.name, ConfigOperation.SET, config.value)
                for config in resource.configs
            ),
            is_replacement=True,
        )
        for resource in request.resources
    ]
    refusals = alter_configs(
        cluster, context.broker_id, alterations, validate_only=request.validate_only
    )
    return messages.AlterConfigsResponse(
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
