"""Partitions are made before a topic has them, and only fit what they were made of."""

import pytest

from broker.cluster.background_tasks import apply_retention
from broker.cluster.discarding_log import DiscardingLog
from broker.cluster.made_partitions import MadePartitions, make_partitions
from broker.cluster.synthetic_log import SyntheticLog
from broker.cluster.topics import NO_LEADER
from broker.config.broker_config import BrokerConfig
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster.synthetic_topic import synthetic_config
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context


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


def test_partitions_of_a_synthetic_topic_share_what_is_kept_of_its_records() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("made", [(1,), (1,)], synthetic_config())
    cluster.add_partitions(topic, [(1,)])
    logs = [partition.log for partition in topic.partitions]
    records = {id(log.records) for log in logs if isinstance(log, SyntheticLog)}
    assert (len(logs), len(records)) == (3, 1)
    batches = [log.read(0, 1, at_least_one=True) for log in logs]
    assert len({batch for (batch,) in batches}) == 3


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_neither_retention_nor_the_cleaner_changes_a_synthetic_log(policy: str) -> None:
    cluster = make_cluster(1, **{"log.cleanup.policy": policy, "log.retention.bytes": "0"})
    topic = cluster.create_topic("made", [(1,)], synthetic_config(log_end_offset=1000))
    apply_retention(cluster, NOW_MS * 10)
    log = topic.partitions[0].log
    assert (log.log_start_offset, log.log_end_offset, topic.is_compacted) == (0, 1000, False)


def test_a_discarded_batch_takes_no_memory_of_the_cluster() -> None:
    cluster = make_cluster(1, **{"log.memory.max.bytes": "1000"})
    topic = cluster.create_topic("gone", [(1,)], {"log.records": "discarded"})
    (partition,) = topic.partitions
    assert isinstance(partition.log, DiscardingLog)
    batch = make_batch(b"x" * 900)
    for number in range(3):
        context = make_context(ApiKey.PRODUCE, 9)
        result = append_batch(context, cluster, topic, partition, batch, 0, len(batch))
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, number)
        assert result.log_start_offset == number + 1
        assert cluster.log_bytes == 0
    apply_retention(cluster, NOW_MS * 10)
    assert partition.log.log_end_offset == 3


def test_nothing_is_appended_to_a_synthetic_topic() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("made", [(1,)], synthetic_config(log_end_offset=10))
    batch = make_batch(b"x")
    context = make_context(ApiKey.PRODUCE, 9)
    result = append_batch(context, cluster, topic, topic.partitions[0], batch, 0, len(batch))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert result.error_message == "made is synthetic: nobody writes to it"
    assert topic.partitions[0].log.log_end_offset == 10
