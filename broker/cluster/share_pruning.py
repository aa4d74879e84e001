"""What share coordinators do regularly with `__share_group_state`.

They write snapshots of states that had none for long, and delete the records before the oldest
of the last snapshots, which no later leader needs. Between two of these times the log grows with
each write; `broker/cluster/share_log.py` deletes at once when there are too many records, for the
memory.

Source: Kafka's `ShareCoordinatorService`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker.cluster.cluster import Cluster
from broker.cluster.internal_topics import SHARE_GROUP_STATE
from broker.cluster.topics import NO_LEADER, Partition
from broker.timers import PeriodicTask

if TYPE_CHECKING:  # see ADR 24
    from broker.share_groups.share_state import SharePartitionKey

COLD_KEY = "share.coordinator.cold.partition.snapshot.interval.ms"
PRUNE_KEY = "share.coordinator.state.topic.prune.interval.ms"
SNAPSHOTS_PER_TURN = 200
"""To write this many takes some milliseconds."""


def start_share_tasks(cluster: Cluster, now_ms: int) -> None:
    """Start both tasks, which repeat until the cluster's timers are cleared."""
    cold_ms, prune_ms = cluster.config[COLD_KEY], cluster.config[PRUNE_KEY]
    PeriodicTask(
        cluster.timers,
        prune_ms,
        lambda now_ms: _prune(cluster, now_ms),
        lambda: cluster.timers.latest_ms if any(_redundant(cluster)) else None,
    ).start(now_ms + prune_ms)
    PeriodicTask(
        cluster.timers,
        cold_ms,
        lambda now_ms: _snapshot_cold(cluster, cold_ms, now_ms),
        lambda: (
            cluster.share.states.next_cold_ms(cold_ms) if cluster.coordinators.has_share else None
        ),
    ).start(now_ms + cold_ms)


def _redundant(cluster: Cluster) -> Iterator[tuple[Partition, int]]:
    """Yield the partitions with records that nobody needs, and the offset of the first needed."""
    topic = cluster.topics.get(SHARE_GROUP_STATE.name)
    if not cluster.coordinators.has_share:
        return
    for partition in () if topic is None else topic.partitions:
        if partition.leader_id == NO_LEADER or partition.log.log_end_offset == 0:
            continue
        offset = cluster.share.log.redundant_before(partition)
        if offset > partition.log.log_start_offset:
            yield partition, offset


def _prune(cluster: Cluster, now_ms: int) -> Iterator[None]:
    for partition, offset in list(_redundant(cluster)):
        cluster.delete_records_before(partition, offset, now_ms)
        yield


def _snapshot_cold(cluster: Cluster, interval_ms: int, now_ms: int) -> Iterator[None]:
    if not cluster.coordinators.has_share:
        return
    share = cluster.share
    of_partition: dict[int, list[SharePartitionKey]] = {}
    for key in share.states.keys():  # noqa: SIM118 - it is no mapping
        partition = share.log.partition(key)
        if partition is not None:
            of_partition.setdefault(partition.partition_index, []).append(key)
    written = 0
    for keys in of_partition.values():
        for _ in share.states.snapshot_cold(keys, interval_ms, now_ms):
            written += 1
            if written % SNAPSHOTS_PER_TURN == 0:
                yield
