"""Check whether a broker coordinates a group."""

from broker.cluster.cluster import Cluster
from protocol.errors import ErrorCode


def ownership_error(cluster: Cluster, broker_id: int, group_id: str) -> ErrorCode:
    """Return NONE for the group's coordinator, NOT_COORDINATOR for any other broker.

    COORDINATOR_NOT_AVAILABLE when no broker is up to be the coordinator.
    """
    coordinator_id = cluster.coordinator_id(group_id)
    if coordinator_id is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NONE if coordinator_id == broker_id else ErrorCode.NOT_COORDINATOR
