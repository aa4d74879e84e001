"""Place new partitions on brokers, or check the brokers that a client chose.

Sources: Kafka's `ReplicationControlManager.validateManualPartitionAssignment` and
`StripedReplicaPlacer`.
"""

from collections.abc import Sequence

from broker.cluster.cluster import Cluster
from broker.cluster.cordoned_dirs import is_cordoned, usable_broker_ids
from broker.cluster.topics import Topic, place_replicas
from broker.config.api_versions import release_of
from broker.errors import Refusal
from protocol.errors import ErrorCode

PARTITIONS_MAX = 10_000
"""Largest number of partitions that one request may create, as in Kafka's controller."""

CORDONED_SINCE = (4, 3)
"""First release whose errors speak of cordoned log directories (KIP-1066)."""

Assignments = list[tuple[int, ...]]
"""Replicas of consecutive partitions; the first replica of each is its preferred leader."""


def check_replicas(
    cluster: Cluster, replicas: Sequence[int], replication_factor: int | None = None
) -> Refusal | None:
    """Return why these brokers cannot be the replicas of a partition, or None.

    `replication_factor` is that of the topic's other partitions, if it has any.
    """
    if not replicas:
        return _invalid("The manual partition assignment includes an empty replica list.")
    previous_id = None
    for broker_id in sorted(replicas):
        if broker_id not in cluster.brokers:
            return _invalid(
                f"The manual partition assignment includes broker {broker_id}, but no such "
                "broker is registered."
            )
        if is_cordoned(cluster, broker_id):
            return _invalid(
                f"The manual partition assignment includes broker {broker_id}, but all its log "
                "directories are cordoned."
            )
        if broker_id == previous_id:
            return _invalid(
                f"The manual partition assignment includes the broker {broker_id} more than once."
            )
        previous_id = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        return _invalid(
            f"The manual partition assignment includes a partition with {len(replicas)} "
            "replica(s), but this is not consistent with previous partitions, which have "
            f"{replication_factor} replica(s)."
        )
    return None


def check_new_replicas(
    cluster: Cluster,
    replicas: Sequence[int],
    partition_index: int,
    replication_factor: int | None,
) -> Refusal | None:
    """Check the replicas of a new partition: at least one broker must be up."""
    refusal = check_replicas(cluster, replicas, replication_factor)
    if refusal is None and not any(map(cluster.is_alive, replicas)):
        return _invalid(
            "All brokers specified in the manual partition assignment for partition "
            f"{partition_index} are fenced or in controlled shutdown."
        )
    return refusal


def place_new_topic(
    cluster: Cluster, partition_count: int, replication_factor: int
) -> Assignments | Refusal:
    """Place the replicas of a new topic."""
    refusal = _replication_problem(cluster, replication_factor)
    if refusal is not None:
        return refusal
    alive_count, dead_ids = _split(cluster, replication_factor)
    placed = cluster.place(partition_count, alive_count, usable_broker_ids(cluster))
    return [replicas + dead_ids for replicas in placed]


def place_more(cluster: Cluster, topic: Topic, partition_count: int) -> Assignments | Refusal:
    """Place more partitions of a topic as if it had them from the start."""
    replication_factor = len(topic.partitions[0].replicas)
    refusal = _replication_problem(cluster, replication_factor)
    if refusal is not None:
        return refusal
    alive_count, dead_ids = _split(cluster, replication_factor)
    broker_ids = usable_broker_ids(cluster)
    first_leader_id = topic.partitions[0].replicas[0]
    first = broker_ids.index(first_leader_id) if first_leader_id in broker_ids else 0
    placed = place_replicas(broker_ids, partition_count, alive_count, first + len(topic.partitions))
    return [replicas + dead_ids for replicas in placed]


def _replication_problem(cluster: Cluster, replication_factor: int) -> Refusal | None:
    knows_cordoned = release_of(cluster.shared_config) >= CORDONED_SINCE
    total = sum(not is_cordoned(cluster, node_id) for node_id in cluster.brokers)
    message = None
    if not usable_broker_ids(cluster):
        message = "All brokers are currently fenced" + (
            ", or have all their log directories cordoned."
            if knows_cordoned
            else " or in controlled shutdown."
        )
    elif replication_factor > total:
        message = (
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {total} broker(s) are registered"
            f"{' or some brokers have all their log directories cordoned' * knows_cordoned}."
        )
    return Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, message) if message else None


def _split(cluster: Cluster, replication_factor: int) -> tuple[int, tuple[int, ...]]:
    """Return the number of replicas on brokers that are up, and the other brokers for the rest."""
    alive_count = min(replication_factor, len(usable_broker_ids(cluster)))
    dead_ids = [
        broker.node_id
        for broker in cluster.brokers.values()
        if not broker.is_alive and not is_cordoned(cluster, broker.node_id)
    ]
    return alive_count, tuple(dead_ids[: replication_factor - alive_count])


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
