"""StreamsGroupTopologyDescriptionUpdate: v0.

Behaviour:
    - The broker has no plugin that would store the description of a topology (KIP-1331), as Kafka
      by default: UNSUPPORTED_VERSION. No heartbeat asks for a description.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import has_streams_protocol
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@handles(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE)
def handle_streams_group_topology_description_update(
    context: RequestContext,
    request: "messages.StreamsGroupTopologyDescriptionUpdateRequest",
    cluster: Cluster,
) -> "messages.StreamsGroupTopologyDescriptionUpdateResponse":
    """Kafka's `KafkaApis.handleStreamsGroupTopologyDescriptionUpdate`."""
    message = None
    if has_streams_protocol(cluster):
        message = "The broker has no streams group topology description plugin configured."
    return messages.StreamsGroupTopologyDescriptionUpdateResponse(
        version=context.api_version,
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        error_message=message,
    )
