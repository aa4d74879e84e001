"""Append records to a partition and measure what it stores."""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from tests.batches import filled_batch
from tests.broker.cluster_builder import NOW_MS

DAY_MS = 86_400_000


def append(
    cluster: Cluster, topic: Topic, size_bytes: int, *, partition: int = 0, timestamp: int = NOW_MS
) -> None:
    part = topic.partitions[partition]
    batch = filled_batch(part.log.log_end_offset, 1, timestamp, size_bytes)
    part.log.append(batch, 1, part.leader_epoch)
    cluster.appended(topic, part, size_bytes, NOW_MS)


def stored_bytes(cluster: Cluster) -> int:
    return sum(p.log.size_bytes for topic in cluster.topics.all() for p in topic.partitions)
