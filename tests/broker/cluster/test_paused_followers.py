"""Followers that lag although their brokers are up."""

import pytest

from broker.cluster.failover import start_broker, stop_broker
from broker.cluster.paused_followers import pause_follower, resume_follower
from tests.broker.cluster.replicated_log import append, replicated, values_of
from tests.broker.cluster_builder import NOW_MS


def test_a_paused_follower_leads_after_an_unclean_election_until_it_follows_again() -> None:
    cluster, _topic, partition = replicated((1, 2, 3))
    append(cluster, b"a")
    for node_id in (2, 3):
        pause_follower(cluster, partition, node_id, NOW_MS)
        append(cluster, b"b")
    assert list(partition.isr) == [1]
    assert dict(partition.replica_ends) == {2: 1, 3: 2}
    start_broker(cluster, 2, NOW_MS)  # it was up
    assert list(partition.isr) == [1]

    stop_broker(cluster, 1, NOW_MS)
    assert (partition.leader_id, list(partition.isr), values_of(partition)) == (2, [2], [b"a"])
    assert dict(partition.replica_ends) == {1: 1, 3: 1}
    start_broker(cluster, 1, NOW_MS)
    resume_follower(cluster, partition, 3, NOW_MS)
    assert list(partition.isr) == [1, 2, 3]
    assert not partition.replica_ends


@pytest.mark.parametrize("node_id", [1, 3])
def test_only_a_follower_can_be_paused(node_id: int) -> None:
    cluster, _topic, partition = replicated()
    with pytest.raises(ValueError, match=f"broker {node_id} "):
        pause_follower(cluster, partition, node_id, NOW_MS)
