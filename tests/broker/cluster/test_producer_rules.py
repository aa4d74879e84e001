"""The rule for producer state is that of the leader, and changes with the leader."""

import pytest

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.producer_rules import has_limit_of_ids
from broker.cluster.topics import NO_LEADER, Partition
from broker.config.broker_config import BrokerConfig
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

BATCHES = "producer.state.batches"
WINDOW = "max.in.flight.sequence.number.per.connection"
KIP_758 = ErrorCode.DUPLICATE_SEQUENCE_NUMBER, 7
"""Broker 1's response to a duplicate of the newest batch; broker 2 returns success."""
KAFKA = ErrorCode.NONE, 7


@pytest.fixture
def cluster() -> Cluster:
    """Broker 1 follows KIP-758, broker 2 Kafka; broker 1 leads a partition with eight batches."""
    made = make_cluster(2, **{f"broker.2.{BATCHES}": "5"})
    made.create_topic("t", [(1, 2)], {})
    for sequence in range(8):
        assert send(made, sequence) == (ErrorCode.NONE, sequence)
    return made


def partition_of(cluster: Cluster) -> Partition:
    topic = cluster.topics.get("t")
    assert topic is not None
    return topic.partitions[0]


def send(cluster: Cluster, sequence: int) -> tuple[int, int]:
    """Produce a batch of one record; return error code and base offset."""
    topic = cluster.topics.get("t")
    assert topic is not None
    batch = make_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=sequence)
    partition = topic.partitions[0]
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    result = append_batch(context, cluster, topic, partition, batch, 0, len(batch))
    return result.error_code, result.base_offset


def lead(cluster: Cluster, node_id: int) -> None:
    cluster.move_leader(partition_of(cluster), node_id, NOW_MS)


def test_the_rule_of_the_leader_decides(cluster: Cluster) -> None:
    assert send(cluster, 7) == KIP_758
    assert send(cluster, 6) == (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1)

    lead(cluster, 2)
    assert send(cluster, 7) == KAFKA
    # The state had only the newest batch, so the offset of an older one is unknown.
    assert send(cluster, 6) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    for sequence in (8, 9):
        assert send(cluster, sequence) == (ErrorCode.NONE, sequence)
    assert [send(cluster, sequence) for sequence in (7, 8, 9)] == [
        (ErrorCode.NONE, offset) for offset in (7, 8, 9)
    ]

    lead(cluster, 1)
    assert send(cluster, 9) == (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, 9)
    assert send(cluster, 8) == (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1)
    assert send(cluster, 10) == (ErrorCode.NONE, 10)


def test_the_rule_changes_with_the_leader_after_an_outage(cluster: Cluster) -> None:
    failover.stop_broker(cluster, 1, NOW_MS)
    assert partition_of(cluster).leader_id == 2
    assert send(cluster, 7) == KAFKA


def test_without_a_leader_the_state_stays_as_it_is(cluster: Cluster) -> None:
    partition = partition_of(cluster)
    before = partition.producers.entry(7)
    cluster.set_leader(partition, NO_LEADER, NOW_MS)
    cluster.set_config(cluster.config.with_dynamic(1, {BATCHES: "5"}))
    assert partition.leader_id == NO_LEADER
    assert partition.producers.entry(7) == before
    assert send(cluster, 7) == KIP_758

    lead(cluster, 1)
    assert send(cluster, 7) == KAFKA


@pytest.mark.parametrize("node_id", [1, None])
def test_a_rule_changed_at_run_time_applies_at_once(cluster: Cluster, node_id: int | None) -> None:
    config = cluster.config
    cluster.set_config(config.with_dynamic(node_id, {BATCHES: "5"}))
    assert send(cluster, 7) == KAFKA
    cluster.set_config(config)
    assert send(cluster, 7) == KIP_758


def test_a_rule_changed_for_another_broker_changes_nothing(cluster: Cluster) -> None:
    cluster.set_config(cluster.config.with_dynamic(2, {BATCHES: "1", WINDOW: "2"}))
    assert send(cluster, 7) == KIP_758
    assert send(cluster, 1) == (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1)


def test_the_window_is_that_of_the_leader(cluster: Cluster) -> None:
    config = cluster.config.with_dynamic(2, {BATCHES: "1", WINDOW: "3"})
    cluster.set_config(config)
    lead(cluster, 2)
    assert send(cluster, 5) == (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1)
    assert send(cluster, 4) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)

    cluster.set_config(config.with_dynamic(2, {BATCHES: "1", WINDOW: "4"}))
    assert send(cluster, 4) == (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1)


def test_a_new_partition_has_the_rule_of_its_first_leader() -> None:
    cluster = make_cluster(2, **{f"broker.2.{BATCHES}": "5"})
    topic = cluster.create_topic("t", [(2, 1)], {})
    assert send(cluster, 0) == send(cluster, 0) == (ErrorCode.NONE, 0)
    assert topic.partitions[0].leader_id == 2


def test_a_limit_of_one_broker_is_a_limit_of_the_cluster() -> None:
    config = BrokerConfig.from_overrides({"broker.2.broker.max.producer.ids": "7"})
    assert has_limit_of_ids(config, (1, 2))
    assert not has_limit_of_ids(config, (1, 3))
