"""Which broker may serve a partition."""

import pytest

from broker.cluster.leader_epoch import leader_epoch_error
from broker.cluster.topics import NO_LEADER
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster


@pytest.mark.parametrize(
    ("broker_id", "epoch", "error_code"),
    [
        (2, -1, ErrorCode.NONE),
        (2, 1, ErrorCode.NONE),
        (2, 0, ErrorCode.FENCED_LEADER_EPOCH),
        (2, 2, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (1, 0, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_the_leader_epoch_is_checked_before_the_leader(
    broker_id: int, epoch: int, error_code: ErrorCode
) -> None:
    cluster = make_cluster(2)
    (partition,) = cluster.create_topic("t", [(1, 2)], {}).partitions
    cluster.set_leader(partition, 2, NOW_MS)

    assert leader_epoch_error(partition, broker_id, epoch) == error_code


def test_no_broker_serves_a_partition_without_a_leader() -> None:
    cluster = make_cluster(2)
    (partition,) = cluster.create_topic("t", [(1, 2)], {}).partitions
    cluster.set_leader(partition, NO_LEADER, NOW_MS)

    assert leader_epoch_error(partition, 1, -1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
