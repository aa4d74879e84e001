"""Which broker coordinates a group or transactional id, and the internal topic that decides it.

Sources: Kafka's `AutoTopicCreationManager` and `KafkaApis.getCoordinator`.
"""

from collections.abc import Iterable

from broker.cluster.cluster import Cluster
from broker.cluster.cordoned_dirs import usable_broker_ids
from broker.cluster.internal_topics import GROUP_METADATA, TRANSACTION_STATE, InternalTopic
from broker.cluster.topics import Topic
from broker.config.features import GROUP_VERSION, STREAMS_VERSION
from broker.config.topic_config import validate_topic_overrides
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, topic_partition_hash
from protocol.pacing import may_pause, paced


def ownership_error(cluster: Cluster, broker_id: int, group_id: str) -> ErrorCode:
    """Return NONE for the group's coordinator, NOT_COORDINATOR for any other broker.

    Before the first FindCoordinator for a group there is no coordinator, as in Kafka.
    """
    partition = cluster.group_log.partition(group_id)
    if partition is not None and partition.leader_id == broker_id and cluster.is_alive(broker_id):
        return ErrorCode.NONE
    return ErrorCode.NOT_COORDINATOR


@may_pause
def in_coordinator_order(cluster: Cluster, group_ids: Iterable[str]) -> list[str]:
    """Return group ids in the order of Kafka's responses, by partition of `__consumer_offsets`."""
    by_partition: dict[int, list[str]] = {}
    for group_id in paced(group_ids):
        by_partition.setdefault(cluster.group_log.partition_index(group_id), []).append(group_id)

    def hash_of(partition_index: int) -> int:
        return topic_partition_hash(GROUP_METADATA.name, partition_index)

    indexes = in_hash_order(by_partition, hash_of)
    return [group_id for index in indexes for group_id in by_partition[index]]


@may_pause
def behind_empty_ids(cluster: Cluster, group_ids: Iterable[str]) -> list[str]:
    """Return group ids as `in_coordinator_order`, but first the empty ones, which are refused."""
    found = list(group_ids)
    empty = [group_id for group_id in found if not group_id]
    return empty + in_coordinator_order(cluster, filter(None, found))


def has_consumer_protocol(cluster: Cluster) -> bool:
    """Return whether groups may use the consumer protocol (KIP-848)."""
    is_on = "consumer" in cluster.config["group.coordinator.rebalance.protocols"]
    return is_on and cluster.features.level(GROUP_VERSION) > 0


def has_streams_protocol(cluster: Cluster) -> bool:
    """Return whether groups may use the protocol of Kafka Streams (KIP-1071)."""
    is_on = "streams" in cluster.config["group.coordinator.rebalance.protocols"]
    return is_on and cluster.features.level(STREAMS_VERSION) > 0


def transaction_ownership_error(
    cluster: Cluster, broker_id: int, transactional_id: str
) -> ErrorCode:
    """Return NONE for the coordinator of a transactional id, NOT_COORDINATOR for another broker.

    Before the first FindCoordinator for a transactional id there is no coordinator, as in Kafka.
    """
    if cluster.transaction_coordinator_id(transactional_id) == broker_id:
        return ErrorCode.NONE
    return ErrorCode.NOT_COORDINATOR


@may_pause
def ensure_internal_topic(cluster: Cluster, internal: InternalTopic) -> Topic | None:
    """Return an internal topic, and create it if it is missing; nobody's quota is charged.

    None if its replication factor is larger than the number of brokers that can be used, or its
    configuration is invalid.
    """
    topic = cluster.topics.get(internal.name)
    if topic is not None:
        return topic
    broker_count = len(usable_broker_ids(cluster))
    replication_factor = internal.replication_factor(cluster.config, broker_count)
    overrides = internal.overrides(cluster.config, replication_factor)
    if not 0 < replication_factor <= broker_count or validate_topic_overrides(overrides):
        return None
    # While the check paused, another request may have created it, and brokers may have stopped.
    topic = cluster.topics.get(internal.name)
    if topic is not None:
        return topic
    if replication_factor > len(usable_broker_ids(cluster)):
        return None
    partition_count: int = cluster.config[internal.partition_count_key]
    placed = cluster.place(partition_count, replication_factor, usable_broker_ids(cluster))
    return cluster.create_topic(internal.name, placed, overrides)


@may_pause
def move_coordinator(cluster: Cluster, group_id: str, node_id: int, now_ms: int) -> None:
    """Make a broker the coordinator of a group, and of all groups in the same partition.

    It becomes the leader of the group's partition of `__consumer_offsets`, which is created if it
    is missing.

    Raises:
        ValueError: there is no such broker, or it is down, or the partition cannot be created.
    """
    index = cluster.group_log.partition_index(group_id)
    _move(cluster, GROUP_METADATA, index, node_id, now_ms)


@may_pause
def move_transaction_coordinator(
    cluster: Cluster, transactional_id: str, node_id: int, now_ms: int
) -> None:
    """Make a broker the coordinator of a transactional id, and of all in the same partition.

    It becomes the leader of the partition of `__transaction_state`, which is created if it is
    missing.

    Raises:
        ValueError: there is no such broker, or it is down, or the partition cannot be created.
    """
    index = cluster.transaction_log.partition_index(transactional_id)
    _move(cluster, TRANSACTION_STATE, index, node_id, now_ms)


@may_pause
def _move(
    cluster: Cluster, internal: InternalTopic, partition_index: int, node_id: int, now_ms: int
) -> None:
    cluster.alive_broker(node_id)
    ensure_internal_topic(cluster, internal)
    topic = cluster.topics.get(internal.name)
    partition = None if topic is None else topic.partition(partition_index)
    if partition is None:
        raise ValueError(f"{internal.name} has no partition {partition_index}")
    cluster.move_leader(partition, node_id, now_ms)
