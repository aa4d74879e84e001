"""Partitions are made before a topic has them, and only fit what they were made of."""

from broker.cluster.made_partitions import MadePartitions, make_partitions
from broker.cluster.topics import NO_LEADER
from broker.config.broker_config import BrokerConfig


def test_the_first_replica_that_is_up_leads() -> None:
    config = BrokerConfig({})
    made = make_partitions("t", 5, [(1, 2), (2, 1), (2,)], [1, 3], config)
    assert [(part.partition_index, part.isr, part.leader_id) for part in made] == [
        (5, (1,), 1),
        (6, (1,), 1),
        (7, (), NO_LEADER),
    ]
    assert [part.replicas for part in made] == [(1, 2), (2, 1), (2,)]
    assert all(part.compaction is None for part in made)


def test_partitions_of_internal_topics_are_compacted() -> None:
    (made,) = make_partitions("__consumer_offsets", 0, [(1,)], [1], BrokerConfig({}))
    assert made.compaction is not None


def test_made_partitions_fit_as_long_as_nothing_has_changed() -> None:
    config = BrokerConfig({})
    made = MadePartitions([], 0, [(1,)], [1, 2], config)
    assert made.fits(0, [(1,)], [1, 2], config)
    assert not made.fits(1, [(1,)], [1, 2], config)
    assert not made.fits(0, [(2,)], [1, 2], config)
    assert not made.fits(0, [(1,)], [1], config)
    assert not made.fits(0, [(1,)], [1, 2], BrokerConfig({}))
