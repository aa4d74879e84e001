"""Check whether a broker leads a partition in the epoch that a client knows."""

from broker.cluster.topics import Partition
from protocol.errors import ErrorCode


def leader_epoch_error(
    partition: Partition, broker_id: int, current_leader_epoch: int
) -> ErrorCode:
    """Return NONE if this broker leads in the client's epoch (-1: in any epoch).

    Kafka's `Partition.checkCurrentLeaderEpoch` and `getLocalLog`.
    """
    if current_leader_epoch >= 0:
        if current_leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if current_leader_epoch > partition.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
    if partition.leader_id != broker_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE
