"""A classic group as a coordinator loads it from its record.

Source: Kafka's `GroupMetadataManager.replay` of a GroupMetadataValue, and `onLoaded`.
"""

from typing import Any

from broker.groups.group import Group
from broker.groups.members import Member
from broker.groups.results import GroupState
from broker.groups.session_timer import SessionTimer
from broker.timers import Timers
from protocol.pacing import may_pause


@may_pause
def fill_loaded(group: Group, value: Any, timers: Timers, now_ms: int) -> None:
    """Give an empty group the generation and the members of a GroupMetadataValue.

    The sessions of the members begin now. Of their protocols the one is known that was chosen.
    """
    group.generation_id = value.generation
    group.protocol_type, group.protocol_name = value.protocol_type or None, value.protocol
    group.state_since_ms = value.current_state_timestamp
    for source in value.members:
        member = _member(group, source, timers)
        group.members.add(member)
        member.session.restart(now_ms, member.session_timeout_ms)
    if not value.members:
        return
    group.members.leader_id = value.leader
    group.state = GroupState.STABLE
    if group.is_consumer_group:
        group.subscribed_topics = group.members.subscribed_topics(group.protocol_name)


def _member(group: Group, source: Any, timers: Timers) -> Member:
    member = Member(
        member_id=source.member_id,
        group_instance_id=source.group_instance_id,
        client_id=source.client_id,
        client_host=source.client_host,
        protocols={group.protocol_name or "": source.subscription},
        session_timeout_ms=source.session_timeout,
        rebalance_timeout_ms=source.rebalance_timeout,
        session=SessionTimer(timers, lambda now_ms: group.expire(member, now_ms)),
        is_new=False,
        assignment=source.assignment,
    )
    return member
