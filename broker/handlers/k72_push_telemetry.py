"""PushTelemetry: v0.

Behaviour:
    - Takes the metrics of a client and drops them: no plugin receives them.
    - INVALID_REQUEST for a reserved client instance id and after a push with `terminating`;
      THROTTLING_QUOTA_EXCEEDED before the next push interval, except for the first push after a
      subscription and a terminating one; UNKNOWN_SUBSCRIPTION_ID, UNSUPPORTED_COMPRESSION_TYPE,
      TELEMETRY_TOO_LARGE for more than telemetry.max.bytes.
    - ApiVersions does not list it, like GetTelemetrySubscriptions.
"""

from broker.cluster.client_metrics import NO_INSTANCE_ID, RESERVED_IDS, subscription_of
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.request.telemetry import client_attributes
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


@handles(ApiKey.PUSH_TELEMETRY)
@may_pause
def handle_push_telemetry(
    context: RequestContext, request: "messages.PushTelemetryRequest", cluster: Cluster
) -> "messages.PushTelemetryResponse":
    """Kafka's `ClientMetricsManager.processPushTelemetryRequest`."""
    instance_id = request.client_instance_id or NO_INSTANCE_ID
    if instance_id in RESERVED_IDS:
        error_code = ErrorCode.INVALID_REQUEST
    else:
        subscription = subscription_of(cluster.config, client_attributes(context, instance_id))
        instance = cluster.client_instances.find(
            context.broker_id,
            context.connection_id,
            instance_id,
            subscription,
            context.now_ms,
        )
        error_code = instance.push(
            request.subscription_id,
            request.compression_type,
            len(request.metrics or b""),
            context.now_ms,
            is_terminating=request.terminating,
            size_bytes_max=cluster.config["telemetry.max.bytes"],
        )
    return messages.PushTelemetryResponse(throttle_time_ms=0, error_code=error_code)
