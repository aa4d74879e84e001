"""Append records to a partition and measure what it stores."""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from tests.broker.cluster_builder import NOW_MS

DAY_MS = 86_400_000


def append(
    cluster: Cluster, topic: Topic, size_bytes: int, *, partition: int = 0, timestamp: int = NOW_MS
) -> None:
    part = topic.partitions[partition]
    part.log.append(b"x" * size_bytes, 1, timestamp, part.leader_epoch)
    cluster.appended(topic, part, size_bytes, NOW_MS)


def stored_bytes(cluster: Cluster) -> int:
    return sum(p.log.size_bytes for topic in cluster.topics.all() for p in topic.partitions)
