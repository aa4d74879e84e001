"""StreamsGroupTopologyDescriptionUpdate: v0.

Behaviour:
    - Stores the description of a topology (KIP-1331) in its group, if
      group.streams.topology.description.plugin.class names a class, whichever: no class is loaded.
      StreamsGroupDescribe returns it. It is deleted with the group.
    - Without that key UNSUPPORTED_VERSION, as Kafka without a plugin.
    - INVALID_REQUEST for an empty id, another epoch than that of the group's topology, a node of an
      unknown type, and a global store that is not made of a source and a processor.
    - Other errors: GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
      NOT_COORDINATOR.
"""

from broker.authorization.checks import READ_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import has_streams_protocol, ownership_error
from broker.errors import Refusal
from broker.groups.streams.topology_description import (
    DescribedSubtopology,
    GlobalStore,
    Node,
    NodeType,
    TopologyDescription,
)
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Description = messages.StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription
_Node = (
    _Description.TopologyDescriptionSubtopology.TopologyDescriptionNode
    | _Description.TopologyDescriptionGlobalStore.TopologyDescriptionNode
)


@handles(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, checks=(READ_GROUP,))
@may_pause
def handle_streams_group_topology_description_update(
    context: RequestContext,
    request: "messages.StreamsGroupTopologyDescriptionUpdateRequest",
    cluster: Cluster,
) -> "messages.StreamsGroupTopologyDescriptionUpdateResponse":
    """Kafka's `KafkaApis.handleStreamsGroupTopologyDescriptionUpdate`."""
    refusal = _refusal(context, request, cluster) or cluster.groups.streams.store_description(
        request.group_id,
        request.member_id,
        request.topology_epoch,
        _description(request.topology_description),
        context.now_ms,
    )
    return messages.StreamsGroupTopologyDescriptionUpdateResponse(
        version=context.api_version,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message=None if refusal is None else refusal.error_message,
    )


def _refusal(
    context: RequestContext,
    request: "messages.StreamsGroupTopologyDescriptionUpdateRequest",
    cluster: Cluster,
) -> Refusal | None:
    if not has_streams_protocol(cluster):
        return Refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    if not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return Refusal(READ_GROUP.error_code, None)
    if not cluster.groups.streams.keeps_descriptions:
        return Refusal(
            ErrorCode.UNSUPPORTED_VERSION,
            "The broker has no streams group topology description plugin configured.",
        )
    for name, text in (("MemberId", request.member_id), ("GroupId", request.group_id)):
        if not text.strip():
            return Refusal(ErrorCode.INVALID_REQUEST, f"{name} can't be empty.")
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    return None if error_code is ErrorCode.NONE else Refusal(error_code, None)


@may_pause
def _description(sent: _Description) -> TopologyDescription:
    return TopologyDescription(
        tuple(
            DescribedSubtopology(
                subtopology.subtopology_id, tuple(_node(node) for node in paced(subtopology.nodes))
            )
            for subtopology in paced(sent.subtopologies)
        ),
        tuple(
            GlobalStore(_node(store.source), _node(store.processor))
            for store in paced(sent.global_stores)
        ),
    )


def _node(sent: _Node) -> Node:
    """Return a node without what a node of its type does not have."""
    node_type = sent.node_type
    topics = sent.source_topics if node_type == NodeType.SOURCE else ()
    stores = sent.stores if node_type == NodeType.PROCESSOR else ()
    return Node(
        sent.name,
        node_type,
        source_topics=tuple(dict.fromkeys(topics)),
        sink_topic=sent.sink_topic if node_type == NodeType.SINK else None,
        stores=tuple(dict.fromkeys(stores)),
        successors=tuple(dict.fromkeys(sent.successors)),
    )
