"""Give our brokers the leaders, epochs and replicas that the real cluster has chosen."""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from proxy.diff.id_map import IdMap


def adopt_placement(cluster: Cluster, metadata: Any, ids: IdMap, now_ms: int) -> None:
    """Take over the placement of the topics in a response to Metadata, and learn their ids.

    Each cluster places new topics from another broker on, and a leader has another epoch after each
    election. Neither is something that a client should see differ.
    """
    for described in metadata.topics:
        topic = cluster.topics.get(described.name) if described.name else None
        if described.error_code or topic is None:
            continue
        topic_id = getattr(described, "topic_id", None)
        if topic_id is not None and topic_id.int:
            ids.pair("topic_id", str(topic_id), str(topic.topic_id))
        for found in described.partitions:
            _adopt(cluster, topic, found, now_ms)


def _adopt(cluster: Cluster, topic: Topic, found: Any, now_ms: int) -> None:
    partition = topic.partition(found.partition_index)
    replicas = tuple(found.replica_nodes)
    if partition is None or found.error_code or not {*replicas} <= cluster.brokers.keys():
        return
    if set(partition.replicas) != set(replicas) or partition.replicas[0] != replicas[0]:
        partition.assign(replicas)
    if set(partition.isr) != set(found.isr_nodes):
        partition.replace_isr(tuple(found.isr_nodes))
    cluster.set_leader(partition, found.leader_id, now_ms)
    leader_epoch = getattr(found, "leader_epoch", -1)
    if leader_epoch >= 0:
        partition.leader_epoch = leader_epoch
    cluster.note_change()
