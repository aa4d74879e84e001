"""A fetch session of two topics."""

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition, FetchSession
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context


def make_session(version: int) -> tuple[Cluster, FetchSession]:
    """Return a cluster with the topics "a" and "b", and a session of their partitions."""
    cluster = make_cluster(2)
    session = FetchSession(5, is_privileged=False, uses_topic_ids=version >= 13, created_ms=NOW_MS)
    for name in "ab":
        topic = cluster.create_topic(name, [(1, 2)] * 3, {})
        topic_id = topic.topic_id if version >= 13 else None
        for index in range(3):
            cached = CachedPartition(name, topic_id, index, 0, 1 << 20)
            session.partitions[cached.key] = cached
    return cluster, session


def append(cluster: Cluster, name: str, index: int, value: bytes) -> None:
    """Append a batch with one record."""
    topic = cluster.topics.get(name)
    assert topic is not None
    batch = make_batch(value)
    partition = topic.partitions[index]
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    append_batch(context, cluster, topic, partition, batch, 0, len(batch))
