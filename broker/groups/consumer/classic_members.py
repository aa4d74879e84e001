"""Members of the classic protocol in a group of the consumer protocol, while it is upgraded.

They join, sync and heartbeat as ever. The broker is their leader: a JoinGroup ends at once, and the
SyncGroup returns what the broker assigned. A heartbeat sends a member back to join when it has to
revoke partitions, or gets some. Sources: `classicGroupJoinToConsumerGroup` and the functions
`...ToConsumerGroup` after it in Kafka's `GroupMetadataManager`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from broker.groups.consumer.assignment import partitions_of
from broker.groups.consumer.embedded import Subscription, decode_subscription, encode_assignment
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.group_spec import Assignor
from broker.groups.consumer.heartbeat import replace_static, store
from broker.groups.consumer.member import ClassicMetadata, ConsumerMember, MemberState
from broker.groups.consumer.membership import ConsumerMembership
from broker.groups.consumer.sessions import Step
from broker.groups.modern_group import check_instance
from broker.groups.requests import UNKNOWN_MEMBER, JoinRequest, SyncRequest
from broker.groups.results import JoinResult, SyncResult
from protocol.codec import DecodeError
from protocol.errors import ErrorCode

PROTOCOL_TYPE = "consumer"


def join(
    consumers: ConsumerMembership,
    group: ConsumerGroup,
    request: JoinRequest,
    new_member_id: str,
    assignors: Mapping[str, Assignor],
    now_ms: int,
    *,
    size_max: int,
) -> JoinResult:
    """Handle a JoinGroup to a group that has members of the consumer protocol."""
    is_unknown = request.member_id == UNKNOWN_MEMBER
    member_id = new_member_id if is_unknown else request.member_id
    if member_id not in group.members and len(group.members) >= size_max:
        return JoinResult(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER)
    subscription = _subscription(group, request, consumers)
    if subscription is None:
        return JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
    instance_id = request.group_instance_id
    if is_unknown and request.must_know_id and instance_id is None:
        return JoinResult(ErrorCode.MEMBER_ID_REQUIRED, member_id)
    before = group.members.get(member_id)
    if instance_id is not None:
        current = group.static_member(instance_id)
        if not is_unknown:
            refusal = check_instance(group, instance_id, member_id)
            if refusal is not None:
                return JoinResult(refusal.error_code, request.member_id)
        elif current is not None:
            before = replace_static(group, current, member_id)
    member = _joined(before or ConsumerMember(member_id), request, subscription)
    if group.rules.follows_subscriptions:
        member = replace(member, subscribed_topic_regex="")
    assigning = consumers.assigning(group, assignors, now_ms)
    member = store(
        group, before, member, subscription.owned_partitions, consumers.topics, assigning
    )
    sessions = consumers.sessions
    sessions.complete(group, member_id, Step.JOIN)
    sessions.complete(group, member_id, Step.SYNC)
    sessions.complete(group, member_id, Step.REVOKE)
    sessions.restart(group, member_id, request.session_timeout_ms, now_ms)
    sessions.begin(group, member, Step.SYNC, now_ms)
    consumers.write(group, now_ms)
    return JoinResult(
        ErrorCode.NONE,
        member_id,
        generation_id=member.member_epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=next(iter(request.protocols)),
    )


def _subscription(
    group: ConsumerGroup, request: JoinRequest, consumers: ConsumerMembership
) -> Subscription | None:
    """Return the subscription of a member, or None if the group does not support its protocols."""
    if request.protocol_type != PROTOCOL_TYPE or not request.protocols:
        return None
    classic = [m.classic for m in group.members.values() if m.classic is not None]
    counts = Counter(name for metadata in classic for name in metadata.protocols)
    if all(counts[name] != len(classic) for name in request.protocols):
        return None
    try:
        return decode_subscription(next(iter(request.protocols.values())), consumers.topics)
    except DecodeError:
        return None


def _joined(
    member: ConsumerMember, request: JoinRequest, subscription: Subscription
) -> ConsumerMember:
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        group_instance_id=request.group_instance_id or member.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        subscribed_topic_names=subscription.topic_names,
        client_id=request.client_id,
        client_host=request.client_host,
        classic=ClassicMetadata(request.session_timeout_ms, request.protocols),
    )


def sync(
    consumers: ConsumerMembership, group: ConsumerGroup, request: SyncRequest, now_ms: int
) -> SyncResult:
    """Handle a SyncGroup: return what the member may read."""
    member, error_code = _find(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    if member is None or member.classic is None:
        return SyncResult(error_code)
    if request.protocol_type not in {None, PROTOCOL_TYPE}:
        return SyncResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    protocol_name, metadata = next(iter(member.classic.protocols.items()))
    if request.protocol_name not in {None, protocol_name}:
        return SyncResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    sessions = consumers.sessions
    is_revoking = member.state is MemberState.UNREVOKED_PARTITIONS
    if group.epoch_to_reach > member.member_epoch and not is_revoking:
        sessions.begin(group, member, Step.JOIN, now_ms)
        return SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)
    sessions.complete(group, member.member_id, Step.SYNC)
    sessions.restart(group, member.member_id, member.classic.session_timeout_ms, now_ms)
    return SyncResult(
        ErrorCode.NONE,
        request.protocol_type,
        request.protocol_name,
        encode_assignment(member.assigned_partitions, metadata, consumers.topics),
    )


def heartbeat(
    consumers: ConsumerMembership,
    group: ConsumerGroup,
    member_id: str,
    group_instance_id: str | None,
    generation_id: int,
    now_ms: int,
) -> ErrorCode:
    """Restart the session of a member; return REBALANCE_IN_PROGRESS if it must join again."""
    member, error_code = _find(group, member_id, group_instance_id, generation_id)
    if member is None or member.classic is None:
        return error_code
    sessions = consumers.sessions
    sessions.restart(group, member.member_id, member.classic.session_timeout_ms, now_ms)
    if (
        member.member_epoch >= group.epoch_to_reach
        and member.state is not MemberState.UNREVOKED_PARTITIONS
        and not _has_free_partitions(group, member)
    ):
        return ErrorCode.NONE
    sessions.begin(group, member, Step.JOIN, now_ms)
    return ErrorCode.REBALANCE_IN_PROGRESS


def _has_free_partitions(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether all partitions that a member waits for are free now."""
    if member.state is not MemberState.UNRELEASED_PARTITIONS:
        return False
    missing = set(partitions_of(group.target_of(member.member_id))) - set(
        partitions_of(member.assigned_partitions)
    )
    return not any(map(group.is_owned, missing))


def _find(
    group: ConsumerGroup, member_id: str, group_instance_id: str | None, generation_id: int
) -> tuple[ConsumerMember | None, ErrorCode]:
    """Return the member of a request, or None and why it is refused."""
    if group_instance_id is not None:
        refusal = check_instance(group, group_instance_id, member_id)
        if refusal is not None:
            return None, refusal.error_code
    member = group.members.get(member_id)
    if member is None or member.classic is None:
        return None, ErrorCode.UNKNOWN_MEMBER_ID
    if member.member_epoch != generation_id:
        return None, ErrorCode.ILLEGAL_GENERATION
    return member, ErrorCode.NONE
