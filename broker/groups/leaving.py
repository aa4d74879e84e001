"""Handle a LeaveGroup: remove members of a group.

The order of the checks is that of `classicGroupLeaveToClassicGroup` and
`classicGroupLeaveToConsumerGroup` of Kafka's `GroupMetadataManager`.
"""

from collections.abc import Sequence

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.group import Group
from broker.groups.requests import UNKNOWN_MEMBER, MemberIdentity
from broker.groups.results import LeftMember
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


@may_pause
def leave(group: Group, leavers: Sequence[MemberIdentity], now_ms: int) -> tuple[LeftMember, ...]:
    """Remove members; the rest rebalances once. Then call `group.deliver`."""
    left = tuple(
        LeftMember(leaver.member_id, leaver.group_instance_id, _remove(group, leaver))
        for leaver in leavers
    )
    if any(member.error_code is ErrorCode.NONE for member in left):
        group.rebalance_without_removed(now_ms)
    return left


@may_pause
def _remove(group: Group, leaver: MemberIdentity) -> ErrorCode:
    member_id = leaver.member_id
    if member_id == UNKNOWN_MEMBER and leaver.group_instance_id is not None:
        # An administrator removes the current member of a static instance (KIP-345).
        member_id = group.members.static_id(leaver.group_instance_id) or UNKNOWN_MEMBER
    if group.release_member_id(member_id):
        return ErrorCode.NONE
    error_code = group.members.check(member_id, leaver.group_instance_id)
    member = group.members.get(member_id)
    if error_code is ErrorCode.NONE and member is not None:
        group.remove(member)
    return error_code


def find_leavers(
    group: ConsumerGroup, leavers: Sequence[MemberIdentity]
) -> tuple[tuple[LeftMember, ...], list[str]]:
    """Return the results for the members that a LeaveGroup names, and the ids of those that leave.

    An administrator's client sends it to a group of the consumer protocol. Nothing is removed yet.
    """
    left, member_ids = [], []
    for leaver in leavers:
        error_code = ErrorCode.NONE
        member = group.members.get(leaver.member_id)
        if leaver.group_instance_id is not None:
            member = group.static_member(leaver.group_instance_id)
            is_named = leaver.member_id != UNKNOWN_MEMBER
            if member is not None and is_named and member.member_id != leaver.member_id:
                error_code = ErrorCode.FENCED_INSTANCE_ID
        if member is None:
            error_code = ErrorCode.UNKNOWN_MEMBER_ID
        elif error_code is ErrorCode.NONE:
            member_ids.append(member.member_id)
        left.append(LeftMember(leaver.member_id, leaver.group_instance_id, error_code))
    return tuple(left), list(dict.fromkeys(member_ids))
