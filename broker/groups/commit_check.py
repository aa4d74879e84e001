"""Check who may commit offsets to a group.

Source: Kafka's `ClassicGroup.validateOffsetCommit`; groups of other protocols have it themselves.
"""

from broker.groups.any_group import AnyGroup
from broker.groups.group import Group
from broker.groups.requests import CommitRequest
from broker.groups.results import GroupState
from protocol.errors import ErrorCode


def check_commit(
    group: AnyGroup, request: CommitRequest, *, is_transactional: bool = False
) -> ErrorCode:
    """Return NONE, or why the member of a group may not commit offsets.

    A commit in a transaction needs no member, and no stable group.
    """
    if not isinstance(group, Group):
        return group.check_commit(request, is_transactional=is_transactional)
    member_id, group_instance_id = request.member_id, request.group_instance_id
    if request.generation_id < 0:
        if group.state is GroupState.EMPTY:
            return ErrorCode.NONE  # an administrator, or a consumer without a group
        if not member_id and group_instance_id is None:
            return ErrorCode.NONE if is_transactional else ErrorCode.UNKNOWN_MEMBER_ID
    error_code = group.members.check(member_id, group_instance_id)
    if error_code is not ErrorCode.NONE:
        return error_code
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE and not is_transactional:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE
