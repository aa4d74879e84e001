"""ShareGroupDescribe: v1.

Behaviour:
    - Returns the state, the epochs and the members of share groups: Empty or Stable, the simple
      assignor, and each member's subscription and partitions.
    - GROUP_ID_NOT_FOUND for a group that does not exist or is of another type, NOT_COORDINATOR for
      a group of another coordinator, INVALID_GROUP_ID for an empty id.
    - UNSUPPORTED_VERSION unless the feature share.version is 1.
    - Authorized operations, if requested, are all operations: nothing is forbidden.
"""

from broker.administration.authorized_operations import GROUP_OPERATIONS, bit_field
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import behind_empty_ids, ownership_error
from broker.cluster.share_loading import are_share_groups_enabled
from broker.errors import Refusal
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.member import ShareMember
from broker.share_groups.simple_assignor import NAME
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.hash_order import in_set_order
from protocol.pacing import may_pause, paced

_Response = messages.ShareGroupDescribeResponse
_Group = _Response.DescribedGroup
_Member = _Group.Member
_Assignment = _Member.Assignment


@handles(ApiKey.SHARE_GROUP_DESCRIBE)
@may_pause
def handle_share_group_describe(
    context: RequestContext, request: "messages.ShareGroupDescribeRequest", cluster: Cluster
) -> "messages.ShareGroupDescribeResponse":
    """Kafka's `KafkaApis.handleShareGroupDescribe`."""
    if not are_share_groups_enabled(cluster):
        unsupported = ErrorCode.UNSUPPORTED_VERSION
        return _Response(
            groups=[_error(group_id, unsupported) for group_id in paced(request.group_ids)]
        )
    group_ids = behind_empty_ids(cluster, request.group_ids)
    groups = [_describe(context, group_id, cluster) for group_id in paced(group_ids)]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = bit_field(GROUP_OPERATIONS)
    return _Response(groups=groups)


@may_pause
def _describe(context: RequestContext, group_id: str, cluster: Cluster) -> _Group:
    if not group_id:
        return _error(group_id, ErrorCode.INVALID_GROUP_ID)
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if error_code is not ErrorCode.NONE:
        return _error(group_id, error_code)
    group = cluster.share.groups.find(group_id)
    if isinstance(group, Refusal):
        return _error(group_id, group.error_code, group.error_message)
    return _Group(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=NAME,
        members=[_member(member, cluster) for member in paced(group.members.values())],
    )


@may_pause
def _member(member: ShareMember, cluster: Cluster) -> _Member:
    topics = [
        (topic, indexes)
        for topic_id, indexes in member.assigned.items()
        if (topic := cluster.topics.get_by_id(topic_id)) is not None
    ]
    return _Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=in_set_order(member.subscribed_topic_names),
        assignment=_Assignment(
            topic_partitions=[
                _Assignment.TopicPartitions(
                    topic_id=topic.topic_id, topic_name=topic.name, partitions=sorted(indexes)
                )
                for topic, indexes in topics
            ]
        ),
    )


def _error(group_id: str, error_code: ErrorCode, error_message: str | None = None) -> _Group:
    return _Group(
        group_id=group_id,
        error_code=error_code,
        error_message=error_message,
        group_state="",
        assignor_name="",
        members=[],
    )
