"""A broker that ends when it has more producers to remember than it may, as if out of memory.

What counts is what KIP-936 counts in its story of a cluster that goes down broker by broker: the
producer ids of the partitions that a broker leads. They move with the leadership, to a broker that
may then have too many itself. Followers would remember them too in Kafka; were they counted here,
a moved leadership would bring nobody an id that it hadn't got.
"""

from functools import partial

from broker.cluster import failover
from broker.cluster.cluster import Cluster


def limit_producer_ids(cluster: Cluster) -> None:
    """Check `broker.max.producer.ids` whenever a broker becomes a leader."""
    cluster.on_new_leader = partial(watch_producer_ids, cluster)


def producer_id_count(cluster: Cluster, node_id: int) -> int:
    """Producer ids over the partitions that a broker leads, counted once for each partition."""
    return sum(
        len(partition.producers)
        for topic in cluster.topics.all()
        for partition in topic.partitions
        if partition.leader_id == node_id
    )


def watch_producer_ids(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Have a broker stop, once what it is doing is done, if it leads more ids than it may."""
    if _has_too_many(cluster, node_id):
        cluster.timers.schedule(now_ms, lambda now_ms: _run_out_of_memory(cluster, node_id, now_ms))


def _run_out_of_memory(cluster: Cluster, node_id: int, now_ms: int) -> None:
    if _has_too_many(cluster, node_id):
        cluster.brokers[node_id].is_out_of_memory = True
        failover.stop_broker(cluster, node_id, now_ms)


def _has_too_many(cluster: Cluster, node_id: int) -> bool:
    ids_max: int = cluster.config.for_broker(node_id)["broker.max.producer.ids"]
    return 0 <= ids_max < producer_id_count(cluster, node_id)
