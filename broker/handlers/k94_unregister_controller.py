"""UnregisterController: v0.

Behaviour:
    - Removes the registration of a controller. One that is up registers again at once, so only that
      of a broker that is down stays away, until it is started.
    - Errors: CLUSTER_AUTHORIZATION_FAILED without ALTER on the cluster, UNSUPPORTED_VERSION if
      metadata.version is below 4.4-IV2, INVALID_REQUEST for the active controller,
      CONTROLLER_ID_NOT_REGISTERED.
"""

from broker.administration.quorum import voter_ids
from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.config.features import METADATA_VERSION
from broker.errors import Refusal
from broker.request.cluster_operation import refuse_cluster_operation
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

METADATA_VERSION_MIN = 33
"""The level of metadata.version 4.4-IV2, whose records can remove a controller."""


@handles(ApiKey.UNREGISTER_CONTROLLER, checks=(ALTER_CLUSTER,))
def handle_unregister_controller(
    context: RequestContext, request: "messages.UnregisterControllerRequest", cluster: Cluster
) -> "messages.UnregisterControllerResponse":
    """Kafka's `ControllerApis.handleUnregisterController`."""
    refusal = refuse_cluster_operation(context, cluster, ALTER_CLUSTER) or _refuse(
        cluster, request.controller_id
    )
    if refusal is None:
        broker = cluster.broker(request.controller_id)
        broker.is_unregistered_controller = broker.availability is not Availability.UP
    return messages.UnregisterControllerResponse(
        version=context.api_version,
        throttle_time_ms=0,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message="" if refusal is None else refusal.error_message,
    )


def _refuse(cluster: Cluster, controller_id: int) -> Refusal | None:
    """Kafka's `QuorumController.unregisterController`."""
    if controller_id == cluster.controller_id:
        return Refusal(
            ErrorCode.INVALID_REQUEST, "Controller cannot unregister itself while it is active."
        )
    if cluster.features.level(METADATA_VERSION) < METADATA_VERSION_MIN:
        return Refusal(
            ErrorCode.UNSUPPORTED_VERSION,
            "The current MetadataVersion is too old to support controller unregistration.",
        )
    is_registered = controller_id in voter_ids(cluster) and not (
        cluster.broker(controller_id).is_unregistered_controller
    )
    if not is_registered:
        return Refusal(
            ErrorCode.CONTROLLER_ID_NOT_REGISTERED,
            f"Controller ID {controller_id} is not currently registered.",
        )
    return None
