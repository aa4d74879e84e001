"""UnregisterBroker: v0.

Behaviour:
    - Fences a broker and removes it from the metadata. Partitions keep it as a replica that is
      offline, until they are moved. An unknown broker gets BROKER_ID_NOT_REGISTERED, with a message
      since Kafka 4.1.
    - A broker that is up continues to serve its connections, as in Kafka, until it is stopped.
    - Without ALTER on the cluster the error is CLUSTER_AUTHORIZATION_FAILED.
    - The response is sent at once, also if elections wait in the controller's queue.

Gaps:
    - The last broker is fenced, but stays registered: a cluster without brokers answers nobody.
"""

from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.broker_membership import unregister_fenced_broker
from broker.cluster.cluster import Cluster
from broker.config.api_versions import release_of
from broker.errors import Refusal
from broker.request.cluster_operation import refuse_cluster_operation
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

MESSAGE_RELEASE_MIN = (4, 1)


@handles(ApiKey.UNREGISTER_BROKER, checks=(ALTER_CLUSTER,))
@may_pause
def handle_unregister_broker(
    context: RequestContext, request: "messages.UnregisterBrokerRequest", cluster: Cluster
) -> "messages.UnregisterBrokerResponse":
    """Kafka's `ControllerApis.handleUnregisterBroker`."""
    broker_id = request.broker_id
    refusal = refuse_cluster_operation(context, cluster, ALTER_CLUSTER)
    if refusal is None and broker_id not in cluster.brokers:
        has_message = release_of(cluster.shared_config) >= MESSAGE_RELEASE_MIN
        message = f"Broker ID {broker_id} is not currently registered" if has_message else ""
        refusal = Refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
    if refusal is None:
        unregister_fenced_broker(cluster, broker_id, context.now_ms)
    return messages.UnregisterBrokerResponse(
        version=context.api_version,
        throttle_time_ms=0,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message="" if refusal is None else refusal.error_message,
    )
