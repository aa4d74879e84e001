"""AlterConfigs: v0-2.

Behaviour:
    Replaces everything set on a resource: keys that the request doesn't name go back to their
    default. Topics, brokers (by id, or without a name for all of them), groups and client metrics.
    Each resource is changed whole or not at all; `validate_only` checks without changing.
    A resource or a key that occurs twice, a null value and an unknown resource type are
    INVALID_REQUEST; a topic's unknown key or bad value is INVALID_CONFIG, a broker's
    INVALID_REQUEST. A change counts from the next request on.

Gaps:
    Unknown keys of a broker are refused; Kafka keeps them for plug-ins.
    A key that all brokers share, such as a topic's default, can't be set for one of several; with
    a single broker it can.
    Keys of groups and client metrics are kept and described, and have no effect.
"""

from typing import Any

from broker.administration.config_alteration import (
    Alteration,
    Operation,
    OperationKind,
    alter_configs,
)
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
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
                Operation(config.name, OperationKind.SET, config.value)
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
