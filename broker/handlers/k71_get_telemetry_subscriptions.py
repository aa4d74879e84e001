"""GetTelemetrySubscriptions: v0.

Behaviour:
    - Returns the metrics that the client-metrics resources ask of this client, the push interval
      and the id of the subscription. A client without an id gets a new one.
    - THROTTLING_QUOTA_EXCEEDED before the next push interval, unless the last push had
      UNKNOWN_SUBSCRIPTION_ID or UNSUPPORTED_COMPRESSION_TYPE, or the subscription changed.
    - The largest push is telemetry.max.bytes.
    - ApiVersions does not list it, as in Kafka without a plugin that receives metrics. Name it in
      broker.api.versions to advertise it.
    - The broker forgets a client instance when the connection that made it closes.
"""

from broker.cluster.client_metrics import (
    ACCEPTED_COMPRESSION_TYPES,
    NO_INSTANCE_ID,
    RESERVED_IDS,
    subscription_of,
)
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.request.telemetry import client_attributes
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


@handles(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS)
@may_pause
def handle_get_telemetry_subscriptions(
    context: RequestContext, request: "messages.GetTelemetrySubscriptionsRequest", cluster: Cluster
) -> "messages.GetTelemetrySubscriptionsResponse":
    """Kafka's `ClientMetricsManager.processGetTelemetrySubscriptionRequest`."""
    instance_id = request.client_instance_id or NO_INSTANCE_ID
    if instance_id == NO_INSTANCE_ID:
        while instance_id in RESERVED_IDS:
            instance_id = cluster.new_uuid()
    subscription = subscription_of(cluster.config, client_attributes(context, instance_id))
    instance = cluster.client_instances.find(
        context.broker_id,
        context.connection_id,
        instance_id,
        subscription,
        context.now_ms,
    )
    error_code = instance.ask(context.now_ms)
    if error_code is not ErrorCode.NONE:
        return messages.GetTelemetrySubscriptionsResponse(throttle_time_ms=0, error_code=error_code)
    return messages.GetTelemetrySubscriptionsResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        client_instance_id=instance_id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=list(ACCEPTED_COMPRESSION_TYPES),
        push_interval_ms=subscription.push_interval_ms,
        telemetry_max_bytes=cluster.config["telemetry.max.bytes"],
        delta_temporality=True,
        requested_metrics=list(subscription.metrics),
    )
