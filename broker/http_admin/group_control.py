"""Control of groups: fence members, rebalance, set an assignment."""

from broker.groups.consumer.assignment import Assignment, assignment_of
from broker.groups.group import CONSUMER_PROTOCOL_TYPE
from broker.groups.requests import UNKNOWN_MEMBER, MemberIdentity
from broker.http_admin.groups import GroupPath, get_group
from broker.http_admin.operation import Input, Name, PartitionIndex, Problem, operation
from broker.http_admin.state import Admin
from protocol.pacing import may_pause


class MemberPath(Input):
    """A member by its member id or its group instance id."""

    group_id: Name
    member: Name


class AssignedBody(Input):
    """Partitions of one topic."""

    topic: str
    partitions: list[PartitionIndex]


class AssignmentBody(Input):
    """The partitions of each member, by member id or group instance id."""

    members: dict[str, list[AssignedBody]]


@operation(
    "POST",
    "/v1/groups/{group_id}/members/{member}/fence",
    tag="groups",
    status=204,
    media_type=None,
)
@may_pause
def fence_member(admin: Admin, path: MemberPath) -> None:
    """Remove a member, as its coordinator does when its session has expired.

    Its next request gets UNKNOWN_MEMBER_ID, and the other members get its partitions. Records that
    a member of a share group has acquired stay acquired until their locks expire.
    """
    member_id = _member_id(admin, path.group_id, path.member)
    cluster, now_ms = admin.cluster, admin.now_ms()
    share_group = cluster.share.groups.get(path.group_id)
    if share_group is not None:
        cluster.share.groups.fence(share_group, member_id, now_ms)
    else:
        cluster.groups.leave(path.group_id, [MemberIdentity(member_id, None)], now_ms)


@operation("POST", "/v1/groups/{group_id}/rebalance", tag="groups", status=204, media_type=None)
@may_pause
def rebalance_group(admin: Admin, path: GroupPath) -> None:
    """Begin a rebalance: a new epoch, or in a classic group a new generation.

    Members of a classic group join again. In other groups the next heartbeat of a member computes
    the target assignment again, also after a manual one.
    """
    if not get_group(admin, path).members:
        raise Problem(409, f"group {path.group_id!r} has no members")
    share_group = admin.cluster.share.groups.get(path.group_id)
    if share_group is not None:
        admin.cluster.share.groups.rebalance(share_group, admin.now_ms())
    else:
        admin.cluster.groups.rebalance(path.group_id, admin.now_ms())


@operation(
    "PUT",
    "/v1/groups/{group_id}/assignment",
    tag="groups",
    status=204,
    media_type=None,
    further_rules="A member occurs twice, by its id and its instance id",
)
@may_pause
def put_assignment(admin: Admin, path: GroupPath, body: AssignmentBody) -> None:
    """Set the target assignment of a group of the consumer protocol.

    A new epoch begins with it, and heartbeats move the members towards it: they first revoke, then
    they get what is free. Members and partitions that it does not name get nothing and stay
    unassigned. The assignor assigns again in the next epoch: when a member joins, leaves or
    subscribes to other topics, when a subscribed topic changes, or after
    `POST /v1/groups/{group_id}/rebalance`.
    """
    _check_consumer_group(admin, path)
    targets: dict[str, Assignment] = {}
    for member, entries in body.members.items():
        member_id = _member_id(admin, path.group_id, member)
        if member_id in targets:
            raise Problem(422, f"member {member_id!r} occurs twice", location="body")
        targets[member_id] = _assignment(admin, entries)
    refusal = admin.cluster.groups.assign(path.group_id, targets, admin.now_ms())
    if refusal is not None:
        raise Problem(409, refusal.error_message or refusal.error_code.name)


@may_pause
def _member_id(admin: Admin, group_id: str, member: str) -> str:
    """Return the id of a member that is named by its id or its instance id."""
    members = get_group(admin, GroupPath(group_id)).members
    for found in members:
        if member in {found.member_id, found.group_instance_id} - {UNKNOWN_MEMBER}:
            return found.member_id
    known = ", ".join(found.member_id for found in members) or "no members"
    raise Problem(404, f"group {group_id!r} has no member {member!r}; it has {known}")


_REASONS = {
    "classic": "its leader assigns",
    "share": "members share partitions",
    "streams": "its tasks follow from its topology",
}
"""Why nobody sets the assignment of a group of another type."""


@may_pause
def _check_consumer_group(admin: Admin, path: GroupPath) -> None:
    group_type = get_group(admin, path).group_type
    if group_type == CONSUMER_PROTOCOL_TYPE:
        return
    reason = _REASONS[group_type]
    raise Problem(
        409,
        f"group {path.group_id!r} is a {group_type} group: {reason}; only the assignment of a"
        " consumer group (group.protocol=consumer) can be set",
    )


def _assignment(admin: Admin, entries: list[AssignedBody]) -> Assignment:
    for entry in entries:
        for index in entry.partitions:
            admin.partition(entry.topic, index)
    return assignment_of((admin.topic(entry.topic).topic_id, entry.partitions) for entry in entries)
