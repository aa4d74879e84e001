"""ListConfigResources: v0-1.

Behaviour:
    - Lists configurable resources: every topic, every broker and its loggers, the groups and the
      client metrics that have a configuration (KIP-1142). No types, or an empty list, means all.
      v0 lists client metrics only (KIP-714). Types come in Kafka's order: groups, client metrics,
      loggers, brokers, topics.
    - A broker that emulates a release before 4.3 also lists groups that had a configuration.
    - Another type gets UNSUPPORTED_VERSION. Without DESCRIBE_CONFIGS on the cluster the error is
      CLUSTER_AUTHORIZATION_FAILED.
"""

from broker.authorization.checks import DESCRIBE_CONFIGS_CLUSTER
from broker.cluster.cluster import Cluster
from broker.config.api_versions import release_of
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Resource = messages.ListConfigResourcesResponse.ConfigResource
_KNOWN_TYPES = frozenset(ResourceType)
_FORGETS_GROUPS_SINCE = (4, 3)
"""Since then `GroupConfigManager` forgets a group whose last key was deleted."""


@handles(ApiKey.LIST_CONFIG_RESOURCES, checks=(DESCRIBE_CONFIGS_CLUSTER,))
@may_pause
def handle_list_config_resources(
    context: RequestContext, request: "messages.ListConfigResourcesRequest", cluster: Cluster
) -> "messages.ListConfigResourcesResponse":
    """Kafka's `KafkaApis.handleListConfigResources`."""
    if not is_allowed(context, cluster, DESCRIBE_CONFIGS_CLUSTER):
        return messages.ListConfigResourcesResponse(
            version=context.api_version,
            throttle_time_ms=0,
            error_code=DESCRIBE_CONFIGS_CLUSTER.error_code,
            config_resources=[],
        )
    requested_types: list[int] = [ResourceType.CLIENT_METRICS]
    if context.api_version >= 1:
        requested_types = list(request.resource_types or ResourceType)
    is_known = _KNOWN_TYPES.issuperset(requested_types)
    return messages.ListConfigResourcesResponse(
        version=context.api_version,
        throttle_time_ms=0,
        error_code=ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_VERSION,
        config_resources=[
            _Resource(resource_name=name, resource_type=resource_type)
            for resource_type in sorted(set(requested_types if is_known else ()), reverse=True)
            for name in _names(context, cluster, ResourceType(resource_type))
        ],
    )


@may_pause
def _names(context: RequestContext, cluster: Cluster, resource_type: ResourceType) -> list[str]:
    match resource_type:
        case ResourceType.TOPIC:
            return [topic.name for topic in paced(cluster.topics.all())]
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return [str(node_id) for node_id in cluster.alive_broker_ids()]
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            release = release_of(cluster.config.for_broker(context.broker_id))
            return sorted(
                name
                for (kind, name), layer in cluster.config.resources.items()
                if kind is resource_type and (layer or release < _FORGETS_GROUPS_SINCE)
            )
