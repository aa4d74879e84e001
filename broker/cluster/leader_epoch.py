"""Check whether a broker may serve a partition in the epoch that a client knows."""

from broker.cluster.topics import Partition
from protocol.errors import ErrorCode


def leader_epoch_error(
    partition: Partition,
    broker_id: int,
    current_leader_epoch: int,
    *,
    requires_leader: bool = True,
) -> ErrorCode:
    """Return NONE if this broker leads in the client's epoch (-1: in any epoch).

    Without `requires_leader` a follower may serve the partition, too. A broker that has no replica
    of it is NOT_LEADER_OR_FOLLOWER, whatever the epoch.

    Kafka's `ReplicaManager.getPartitionOrError`, `Partition.checkCurrentLeaderEpoch` and
    `getLocalLog`.
    """
    is_leader = partition.leader_id == broker_id
    if not is_leader and broker_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if current_leader_epoch >= 0:
        if current_leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if current_leader_epoch > partition.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
    if requires_leader and not is_leader:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE
