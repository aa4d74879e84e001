"""Share sessions and share partitions, with records in flight, as the admin port shows them."""

from collections.abc import Iterator

import msgspec

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.share_groups.in_flight import InFlightState, RecordState
from broker.share_groups.sessions import ShareSessionKey
from broker.share_groups.share_group import ShareGroup
from broker.share_groups.share_partition import SharePartition
from broker.share_groups.share_state import NO_COUNT, SharePartitionKey, ShareState
from broker.share_groups.state_batches import NO_OFFSET
from protocol.pacing import may_pause, paced

_FINISHED = frozenset(state.name.lower() for state in RecordState if state.is_final)


class ShareSessionView(msgspec.Struct):
    """A session of a member with a broker; its next request must have this epoch."""

    broker: int
    epoch: int
    partitions: int


class InFlightView(msgspec.Struct):
    """Consecutive records with the same state, up to the last offset.

    The state is available, acquired, acknowledged, archiving (a dead letter that is not in its
    queue yet) or archived. Only acquired records have a member, and a lock that expires.
    """

    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    member_id: str | None = None
    lock_expires_ms: int | None = None


class SharePartitionView(msgspec.Struct):
    """A partition in a share group.

    Records before the start offset are done; it is null until the first fetch has chosen it, and
    so is the lag: the number of records up to the high watermark that are not done yet. Records
    in flight are from there up to the last one that was ever acquired. Without a member that
    fetches, no record is acquired, and the others are those that the share coordinator has stored.
    """

    topic: str
    partition: int
    start_offset: int | None
    state_epoch: int
    lag: int | None = None
    in_flight_records: int = 0
    acquired_records: int = 0
    in_flight: list[InFlightView] = []


def share_session_views(cluster: Cluster, group_id: str, member_id: str) -> list[ShareSessionView]:
    """Return the share sessions of a member, by broker."""
    key = ShareSessionKey(group_id, member_id)
    found = (
        (node_id, leader.sessions.get(key)) for node_id, leader in cluster.share.leaders.items()
    )
    return [
        ShareSessionView(node_id, session.epoch, len(session.partitions))
        for node_id, session in found
        if session is not None
    ]


@may_pause
def share_partition_views(cluster: Cluster, group: ShareGroup) -> list[SharePartitionView]:
    """Return the partitions of a group that have a state, by topic name and partition."""
    views = []
    for topic_id, indexes in paced(group.initialized.items()):
        topic = cluster.topics.get_by_id(topic_id)
        for index in paced(sorted(indexes)):
            partition = None if topic is None else topic.partition(index)
            state = cluster.share.states.get(SharePartitionKey(group.group_id, topic_id, index))
            if topic is not None and partition is not None and state is not None:
                led = _led(cluster, SharePartitionKey(group.group_id, topic_id, index), partition)
                views.append(_view(topic.name, partition, state, led))
    return sorted(views, key=lambda view: (view.topic, view.partition))


def _led(cluster: Cluster, key: SharePartitionKey, partition: Partition) -> SharePartition | None:
    """Return a share partition as its leader has it, or None while no member fetches."""
    leader = cluster.share.leaders.get(partition.leader_id)
    led = None if leader is None else leader.partitions.get(key)
    return None if led is None else led.share_partition


def _view(
    topic_name: str, partition: Partition, state: ShareState, led: SharePartition | None
) -> SharePartitionView:
    if led is None:
        start_offset, finished_count = state.start_offset, state.finished_count
        in_flight = [
            InFlightView(
                batch.first_offset,
                batch.last_offset,
                RecordState(batch.delivery_state).name.lower(),
                batch.delivery_count,
            )
            for batch in state.state_batches
        ]
        if finished_count == NO_COUNT:
            finished_count = sum(
                view.last_offset - view.first_offset + 1
                for view in in_flight
                if view.state in _FINISHED
            )
    else:
        start_offset, finished_count = led.start_offset, led.finished_count
        in_flight = _joined(_in_flight(led))
    has_start = start_offset != NO_OFFSET
    return SharePartitionView(
        topic_name,
        partition.partition_index,
        start_offset if has_start else None,
        state.state_epoch,
        partition.log.high_watermark - start_offset - finished_count if has_start else None,
        sum(view.last_offset - view.first_offset + 1 for view in in_flight),
        sum(
            view.last_offset - view.first_offset + 1
            for view in in_flight
            if view.member_id is not None
        ),
        in_flight,
    )


def _in_flight(share_partition: SharePartition) -> Iterator[InFlightView]:
    for batch in share_partition.records:
        for first_offset, last_offset, state in batch.states():
            begin = max(first_offset, share_partition.start_offset)
            if begin <= last_offset:
                yield _in_flight_view(begin, last_offset, state)


def _in_flight_view(first_offset: int, last_offset: int, state: InFlightState) -> InFlightView:
    is_acquired = state.state is RecordState.ACQUIRED
    return InFlightView(
        first_offset,
        last_offset,
        state.state.name.lower(),
        state.delivery_count,
        state.member_id if is_acquired else None,
        state.lock_expires_ms if is_acquired else None,
    )


def _joined(views: Iterator[InFlightView]) -> list[InFlightView]:
    """Return the views with neighbours of the same state as one."""
    joined: list[InFlightView] = []
    for view in views:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.last_offset + 1 == view.first_offset
            and (last.state, last.delivery_count, last.member_id, last.lock_expires_ms)
            == (view.state, view.delivery_count, view.member_id, view.lock_expires_ms)
        ):
            last.last_offset = view.last_offset
        else:
            joined.append(view)
    return joined
