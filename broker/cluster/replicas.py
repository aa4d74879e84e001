"""Waiting reassignments of a partition, and when they end (KIP-455).

Replicas share one log, so a new replica is there at once, unless its copy is throttled (KIP-73).

Sources: Kafka's `PartitionReassignmentReplicas.maybeCompleteReassignment`, and
`ReplicaManager.shouldLeaderThrottle`.
"""

from collections.abc import Iterator
from functools import partial

from broker.cluster.cluster import Cluster
from broker.cluster.replication_quota import Copy, Limit
from broker.cluster.topics import Partition
from broker.config.broker_keys import LONG_MAX
from protocol.pacing import may_pause

COPY_STEP_MS = 1000
"""Throttled copies go on so often; a new rate or list of throttled replicas applies then."""


def is_reassigning(partition: Partition) -> bool:
    """Whether a reassignment waits for a broker, or for a throttled copy."""
    return bool(partition.adding_replicas or partition.removing_replicas)


@may_pause
def complete_reassignment(cluster: Cluster, partition: Partition, now_ms: int) -> bool:
    """Complete a move if all its target brokers are up and have a copy.

    Call it when a broker comes up. Return whether a move was completed.
    """
    if not is_reassigning(partition):
        return False
    removing = partition.removing_replicas
    target = [node_id for node_id in partition.replicas if node_id not in removing]
    if not all(map(cluster.is_alive, target)) or _is_copying(cluster, partition, now_ms):
        return False
    cluster.set_replicas(partition, target, now_ms)
    return True


def forget_copy(cluster: Cluster, partition: Partition) -> None:
    """Forget what was copied for a move that is replaced or cancelled."""
    cluster.quotas.replication.copies.pop(_key(partition), None)


def _is_copying(cluster: Cluster, partition: Partition, now_ms: int) -> bool:
    """Copy what is allowed now to the new replicas; return whether something is left."""
    if cluster.quotas.replication.is_held:
        return True
    copies, key = cluster.quotas.replication.copies, _key(partition)
    copy = copies.get(key)
    if copy is None or copy.partition is not partition:
        size_bytes = partition.log.size_bytes
        throttled = [n for n in partition.adding_replicas if any(_limits(cluster, partition, n))]
        copy = Copy(partition, dict.fromkeys(throttled, size_bytes) if size_bytes else {})
    for node_id in tuple(copy.missing_bytes):
        _copy(cluster, copy, node_id, now_ms)
    if not copy.missing_bytes:
        copies.pop(key, None)
        return False
    copies[key] = copy
    _go_on_later(cluster, now_ms)
    return True


def _copy(cluster: Cluster, copy: Copy, node_id: int, now_ms: int) -> None:
    """Have a new replica fetch until its broker or the leader's has exceeded the rate."""
    quota, missing = cluster.quotas.replication, copy.missing_bytes
    limits = list(_limits(cluster, copy.partition, node_id))
    fetch_bytes = cluster.config.for_broker(node_id)["replica.fetch.max.bytes"]
    while missing[node_id] > 0 and limits:
        if any(quota.owes(limit, now_ms) for limit in limits):
            return
        byte_count = min(missing[node_id], max(1, fetch_bytes))
        for limit in limits:
            quota.charge(limit, byte_count)
        missing[node_id] -= byte_count
    del missing[node_id]


def _limits(cluster: Cluster, partition: Partition, node_id: int) -> Iterator[Limit]:
    """Yield the rates at which a replica that is not in sync may be copied."""
    topic = cluster.topics.get(partition.topic_name)
    assert topic is not None
    for replicas_key, rate_key, broker_id in (
        (
            "leader.replication.throttled.replicas",
            "leader.replication.throttled.rate",
            partition.leader_id,
        ),
        (
            "follower.replication.throttled.replicas",
            "follower.replication.throttled.rate",
            node_id,
        ),
    ):
        throttled = topic.config[replicas_key]
        if throttled == ("*",) or f"{partition.partition_index}:{broker_id}" in throttled:
            rate = cluster.config.for_broker(broker_id)[rate_key]
            if rate < LONG_MAX:
                yield Limit(rate_key, broker_id, rate)


def _go_on_later(cluster: Cluster, now_ms: int) -> None:
    quota = cluster.quotas.replication
    if not quota.is_waiting:
        quota.is_waiting = True
        cluster.timers.schedule(now_ms + COPY_STEP_MS, partial(_go_on, cluster))


@may_pause
def _go_on(cluster: Cluster, now_ms: int) -> None:
    """Go on with all copies, and complete the moves that have waited for one."""
    quota = cluster.quotas.replication
    quota.is_waiting = False
    for (topic_name, index), copy in list(quota.copies.items()):
        topic = cluster.topics.get(topic_name)
        is_there = topic is not None and topic.partition(index) is copy.partition
        if not is_there or not is_reassigning(copy.partition):
            quota.copies.pop((topic_name, index), None)
        elif not complete_reassignment(cluster, copy.partition, now_ms):
            _go_on_later(cluster, now_ms)


def _key(partition: Partition) -> tuple[str, int]:
    return partition.topic_name, partition.partition_index
