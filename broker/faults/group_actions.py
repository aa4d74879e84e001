"""A rule's action on the members of a group: a rebalance, or their removal."""

from broker.cluster.cluster import Cluster
from broker.faults.actions import REBALANCE
from broker.groups.group import Group
from broker.groups.requests import MemberIdentity
from protocol.pacing import may_pause


@may_pause
def disturb_members(cluster: Cluster, group_id: str, members: str, now_ms: int) -> None:
    """Have the members of a group rebalance, or remove them as if their sessions had expired.

    Raises:
        ValueError: the group has no members.
    """
    member_ids = _member_ids(cluster, group_id)
    if not member_ids:
        raise ValueError(f"group {group_id} has no members")
    share_group = cluster.share.groups.get(group_id)
    if members == REBALANCE and share_group is not None:
        cluster.share.groups.rebalance(share_group, now_ms)
    elif members == REBALANCE:
        cluster.groups.rebalance(group_id, now_ms)
    elif share_group is not None:
        for member_id in member_ids:
            cluster.share.groups.fence(share_group, member_id, now_ms)
    else:
        leavers = [MemberIdentity(member_id, None) for member_id in member_ids]
        cluster.groups.leave(group_id, leavers, now_ms)


def _member_ids(cluster: Cluster, group_id: str) -> list[str]:
    share_group = cluster.share.groups.get(group_id)
    if share_group is not None:
        return list(share_group.members)
    group = cluster.groups.table.get(group_id)
    if group is None:
        return []
    if isinstance(group, Group):
        return [member.member_id for member in group.members]
    return list(group.members)
