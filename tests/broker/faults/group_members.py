"""A member of a group of the consumer protocol, for rules about groups."""

from broker.cluster.cluster import Cluster
from broker.groups.consumer.requests import ConsumerHeartbeat
from tests.broker.cluster_builder import NOW_MS

MEMBER = "m"


def join(cluster: Cluster, group: str) -> int:
    """Have the member join, or join again; return its epoch."""
    heartbeat = ConsumerHeartbeat(
        group,
        MEMBER,
        0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=("t",),
        owned_partitions={},
    )
    return cluster.groups.consumer_heartbeat(heartbeat, NOW_MS).member_epoch
