"""Handle a LeaveGroup: remove members of a classic group.

The order of the checks is that of Kafka's `GroupMetadataManager.classicGroupLeaveToClassicGroup`.
"""

from collections.abc import Sequence

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
