"""Which brokers take new replicas: those with a log directory that is not cordoned (KIP-1066).

Source: Kafka's `BrokerRegistration.hasUncordonedDirs`.
"""

from broker.cluster.cluster import Cluster
from broker.config.broker_requirements import ALL_LOG_DIRS, LOG_DIR
from broker.config.features import METADATA_VERSION
from broker.config.values import elements_of

METADATA_VERSION_MIN = 30
"""The level of metadata.version 4.3-IV0, from which on controllers know cordoned directories."""


def is_cordoned(cluster: Cluster, node_id: int) -> bool:
    """Return whether a broker gets no new replicas: all its log directories are cordoned."""
    if cluster.features.level(METADATA_VERSION) < METADATA_VERSION_MIN:
        return False
    values = cluster.config.for_broker(node_id)
    cordoned = values["cordoned.log.dirs"]
    if not cordoned or ALL_LOG_DIRS in cordoned:
        return bool(cordoned)
    directories = elements_of(values["log.dirs"]) or (LOG_DIR.format(node_id),)
    return set(directories) <= set(cordoned)


def usable_broker_ids(cluster: Cluster) -> list[int]:
    """Return the node ids of brokers that are up and not cordoned, ascending."""
    return [node_id for node_id in cluster.alive_broker_ids() if not is_cordoned(cluster, node_id)]
