"""Change the protocol of a group that has members.

A group of the classic protocol is upgraded by its first member of the consumer protocol. A group of
the consumer protocol is downgraded when its last member of that protocol is gone. Sources:
`convertToConsumerGroup` and `convertToClassicGroup` of Kafka's `GroupMetadataManager`.
"""

from broker.errors import Refusal
from broker.groups.consumer.assignment import with_epoch
from broker.groups.consumer.embedded import (
    CustomAssignorError,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.group_state import ConsumerGroupState
from broker.groups.consumer.member import ClassicMetadata, ConsumerMember
from broker.groups.consumer.topics import TopicSource
from broker.groups.group import CONSUMER_PROTOCOL_TYPE, Group
from broker.groups.members import Member
from broker.groups.modern_rules import GetModernRules
from broker.groups.results import GroupState
from broker.groups.session_timer import SessionTimer
from broker.timers import Timers
from protocol.codec import DecodeError
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


def upgrade(
    group: Group, topics: TopicSource, rules: GetModernRules, *, policy: str, size_max: int
) -> ConsumerGroup | Refusal:
    """Return the group of the consumer protocol with the members of a classic one.

    `policy` is `group.consumer.migration.policy`, `size_max` the size of a group of the consumer
    protocol. The classic group stays as it is.
    """
    if policy.lower() not in {"upgrade", "bidirectional"}:
        return _refusal(group, "online upgrade is disabled.")
    if not group.is_consumer_group:
        return _refusal(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > size_max:
        return _refusal(group, "the group size exceeds the consumer group maximum size.")
    try:
        members = {m.member_id: _upgraded_member(group, m, topics) for m in group.members}
    except DecodeError:
        return _refusal(group, "the embedded consumer protocol is malformed.")
    except CustomAssignorError:
        return _refusal(
            group,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch"
            " to a default assignor before re-attempting the upgrade.",
        )
    upgraded = ConsumerGroup(group.group_id, group.offsets, rules)
    upgraded.restore(members, group.generation_id, topics)
    # A rebalance that was going on has to have a result, and a classic group does not know yet of
    # partitions that its leader has not seen. Kafka gets an epoch from the new member, but not if
    # that is static and replaces its own classic client.
    is_stable = group.state is GroupState.STABLE
    upgraded.must_rise = not (is_stable and _owns_all_partitions(upgraded, topics))
    return upgraded


def _owns_all_partitions(group: ConsumerGroup, topics: TopicSource) -> bool:
    return all(
        group.is_owned((topic.topic_id, index))
        for topic in group.subscribed_topics(topics)
        for index in range(topic.partition_count)
    )


def _refusal(group: Group, reason: str) -> Refusal:
    return Refusal(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}",
    )


def _upgraded_member(group: Group, member: Member, topics: TopicSource) -> ConsumerMember:
    assigned = decode_assignment(member.assignment, topics)
    metadata = member.protocols.get(group.protocol_name or next(iter(member.protocols)), b"")
    subscription = decode_subscription(metadata, topics)
    return ConsumerMember(
        member_id=member.member_id,
        member_epoch=group.generation_id,
        previous_member_epoch=group.generation_id,
        group_instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=subscription.topic_names,
        assigned_partitions=assigned,
        partition_epochs=with_epoch(assigned, group.generation_id),
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
    )


def can_downgrade(
    group: ConsumerGroup, removed: frozenset[str], *, policy: str, size_max: int
) -> bool:
    """Return whether the members that remain make the group a classic one.

    `size_max` is `group.max.size`.
    """
    remaining = [member for id_, member in group.members.items() if id_ not in removed]
    return (
        0 < len(remaining) <= size_max
        and all(member.classic is not None for member in remaining)
        and policy.lower() in {"downgrade", "bidirectional"}
    )


def must_rebalance(group: ConsumerGroup) -> bool:
    """Return whether a group has to rebalance when it is downgraded and no member has left it.

    A member that waits for partitions knows the generation without them, so that a stable classic
    group would never return them to it. Kafka rebalances only if there is no target yet.
    """
    return group.state is not ConsumerGroupState.STABLE


@may_pause
def fill_downgraded(
    classic: Group,
    group: ConsumerGroup,
    removed: frozenset[str],
    topics: TopicSource,
    timers: Timers,
    now_ms: int,
) -> None:
    """Give an empty classic group the remaining members of a group, with what they shall own."""
    for source in group.members.values():
        if source.member_id not in removed:
            member = _downgraded_member(classic, source, timers)
            classic.members.add(member)
            member.session.restart(now_ms, member.session_timeout_ms)
    classic.state, classic.state_since_ms = GroupState.STABLE, now_ms
    classic.generation_id = group.group_epoch
    classic.protocol_type = CONSUMER_PROTOCOL_TYPE
    name = classic.protocol_name = classic.members.select_protocol()
    classic.subscribed_topics = classic.members.subscribed_topics(name)
    for member in classic.members:
        target = group.target_of(member.member_id)
        member.assignment = encode_assignment(target, member.protocols[name], topics)


def _downgraded_member(classic: Group, source: ConsumerMember, timers: Timers) -> Member:
    assert source.classic is not None
    member = Member(
        member_id=source.member_id,
        group_instance_id=source.group_instance_id,
        client_id=source.client_id,
        client_host=source.client_host,
        protocols=source.classic.protocols,
        session_timeout_ms=source.classic.session_timeout_ms,
        rebalance_timeout_ms=source.rebalance_timeout_ms,
        session=SessionTimer(timers, lambda now_ms: classic.expire(member, now_ms)),
        is_new=False,
    )
    return member
