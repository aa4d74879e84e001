"""IncrementalAlterConfigs: v0-1.

Behaviour:
    - Changes single keys of a resource: SET, DELETE (back to the default), APPEND and SUBTRACT
      (lists only, else INVALID_CONFIG). Resources are topics, brokers (by id, or without a name for
      all), groups and client metrics.
    - Each resource is changed completely or not at all. `validate_only` checks without changing.
    - A resource or key that occurs twice, a null value except for DELETE, and an unknown resource
      type get INVALID_REQUEST. An unknown operation on a topic, group or client metrics is
      UNKNOWN_SERVER_ERROR for every resource that the broker does not refuse itself.
    - An unknown key or invalid value gets INVALID_CONFIG for a topic or group. For a broker an
      invalid value and a read-only key are INVALID_REQUEST; unknown keys are kept, for plug-ins.
    - min.insync.replicas cannot be removed from all brokers, nor set for one, while the feature
      eligible.leader.replicas.version is on (KIP-966).
    - With an authorizer the client needs ALTER_CONFIGS: on the topic or group, and on the cluster
      for brokers and client metrics, else the type's own error, such as TOPIC_AUTHORIZATION_FAILED.
      It comes after the errors of malformed resources.
    - A change applies from the next request on. A key that would act in Kafka and does not act
      here is taken, and a line of the broker's log says so.

Gaps:
    - log.memory.max.bytes and controller.mutation.time.us, which Kafka does not have, cannot be set
      for one of several brokers.
    - There are no broker loggers, which are classes of Java: naming one is INVALID_CONFIG.
    - The listeners of a broker cannot be changed. Classes of plug-ins are not looked up.
"""

from broker.administration.config_alteration import alter_requested_configs
from broker.administration.config_authorization import ALTER_CONFIGS
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause

_Result = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


@handles(ApiKey.INCREMENTAL_ALTER_CONFIGS, checks=ALTER_CONFIGS)
@may_pause
def handle_incremental_alter_configs(
    context: RequestContext, request: "messages.IncrementalAlterConfigsRequest", cluster: Cluster
) -> "messages.IncrementalAlterConfigsResponse":
    """Kafka's `ConfigurationControlManager.incrementalAlterConfigs` (KIP-339)."""
    return messages.IncrementalAlterConfigsResponse(
        version=context.api_version,
        throttle_time_ms=0,
        responses=alter_requested_configs(context, cluster, request, _Result, is_replacement=False),
    )
