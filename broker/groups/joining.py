"""Handle a JoinGroup: add a member, let it rejoin, reserve an id, or refuse.

The order of the checks is that of Kafka's `GroupMetadataManager.classicGroupJoinToClassicGroup`.
"""

from collections.abc import Callable

from broker.groups.group import Group
from broker.groups.members import Member
from broker.groups.requests import UNKNOWN_MEMBER, JoinRequest
from broker.groups.results import GroupState, JoinCallback, JoinResult
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

MEMBER_ID_BYTES_MAX = 32_767
"""The longest id that every version of DescribeGroups can name; a client id may be as long."""


@may_pause
def join(
    group: Group,
    request: JoinRequest,
    callback: JoinCallback,
    now_ms: int,
    *,
    size_max: int,
    member_id_suffix: Callable[[], str],
) -> None:
    """Complete a JoinGroup now or when all members have joined, with `group.deliver`."""
    if not _has_room_for(group, request.member_id, size_max):
        group.reject(request.member_id, now_ms)
        _refuse(group, callback, ErrorCode.GROUP_MAX_SIZE_REACHED)
    elif not _accepts_protocols(group, request):
        _refuse(group, callback, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
    elif request.member_id == UNKNOWN_MEMBER:
        _join_without_id(group, request, callback, now_ms, member_id_suffix())
    elif request.member_id in group.members.pending:
        if request.group_instance_id is not None:
            # Only dynamic members get an id in advance.
            _refuse(group, callback, ErrorCode.UNKNOWN_SERVER_ERROR, request.member_id)
        else:
            group.add_member(request.member_id, request, callback, now_ms)
    else:
        _join_again(group, request, callback, now_ms)


@may_pause
def _join_without_id(
    group: Group, request: JoinRequest, callback: JoinCallback, now_ms: int, suffix: str
) -> None:
    instance_id = request.group_instance_id
    new_member_id = f"{request.client_id if instance_id is None else instance_id}-{suffix}"
    if len(new_member_id.encode()) > MEMBER_ID_BYTES_MAX:
        _refuse(group, callback, ErrorCode.INVALID_REQUEST, UNKNOWN_MEMBER)
        return
    if instance_id is not None:
        current = group.members.get(group.members.static_id(instance_id) or UNKNOWN_MEMBER)
        if current is None:
            group.add_member(new_member_id, request, callback, now_ms)
        else:
            _replace_static(group, current, new_member_id, request, callback, now_ms)
        return
    if request.must_know_id:
        group.reserve_member_id(new_member_id, request.session_timeout_ms, now_ms)
        _refuse(group, callback, ErrorCode.MEMBER_ID_REQUIRED, new_member_id)
    else:
        group.add_member(new_member_id, request, callback, now_ms)


@may_pause
def _join_again(group: Group, request: JoinRequest, callback: JoinCallback, now_ms: int) -> None:
    error_code = group.members.check(request.member_id, request.group_instance_id)
    member = group.members.get(request.member_id)
    if error_code is not ErrorCode.NONE or member is None:
        _refuse(group, callback, error_code, request.member_id)
        return
    is_unchanged = member.has_protocols(request.protocols)
    is_leader = group.members.leader_id == member.member_id
    if is_unchanged and (
        group.state is GroupState.COMPLETING_REBALANCE
        or (group.state is GroupState.STABLE and not is_leader)
    ):
        # The member may have missed the response: send it again. The generation stays. A leader of
        # a stable group rejoins because partitions changed, which needs a rebalance.
        group.post_join(callback, group.joined(member))
    else:
        group.rejoin(member, request, callback, now_ms)


@may_pause
def _replace_static(
    group: Group,
    member: Member,
    new_member_id: str,
    request: JoinRequest,
    callback: JoinCallback,
    now_ms: int,
) -> None:
    """Give a static member that rejoins without its id a new id.

    A stable group whose protocol stays the same does not rebalance. A leader whose version cannot
    skip the assignment then gets the old leader's id, so that it sends no assignment.
    """
    old_leader_id = group.members.leader_id or ""
    group.replace_static(member, new_member_id, request, now_ms)
    if (
        group.state is not GroupState.STABLE
        or group.members.select_protocol() != group.protocol_name
    ):
        group.rejoin(member, request, callback, now_ms)
        return
    group.on_metadata(group, now_ms)
    response = group.joined(member)
    is_leader = response.leader_id == new_member_id
    group.post_join(
        callback,
        JoinResult(
            error_code=ErrorCode.NONE,
            member_id=new_member_id,
            generation_id=response.generation_id,
            protocol_type=response.protocol_type,
            protocol_name=response.protocol_name,
            leader_id=response.leader_id if request.can_skip_assignment else old_leader_id,
            skip_assignment=is_leader and request.can_skip_assignment,
            members=response.members if request.can_skip_assignment else (),
        ),
    )


def _has_room_for(group: Group, member_id: str, size_max: int) -> bool:
    """Kafka's `acceptJoiningMember`: during a rebalance only members that have joined count."""
    member = group.members.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        has_joined = member is not None and member.join_callback is not None
        return has_joined or group.members.awaiting_join_count < size_max
    if group.state is GroupState.EMPTY:
        return True
    return member is not None or len(group.members) < size_max


def _accepts_protocols(group: Group, request: JoinRequest) -> bool:
    if group.state is GroupState.EMPTY:
        return bool(request.protocol_type and request.protocols)
    return group.protocol_type == request.protocol_type and group.members.share_one_of(
        request.protocols
    )


@may_pause
def _refuse(
    group: Group, callback: JoinCallback, error_code: ErrorCode, member_id: str = UNKNOWN_MEMBER
) -> None:
    group.post_join(callback, JoinResult(error_code, member_id))
