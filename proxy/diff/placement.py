"""Give our brokers the leaders, epochs, replicas and coordinators that the real cluster has chosen.

Each cluster places new topics from another broker on, and a leader has another epoch after each
election. Neither is something that a client should see differ, and a request that the client sends
to the real leader or coordinator must find ours there.
"""

from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import (
    ensure_internal_topic,
    move_coordinator,
    move_transaction_coordinator,
)
from broker.cluster.failover import fence_broker, start_broker
from broker.cluster.internal_topics import GROUP_METADATA, SHARE_GROUP_STATE, TRANSACTION_STATE
from broker.cluster.replicas import is_reassigning
from broker.cluster.topics import NO_LEADER, Topic
from protocol.pacing import may_pause
from proxy.diff.id_map import IdMap
from proxy.diff.reassignments import adopt_reassigned

_INTERNAL = {topic.name: topic for topic in (GROUP_METADATA, SHARE_GROUP_STATE, TRANSACTION_STATE)}
_MOVE_BY_KEY_TYPE = {0: move_coordinator, 1: move_transaction_coordinator}
"""Of groups and transactional ids; only brokers ask for coordinators of share groups' state."""


@may_pause
def create_internal_topics(cluster: Cluster, metadata: Any) -> None:
    """Create the internal topics that a response to Metadata has: coordinators write to them."""
    for described in metadata.topics:
        if described.name in _INTERNAL and not described.error_code:
            ensure_internal_topic(cluster, _INTERNAL[described.name])


@may_pause
def adopt_brokers(cluster: Cluster, metadata: Any, now_ms: int) -> None:
    """Fence the brokers that a response to Metadata lacks, and unfence those that it names.

    A fenced broker still serves its connections, as the real one did until it was gone.
    """
    alive = {broker.node_id for broker in metadata.brokers}
    if alive.isdisjoint(cluster.brokers):
        return
    for node_id, broker in cluster.brokers.items():
        if broker.is_alive and node_id not in alive:
            fence_broker(cluster, node_id, now_ms)
        elif not broker.is_alive and node_id in alive:
            start_broker(cluster, node_id, now_ms)


def adopt_placement(cluster: Cluster, response: Any, ids: IdMap, now_ms: int) -> None:
    """Take over the placement of topics, and learn their ids.

    `response` is one to Metadata or DescribeTopicPartitions.
    """
    for described in response.topics:
        if described.error_code or not described.name:
            continue
        topic = cluster.topics.get(described.name)
        topic_id = getattr(described, "topic_id", None)
        if topic_id is not None and topic_id.int:
            ids.unpaired_topics[described.name] = str(topic_id)
        if topic is None:
            continue
        for found in described.partitions:
            _adopt(cluster, topic, found, now_ms)
    pair_topics(cluster, ids)


def pair_topics(cluster: Cluster, ids: IdMap) -> None:
    """Pair the ids of topics that our broker has created by itself since, as for Kafka Streams."""
    for name, real_id in list(ids.unpaired_topics.items()):
        topic = cluster.topics.get(name)
        if topic is not None:
            ids.pair("topic_id", real_id, str(topic.topic_id))
            del ids.unpaired_topics[name]


def topic_name(cluster: Cluster, ids: IdMap, topic: str) -> str:
    """Return the name of a topic that is given by its name or by the real id."""
    try:
        found = cluster.topics.name_of(UUID(ids.ours("topic_id", topic)))
    except ValueError:
        return topic
    return found or topic


@may_pause
def adopt_coordinators(cluster: Cluster, request: Any, response: Any, now_ms: int) -> None:
    """Have those brokers coordinate that a response to FindCoordinator names."""
    move = _MOVE_BY_KEY_TYPE.get(request.key_type or 0)
    if response.version >= _BATCH_VERSION_MIN:
        found = [(one.key, one) for one in response.coordinators]
    else:
        found = [(request.key, response)]
    for key, coordinator in found:
        broker = cluster.brokers.get(coordinator.node_id)
        if move is not None and not coordinator.error_code and broker is not None:
            if not broker.is_alive:
                start_broker(cluster, broker.node_id, now_ms)
            move(cluster, key, broker.node_id, now_ms)


@may_pause
def lose_coordinator(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Have a broker coordinate no groups; the next coordinator begins the sessions of members.

    So no session ends while nobody can send a heartbeat.
    """
    topic = cluster.topics.get(GROUP_METADATA.name)
    for partition in () if topic is None else topic.partitions:
        if partition.leader_id == node_id:
            cluster.set_leader(partition, NO_LEADER, now_ms)


_BATCH_VERSION_MIN = 4
"""From this version on FindCoordinator has several keys."""


def _adopt(cluster: Cluster, topic: Topic, found: Any, now_ms: int) -> None:
    partition = topic.partition(found.partition_index)
    replicas = tuple(found.replica_nodes)
    if partition is None or found.error_code or not {*replicas} <= cluster.brokers.keys():
        return
    if is_reassigning(partition):
        adopt_reassigned(cluster, partition, replicas, found.isr_nodes, now_ms)
    elif tuple(partition.replicas) != replicas:
        partition.assign(replicas)
    if tuple(partition.isr) != tuple(found.isr_nodes):
        partition.replace_isr(tuple(found.isr_nodes))
    cluster.set_leader(partition, found.leader_id, now_ms)
    leader_epoch = getattr(found, "leader_epoch", -1)
    if leader_epoch >= 0:
        partition.leader_epoch = leader_epoch
    cluster.note_change()
