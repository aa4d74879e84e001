"""Which brokers take new replicas: those with a log directory that is not cordoned (KIP-1066).

Source: Kafka's `BrokerRegistration.hasUncordonedDirs`.
"""

from broker.cluster.cluster import Cluster
from broker.config.broker_requirements import ALL_LOG_DIRS, LOG_DIR, named_log_dirs
from broker.config.features import METADATA_VERSION

METADATA_VERSION_MIN = 30
"""The level of metadata.version 4.3-IV0, from which on controllers know cordoned directories."""


def log_dirs(cluster: Cluster, node_id: int) -> tuple[str, ...]:
    """Return the paths of a broker's log directories."""
    return named_log_dirs(cluster.config.for_broker(node_id)) or (LOG_DIR.format(node_id),)


def is_dir_cordoned(cluster: Cluster, node_id: int, path: str) -> bool:
    """Return whether a log directory of a broker gets no new replicas."""
    if cluster.features.level(METADATA_VERSION) < METADATA_VERSION_MIN:
        return False
    cordoned = cluster.config.for_broker(node_id)["cordoned.log.dirs"]
    return path in cordoned or ALL_LOG_DIRS in cordoned


def is_cordoned(cluster: Cluster, node_id: int) -> bool:
    """Return whether a broker gets no new replicas: all its log directories are cordoned."""
    return all(is_dir_cordoned(cluster, node_id, path) for path in log_dirs(cluster, node_id))


def usable_broker_ids(cluster: Cluster) -> list[int]:
    """Return the node ids of brokers that are up and not cordoned, ascending."""
    return [node_id for node_id in cluster.alive_broker_ids() if not is_cordoned(cluster, node_id)]
