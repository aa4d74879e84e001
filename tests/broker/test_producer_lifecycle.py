"""What the producer state of a partition survives, and what it does not."""

import pytest

from broker.cluster.background_tasks import apply_retention, start_background_tasks
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

DAY_MS = 86_400_000


@pytest.fixture(params=["1", "5"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    made = make_cluster(
        2,
        **{
            "producer.state.batches": request.param,
            "producer.id.expiration.ms": "200",
            "producer.id.expiration.check.interval.ms": "100",
        },
    )
    made.create_topic("t", [(1, 2)], {})
    start_background_tasks(made, NOW_MS)
    return made


def topic_of(cluster: Cluster) -> Topic:
    topic = cluster.topics.get("t")
    assert topic is not None
    return topic


def send(cluster: Cluster, sequence: int) -> int:
    topic = topic_of(cluster)
    batch = make_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=sequence)
    partition = topic.partitions[0]
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    result = append_batch(context, cluster, topic, partition, batch, 0, len(batch))
    return result.error_code


def forgets(cluster: Cluster) -> bool:
    """Return whether a gap is accepted, as only a partition without state does."""
    return send(cluster, 1000) == ErrorCode.NONE


def test_producer_state_survives_the_deletion_of_records(cluster: Cluster) -> None:
    assert send(cluster, 0) == ErrorCode.NONE
    partition = topic_of(cluster).partitions[0]
    cluster.delete_records_before(partition, partition.log.log_end_offset, NOW_MS)

    assert partition.log.batch_count == 0
    assert not forgets(cluster)
    assert send(cluster, 1) == ErrorCode.NONE


def test_producer_state_survives_retention(cluster: Cluster) -> None:
    send(cluster, 0)
    apply_retention(cluster, NOW_MS + 8 * DAY_MS)

    assert topic_of(cluster).partitions[0].log.batch_count == 0
    assert not forgets(cluster)


def test_producer_state_survives_a_leader_change(cluster: Cluster) -> None:
    send(cluster, 0)
    cluster.set_leader(topic_of(cluster).partitions[0], 2, NOW_MS)

    assert not forgets(cluster)
    assert send(cluster, 1) == ErrorCode.NONE


def test_a_recreated_topic_has_no_producer_state(cluster: Cluster) -> None:
    send(cluster, 0)
    cluster.delete_topic(topic_of(cluster), NOW_MS)
    cluster.create_topic("t", [(1, 2)], {})

    assert forgets(cluster)


def test_producer_state_expires_at_the_first_check_after_the_expiration(cluster: Cluster) -> None:
    send(cluster, 0)
    cluster.timers.run_due(NOW_MS + 199)
    assert not forgets(cluster)

    cluster.timers.run_due(NOW_MS + 300)
    assert forgets(cluster)
