"""Stop a broker that leads too many producer ids, as if it was out of memory.

The limit counts the producer ids of the partitions that a broker leads, as in KIP-936's example of
a cluster that fails broker by broker. The ids move with the leadership, to a broker that may then
have too many. Kafka's followers store them too. If those counted here, a failover would give no
broker more ids.
"""

from functools import partial

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from protocol.pacing import may_pause


def limit_producer_ids(cluster: Cluster) -> None:
    """Check `broker.max.producer.ids` whenever a broker becomes a leader."""
    cluster.on_new_leader = partial(check_producer_id_limit, cluster)


def producer_id_count(cluster: Cluster, node_id: int) -> int:
    """Return the number of producer ids in the partitions that a broker leads."""
    return sum(
        len(partition.producers)
        for topic in cluster.topics.all()
        for partition in topic.partitions
        if partition.leader_id == node_id
    )


def check_producer_id_limit(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Stop a broker after the current request if it leads too many producer ids."""
    if _has_too_many(cluster, node_id):
        cluster.timers.schedule(now_ms, lambda now_ms: _run_out_of_memory(cluster, node_id, now_ms))


@may_pause
def _run_out_of_memory(cluster: Cluster, node_id: int, now_ms: int) -> None:
    if _has_too_many(cluster, node_id):
        cluster.brokers[node_id].is_out_of_memory = True
        failover.stop_broker(cluster, node_id, now_ms)


def _has_too_many(cluster: Cluster, node_id: int) -> bool:
    ids_max: int = cluster.config.for_broker(node_id)["broker.max.producer.ids"]
    return 0 <= ids_max < producer_id_count(cluster, node_id)
