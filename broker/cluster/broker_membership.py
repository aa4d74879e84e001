"""Add brokers to a running cluster, and decommission them.

Sources: Kafka's `ClusterControlManager.registerBroker` and `unregisterBroker`.
"""

from broker.cluster import failover
from broker.cluster.brokers import Broker
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import ControllerEvent
from protocol.pacing import may_pause

BROKERS_MAX = 100
"""Largest number of brokers. Decommissioned ones count: they keep their ports until a reset."""


def new_broker(cluster: Cluster, node_id: int | None = None) -> Broker:
    """Return a broker for `add_broker`; one that was decommissioned keeps its addresses.

    Without a node id it gets the next that was never used.

    Raises:
        ValueError: the node id is taken, or the cluster has its maximum number of brokers.
    """
    known = cluster.brokers | cluster.decommissioned
    requested_id = max(known) + 1 if node_id is None else node_id
    if requested_id in cluster.brokers:
        raise ValueError(f"there is a broker {requested_id} already")
    if requested_id in cluster.decommissioned:
        return cluster.decommissioned[requested_id]
    if len(known) >= BROKERS_MAX:
        gone = ", ".join(map(str, cluster.decommissioned)) or "none"
        raise ValueError(f"there were {BROKERS_MAX} brokers; of these may come back: {gone}")
    return Broker(requested_id, "", -1)


@may_pause
def add_broker(cluster: Cluster, broker: Broker, now_ms: int) -> None:
    """Add a broker of `new_broker`; existing partitions stay where they are.

    It gets new partitions, and those that are moved to it. A broker that was decommissioned is in
    sync again at once for its remaining replicas.

    Raises:
        ValueError: its node id was taken since `new_broker`.
    """
    node_id = broker.node_id
    if node_id in cluster.brokers:
        raise ValueError(f"there is a broker {node_id} already")
    cluster.decommissioned.pop(node_id, None)
    cluster.brokers = dict(sorted({**cluster.brokers, node_id: broker}.items()))
    cluster.quotas.add_broker(node_id, cluster.config)
    cluster.add_fetch_sessions(node_id)
    # Values of shared keys for a single broker no longer apply.
    cluster.set_config(cluster.config)
    failover.start_broker(cluster, node_id, now_ms)


@may_pause
def decommission_broker(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Stop and unregister a broker: Metadata no longer lists it, and it cannot be started.

    Partitions that have it as a replica keep it as one that is offline, until they are moved.

    Raises:
        ValueError: there is no such broker, or no other.
    """
    if tuple(cluster.brokers) == (node_id,):
        raise ValueError(f"broker {node_id} is the last one; it can be stopped")
    failover.stop_broker(cluster, node_id, now_ms)

    def unregister(_now_ms: int) -> None:
        _unregister(cluster, node_id)

    # Runs after the election, which may be in the queue.
    cluster.controller_queue.submit(ControllerEvent("unregisterBroker", unregister), now_ms)


@may_pause
def unregister_fenced_broker(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Fence a broker and unregister it, but leave its sockets as they are.

    A broker that is up continues to serve its connections: Kafka too only removes it from the
    metadata. The last broker stays registered, and is fenced until it is started again.

    Raises:
        ValueError: there is no such broker.
    """
    failover.fence_broker(cluster, node_id, now_ms)

    def unregister(_now_ms: int) -> None:
        _unregister(cluster, node_id)

    cluster.controller_queue.submit(ControllerEvent("unregisterBroker", unregister), now_ms)


@may_pause
def _unregister(cluster: Cluster, node_id: int) -> None:
    if node_id in cluster.brokers and len(cluster.brokers) > 1:
        cluster.decommissioned[node_id] = cluster.brokers.pop(node_id)
        cluster.set_config(cluster.config)
