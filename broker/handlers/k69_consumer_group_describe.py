"""ConsumerGroupDescribe: v0-1.

Behaviour:
    - Returns the state, epochs, assignor and members of each group of the consumer protocol. Each
      member has its current and its target assignment, without topics that were deleted. From Kafka
      4.3 on (broker.api.versions) the current one has also what the member still has to revoke.
    - A group that does not exist, or is a classic one, gets GROUP_ID_NOT_FOUND with a message, a
      group of another coordinator NOT_COORDINATOR, an empty id INVALID_GROUP_ID.
    - From v1 members have a type: 1 uses the consumer protocol, 0 the classic one.
    - Groups that the client may not describe come first (GROUP_AUTHORIZATION_FAILED). A group whose
      members have topics that it may not describe gets TOPIC_AUTHORIZATION_FAILED with a message.
    - UNSUPPORTED_VERSION for each group while group.version is 0, or
      group.coordinator.rebalance.protocols lacks consumer.
"""

from functools import partial

from broker.administration.described_groups import assigned_topics, described_groups
from broker.authorization.checks import DESCRIBE_GROUP, DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import (
    has_consumer_protocol,
    ownership_error,
)
from broker.config.api_versions import release_of
from broker.errors import Refusal
from broker.groups.consumer.assignment import Assignment, assignment_of
from broker.groups.consumer.member import ConsumerMember
from broker.groups.modern_group import group_not_found
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.hash_order import in_set_order
from protocol.pacing import may_pause, paced
from protocol.releases import Release

CLASSIC_MEMBER_TYPE = 0
CONSUMER_MEMBER_TYPE = 1
PENDING_ARE_ASSIGNED_SINCE: Release = (4, 3)
"""First release that describes partitions which a member has to revoke as assigned to it."""

_GroupResponse = messages.ConsumerGroupDescribeResponse.DescribedGroup
_Member = _GroupResponse.Member
_Assignment = _Member.Assignment


@handles(ApiKey.CONSUMER_GROUP_DESCRIBE, checks=(DESCRIBE_GROUP, DESCRIBE_TOPIC))
@may_pause
def handle_consumer_group_describe(
    context: RequestContext, request: "messages.ConsumerGroupDescribeRequest", cluster: Cluster
) -> "messages.ConsumerGroupDescribeResponse":
    """Kafka's `KafkaApis.handleConsumerGroupDescribe`."""
    version = context.api_version
    refused = partial(_refused, version)
    if not has_consumer_protocol(cluster):
        unsupported = Refusal(ErrorCode.UNSUPPORTED_VERSION, None)
        groups = [refused(group_id, unsupported) for group_id in paced(request.group_ids)]
    else:
        describe = partial(_describe, context, cluster)
        groups = described_groups(context, cluster, request, describe, refused, assigned_topics)
    return messages.ConsumerGroupDescribeResponse(version=version, groups=groups)


@may_pause
def _describe(context: RequestContext, cluster: Cluster, group_id: str) -> _GroupResponse:
    version = context.api_version
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if not group_id:
        error_code = ErrorCode.INVALID_GROUP_ID
    if error_code is not ErrorCode.NONE:
        return _refused(version, group_id, Refusal(error_code, None))
    group = cluster.groups.describe_consumer_group(group_id)
    if group_id in cluster.share.groups:
        group = group_not_found(f"Group {group_id} is not a consumer group.")
    if isinstance(group, Refusal):
        return _refused(version, group_id, group)
    has_pending = release_of(cluster.shared_config) >= PENDING_ARE_ASSIGNED_SINCE
    return _GroupResponse(
        version=version,
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor_name,
        members=[
            _member(member, target, cluster, version, has_pending=has_pending)
            for member, target in paced(group.members)
        ],
    )


def _refused(version: int, group_id: str, refusal: Refusal) -> _GroupResponse:
    return _GroupResponse(
        version=version,
        group_id=group_id,
        error_code=refusal.error_code,
        error_message=refusal.message,
    )


@may_pause
def _member(
    member: ConsumerMember,
    target: Assignment,
    cluster: Cluster,
    version: int,
    *,
    has_pending: bool,
) -> _Member:
    is_classic = member.classic is not None
    owned = list(member.assigned_partitions.items())
    if has_pending:
        owned += member.partitions_pending_revocation.items()
    return _Member(
        version=version,
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=in_set_order(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_named(assignment_of(owned), cluster, version),
        target_assignment=_named(target, cluster, version),
        member_type=CLASSIC_MEMBER_TYPE if is_classic else CONSUMER_MEMBER_TYPE,
    )


def _named(assignment: Assignment, cluster: Cluster, version: int) -> _Assignment:
    topics = ((cluster.topics.get_by_id(topic_id), found) for topic_id, found in assignment.items())
    return _Assignment(
        version=version,
        topic_partitions=[
            _Assignment.TopicPartitions(
                version=version,
                topic_id=topic.topic_id,
                topic_name=topic.name,
                partitions=sorted(indexes),
            )
            for topic, indexes in topics
            if topic is not None
        ],
    )
