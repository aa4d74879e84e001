"""Failed disk: the leader returns KAFKA_STORAGE_ERROR until another broker leads."""

import pytest
from confluent_kafka import Producer


@pytest.mark.mock_kafka(brokers=2, config={"default.replication.factor": 2})
def test_a_producer_moves_away_from_a_leader_with_a_failed_disk(mock_kafka):
    leader = mock_kafka.create_topic("orders", partitions=1).partitions[0].leader
    # The second refused request also moves the leader, as the controller would.
    mock_kafka.fail(api="Produce", error="KAFKA_STORAGE_ERROR", broker=leader)
    mock_kafka.add_fault(api="Produce", topic="orders", leader="next", nth=2)
    settings = {"bootstrap.servers": mock_kafka.bootstrap_servers, "retry.backoff.ms": 10}
    producer = Producer(settings)
    producer.produce("orders", b"one coffee")
    assert producer.flush(10) == 0
    assert len(mock_kafka.requests(api="Produce", error="KAFKA_STORAGE_ERROR")) >= 1
    [stored] = mock_kafka.records("orders")
    assert stored.value == b"one coffee"
    assert mock_kafka.requests(api="Produce")[-1].broker != leader
