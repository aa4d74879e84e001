"""ShareGroupDescribe: v1.

Behaviour:
    - Returns the state, the epochs and the members of share groups: Empty or Stable, the simple
      assignor, and each member's subscription and partitions.
    - GROUP_ID_NOT_FOUND for a group that does not exist or is of another type, NOT_COORDINATOR for
      a group of another coordinator, INVALID_GROUP_ID for an empty id.
    - Groups that the client may not describe come first (GROUP_AUTHORIZATION_FAILED). A group whose
      members have topics that it may not describe gets TOPIC_AUTHORIZATION_FAILED with a message.
    - UNSUPPORTED_VERSION unless the feature share.version is 1.
"""

from functools import partial

from broker.administration.described_groups import assigned_topics, described_groups
from broker.authorization.checks import DESCRIBE_GROUP, DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
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


@handles(ApiKey.SHARE_GROUP_DESCRIBE, checks=(DESCRIBE_GROUP, DESCRIBE_TOPIC))
@may_pause
def handle_share_group_describe(
    context: RequestContext, request: "messages.ShareGroupDescribeRequest", cluster: Cluster
) -> "messages.ShareGroupDescribeResponse":
    """Kafka's `KafkaApis.handleShareGroupDescribe`."""
    if not are_share_groups_enabled(cluster):
        unsupported = Refusal(ErrorCode.UNSUPPORTED_VERSION, None)
        groups = [_refused(group_id, unsupported) for group_id in paced(request.group_ids)]
    else:
        describe = partial(_describe, context, cluster)
        groups = described_groups(context, cluster, request, describe, _refused, assigned_topics)
    return _Response(groups=groups)


@may_pause
def _describe(context: RequestContext, cluster: Cluster, group_id: str) -> _Group:
    if not group_id:
        return _refused(group_id, Refusal(ErrorCode.INVALID_GROUP_ID, None))
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if error_code is not ErrorCode.NONE:
        return _refused(group_id, Refusal(error_code, None))
    group = cluster.share.groups.find(group_id)
    if isinstance(group, Refusal):
        return _refused(group_id, group)
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


def _refused(group_id: str, refusal: Refusal) -> _Group:
    return _Group(
        group_id=group_id,
        error_code=refusal.error_code,
        error_message=refusal.error_message,
        group_state="",
        assignor_name="",
        members=[],
    )
