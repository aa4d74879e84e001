"""Groups of all types: list them, delete them, move their coordinator, wait for them."""

import asyncio
from typing import Annotated

import msgspec

from broker.administration.share_offsets import delete_share_group
from broker.cluster.coordinators import move_coordinator, move_transaction_coordinator
from broker.dispatch.turn_queue import TurnKind
from broker.groups.results import GroupListing
from broker.http_admin.group_views import (
    GroupOffsetView,
    GroupView,
    group_offset_views,
    group_view,
    is_stable,
)
from broker.http_admin.operation import Count, Input, Name, NodeId, Problem, operation
from broker.http_admin.requests import WAIT_MS_MAX
from broker.http_admin.state import Admin, broker_is_down
from broker.http_admin.unknown_names import no_such
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

POLL_S = 0.01
"""How often a request that waits for a group looks at it, in real time."""


class GroupPath(Input):
    """A group by its id."""

    group_id: Name


class CoordinatorBody(Input):
    """The new coordinator."""

    broker: NodeId


class StableQuery(Input):
    """How many members the group must have, and how long to wait, in ms of real time."""

    members: Count | None = None
    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=WAIT_MS_MAX)] = 30_000


@operation("GET", "/v1/groups", tag="groups", turn_kind=TurnKind.READING)
@may_pause
def list_groups(admin: Admin) -> list[GroupView]:
    """List groups of all types with their members, offsets and share partitions."""
    views = (group_view(admin, listing.group_id) for listing in paced(_listings(admin)))
    return [view for view in views if view is not None]


@may_pause
def _listings(admin: Admin) -> tuple[GroupListing, ...]:
    cluster = admin.cluster
    return (*cluster.groups.table.list_groups(), *cluster.share.groups.list_groups())


@operation("GET", "/v1/groups/{group_id}", tag="groups", turn_kind=TurnKind.READING)
@may_pause
def get_group(admin: Admin, path: GroupPath) -> GroupView:
    """Return one group."""
    view = group_view(admin, path.group_id)
    if view is None:
        known = {listing.group_id for listing in _listings(admin)}
        raise no_such("group", path.group_id, known, "list_groups")
    return view


@operation("GET", "/v1/groups/{group_id}/offsets", tag="groups", turn_kind=TurnKind.READING)
@may_pause
def list_group_offsets(admin: Admin, path: GroupPath) -> list[GroupOffsetView]:
    """List what a group has committed, and its lag.

    It has all partitions of the topics that the group has committed or subscribes to; of a share
    group those that have a state, with their start offsets.
    """
    return group_offset_views(admin.cluster, get_group(admin, path))


@operation("GET", "/v1/groups/{group_id}/stable", tag="groups")
async def wait_for_stable_group(
    admin: Admin, path: GroupPath, query: StableQuery
) -> GroupView | None:
    """Return a group as soon as it is stable and has members, or null after the timeout.

    Every member then has its target assignment. With `members` the group must have this many. The
    group need not exist yet.
    """
    loop = asyncio.get_running_loop()
    end_s = loop.time() + query.timeout_ms / 1000
    while not is_stable(admin.cluster, path.group_id, query.members):
        if loop.time() >= end_s:
            return None
        await asyncio.sleep(POLL_S)
    return group_view(admin, path.group_id)


@operation("DELETE", "/v1/groups/{group_id}", tag="groups", status=204, media_type=None)
@may_pause
def delete_group(admin: Admin, path: GroupPath) -> None:
    """Delete a group that has no members, with its offsets."""
    get_group(admin, path)
    share_group = admin.cluster.share.groups.get(path.group_id)
    if share_group is not None:
        error_code = delete_share_group(admin.cluster, share_group, admin.now_ms())
    else:
        error_code = admin.cluster.groups.table.delete_group(path.group_id, admin.now_ms())
    if error_code is ErrorCode.NON_EMPTY_GROUP:
        raise Problem(409, f"group {path.group_id!r} has members; they must leave first")
    if error_code is not ErrorCode.NONE:
        raise Problem(409, f"group {path.group_id!r} can't be deleted: {error_code.name}")


@operation("PUT", "/v1/groups/{group_id}/coordinator", tag="groups", status=204, media_type=None)
@may_pause
def put_coordinator(admin: Admin, path: GroupPath, body: CoordinatorBody) -> None:
    """Move a group or transactional id to a coordinator.

    It becomes the leader of the partitions of `__consumer_offsets` and `__transaction_state` that
    the id belongs to, so all groups and transactional ids of these partitions move.
    """
    admin.check_broker(body.broker)
    try:
        move_coordinator(admin.cluster, path.group_id, body.broker, admin.now_ms())
        move_transaction_coordinator(admin.cluster, path.group_id, body.broker, admin.now_ms())
    except ValueError as error:
        raise broker_is_down(error, body.broker) from error
