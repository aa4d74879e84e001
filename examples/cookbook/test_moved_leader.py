"""Leader moved: the producer learns of the new leader and loses nothing."""

import pytest
from confluent_kafka import Producer


@pytest.mark.mock_kafka(brokers=2, config={"default.replication.factor": 2})
def test_a_producer_finds_the_new_leader(mock_kafka):
    topic = mock_kafka.create_topic("orders", partitions=1)
    old_leader = topic.partitions[0].leader
    new_leader = 3 - old_leader
    settings = {"bootstrap.servers": mock_kafka.bootstrap_servers, "retry.backoff.ms": 10}
    producer = Producer(settings)
    producer.produce("orders", b"before")
    producer.flush(10)
    mock_kafka.move_leader("orders", 0, new_leader)
    producer.produce("orders", b"after")
    assert producer.flush(10) == 0
    assert [record.value for record in mock_kafka.records("orders")] == [b"before", b"after"]
    assert mock_kafka.requests(api="Produce", error="NOT_LEADER_OR_FOLLOWER", broker=old_leader)
    assert mock_kafka.requests(api="Produce")[-1].broker == new_leader
