"""Which broker coordinates a group, and the internal topic that decides it.

Sources: Kafka's `AutoTopicCreationManager` and `KafkaApis.getCoordinator`.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.internal_topics import GROUP_METADATA, InternalTopic
from broker.cluster.topics import Topic
from broker.config.features import GROUP_VERSION
from broker.config.topic_config import validate_topic_overrides
from protocol.errors import ErrorCode


def ownership_error(cluster: Cluster, broker_id: int, group_id: str) -> ErrorCode:
    """Return NONE for the group's coordinator, NOT_COORDINATOR for any other broker.

    Before the first FindCoordinator for a group there is no coordinator, as in Kafka.
    """
    if cluster.coordinator_id(group_id) == broker_id:
        return ErrorCode.NONE
    return ErrorCode.NOT_COORDINATOR


def has_consumer_protocol(cluster: Cluster) -> bool:
    """Return whether groups may use the consumer protocol (KIP-848)."""
    is_on = "consumer" in cluster.config["group.coordinator.rebalance.protocols"]
    return is_on and cluster.features.level(GROUP_VERSION) > 0


def transaction_ownership_error(
    cluster: Cluster, broker_id: int, transactional_id: str
) -> ErrorCode:
    """Return NONE for the coordinator of a transactional id, NOT_COORDINATOR for another broker.

    COORDINATOR_NOT_AVAILABLE when no broker is up to be the coordinator.
    """
    coordinator_id = cluster.transaction_coordinator_id(transactional_id)
    if coordinator_id is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NONE if coordinator_id == broker_id else ErrorCode.NOT_COORDINATOR


def ensure_internal_topic(cluster: Cluster, internal: InternalTopic) -> Topic | None:
    """Return an internal topic, and create it if it is missing; nobody's quota is charged.

    None if its replication factor is larger than the number of brokers that are up, or its
    configuration is invalid.
    """
    topic = cluster.topics.get(internal.name)
    if topic is not None:
        return topic
    broker_count = len(cluster.alive_broker_ids())
    replication_factor = internal.replication_factor(cluster.config, broker_count)
    overrides = internal.overrides(cluster.config)
    if not 0 < replication_factor <= broker_count or validate_topic_overrides(overrides):
        return None
    partition_count: int = cluster.config[internal.partition_count_key]
    placed = cluster.place(partition_count, replication_factor)
    return cluster.create_topic(internal.name, placed, overrides)


def move_coordinator(cluster: Cluster, group_id: str, node_id: int, now_ms: int) -> None:
    """Make a broker the coordinator of a group, and of all groups in the same partition.

    It becomes the leader of the group's partition of `__consumer_offsets`, which is created if it
    is missing.

    Raises:
        ValueError: there is no such broker, or it is down, or the partition cannot be created.
    """
    cluster.alive_broker(node_id)
    ensure_internal_topic(cluster, GROUP_METADATA)
    partition = cluster.group_log.partition(group_id)
    if partition is None:
        index = cluster.group_log.partition_index(group_id)
        raise ValueError(f"{GROUP_METADATA.name} has no partition {index}, the one of the group")
    cluster.move_leader(partition, node_id, now_ms)


def move_transaction_coordinator(cluster: Cluster, transactional_id: str, node_id: int) -> None:
    """Make a broker the coordinator of a transactional id, for as long as that is up.

    Raises:
        ValueError: there is no such broker, or it is down.
    """
    cluster.alive_broker(node_id)
    cluster.moved_coordinators[transactional_id] = node_id
