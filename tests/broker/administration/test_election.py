import pytest

from broker.administration.election import ElectionType, elect_leader
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.topics import NO_LEADER, Partition
from broker.errors import Refusal
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster


def cluster_and_partition(*replicas: int) -> tuple[Cluster, Partition]:
    cluster = make_cluster()
    return cluster, cluster.create_topic("a", [replicas], {}).partitions[0]


def elect(cluster: Cluster, election_type: ElectionType, index: int = 0) -> ErrorCode:
    refusal = elect_leader(cluster, "a", index, election_type, NOW_MS)
    return refusal.error_code if refusal else ErrorCode.NONE


def test_a_preferred_election_gives_the_partition_back_to_its_first_replica() -> None:
    cluster, partition = cluster_and_partition(2, 1, 3)
    cluster.set_leader(partition, 3, NOW_MS)
    woken_at: list[int] = []
    partition.log.wait(woken_at.append)

    assert elect(cluster, ElectionType.PREFERRED) is ErrorCode.NONE
    assert (partition.leader_id, partition.leader_epoch) == (2, 2)
    assert woken_at == [NOW_MS]


@pytest.mark.parametrize("election_type", ElectionType)
def test_election_not_needed_if_the_preferred_replica_leads(election_type: ElectionType) -> None:
    cluster, partition = cluster_and_partition(2, 1)

    assert elect(cluster, election_type) is ErrorCode.ELECTION_NOT_NEEDED
    assert partition.leader_epoch == 0


def test_an_unclean_election_is_not_needed_if_there_is_a_leader() -> None:
    cluster, partition = cluster_and_partition(2, 1)
    cluster.set_leader(partition, 1, NOW_MS)

    assert elect(cluster, ElectionType.UNCLEAN) is ErrorCode.ELECTION_NOT_NEEDED
    assert partition.leader_id == 1


def test_a_preferred_replica_that_is_down_or_out_of_sync_is_not_available() -> None:
    cluster, partition = cluster_and_partition(2, 1)
    failover.stop_broker(cluster, 2, NOW_MS)
    assert partition.leader_id == 1

    assert elect(cluster, ElectionType.PREFERRED) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    cluster.brokers[2].is_alive = True
    assert elect(cluster, ElectionType.PREFERRED) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    partition.isr = (1, 2)
    assert elect(cluster, ElectionType.PREFERRED) is ErrorCode.NONE
    assert partition.leader_id == 2


@pytest.mark.parametrize("election_type", ElectionType)
def test_without_a_leader_any_replica_in_sync_is_elected(election_type: ElectionType) -> None:
    cluster, partition = cluster_and_partition(2, 1, 3)
    cluster.set_leader(partition, NO_LEADER, NOW_MS)
    cluster.brokers[2].is_alive = False

    assert elect(cluster, election_type) is ErrorCode.NONE
    assert (partition.leader_id, partition.isr) == (1, (2, 1, 3))


def test_only_an_unclean_election_takes_a_replica_that_is_not_in_sync() -> None:
    cluster, partition = cluster_and_partition(2, 1, 3)
    for node_id in (1, 3, 2):
        failover.stop_broker(cluster, node_id, NOW_MS)
    assert (partition.leader_id, partition.isr) == (NO_LEADER, ())

    assert elect(cluster, ElectionType.UNCLEAN) is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    cluster.brokers[3].is_alive = True
    assert elect(cluster, ElectionType.PREFERRED) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert elect(cluster, ElectionType.UNCLEAN) is ErrorCode.NONE
    assert (partition.leader_id, partition.isr) == (3, (3,))


@pytest.mark.parametrize(
    ("topic_name", "index", "message"),
    [("b", 0, "No such topic as b"), ("a", 1, "No such partition as a-1")],
)
def test_an_election_for_a_missing_topic_or_partition_is_refused(
    topic_name: str, index: int, message: str
) -> None:
    cluster, _ = cluster_and_partition(1)

    refusal = elect_leader(cluster, topic_name, index, ElectionType.PREFERRED, NOW_MS)

    assert refusal == Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
