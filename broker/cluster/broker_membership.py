"""Brokers that join a running cluster, and that leave it for good.

Sources: Kafka's `ClusterControlManager.registerBroker` and `unregisterBroker`.
"""

from broker.cluster import failover
from broker.cluster.brokers import Broker
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import ControllerEvent

BROKERS_MAX = 100
"""How many brokers a cluster may have, with those it had: each keeps its port until a reset."""


def new_broker(cluster: Cluster, node_id: int | None = None) -> Broker:
    """A broker to be added once it has addresses; one that was decommissioned has them.

    Without a node id it gets the next that was never used.

    Raises:
        ValueError: the node id is taken, or there are as many brokers as may be.
    """
    known = cluster.brokers | cluster.decommissioned
    wanted = max(known) + 1 if node_id is None else node_id
    if wanted in cluster.brokers:
        raise ValueError(f"there is a broker {wanted} already")
    if wanted in cluster.decommissioned:
        return cluster.decommissioned[wanted]
    if len(known) >= BROKERS_MAX:
        gone = ", ".join(map(str, cluster.decommissioned)) or "none"
        raise ValueError(f"there were {BROKERS_MAX} brokers; of these may come back: {gone}")
    return Broker(wanted, "", -1)


def add_broker(cluster: Cluster, broker: Broker, now_ms: int) -> None:
    """Take in a broker of `new_broker`; what is there already stays where it is.

    New partitions come to it, and what is moved there. One that was decommissioned is in sync again
    at once for the replicas it still has.

    Raises:
        ValueError: its node id has been taken meanwhile.
    """
    node_id = broker.node_id
    if node_id in cluster.brokers:
        raise ValueError(f"there is a broker {node_id} already")
    cluster.decommissioned.pop(node_id, None)
    cluster.brokers = dict(sorted({**cluster.brokers, node_id: broker}.items()))
    cluster.quotas.add_broker(node_id, cluster.config)
    # What a lone broker has for itself counts for no two.
    cluster.set_config(cluster.config)
    failover.start_broker(cluster, node_id, now_ms)


def decommission_broker(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Stop a broker and forget it: Metadata has it no more, and it can't be started.

    Partitions that have it as a replica keep it as one that is offline, until they are moved.

    Raises:
        ValueError: there is no such broker, or no other.
    """
    if tuple(cluster.brokers) == (node_id,):
        raise ValueError(f"broker {node_id} is the last one; it can be stopped")
    failover.stop_broker(cluster, node_id, now_ms)

    def unregister(_now_ms: int) -> None:
        if node_id in cluster.brokers and len(cluster.brokers) > 1:
            cluster.decommissioned[node_id] = cluster.brokers.pop(node_id)
            cluster.set_config(cluster.config)

    # Behind the election, wherever that is in the queue.
    cluster.controller_queue.submit(ControllerEvent("unregisterBroker", unregister), now_ms)
