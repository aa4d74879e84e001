"""Unclean election: acknowledged records are lost, and the consumer notices it."""

import pytest
from confluent_kafka import Consumer, Producer

CONFIG = {"default.replication.factor": 2, "unclean.leader.election.enable": True}


@pytest.mark.mock_kafka(brokers=2, config=CONFIG, audit=True)
def test_a_consumer_goes_back_to_where_the_new_leader_ends(mock_kafka):
    partition = mock_kafka.create_topic("orders", partitions=1).partitions[0]
    leader, follower = partition.leader, 3 - partition.leader
    mock_kafka.produce("orders", b"on both")
    mock_kafka.pause_follower("orders", 0, follower)
    producer = Producer({"bootstrap.servers": mock_kafka.bootstrap_servers, "acks": "all"})
    producer.produce("orders", b"lost")
    assert producer.flush(10) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    assert [consumer.poll(10).value() for _ in range(2)] == [b"on both", b"lost"]
    mock_kafka.stop_broker(leader)
    mock_kafka.start_broker(leader)
    mock_kafka.produce("orders", b"after")
    record = consumer.poll(10)
    assert (record.offset(), record.value()) == (1, b"after")
    consumer.close()
    assert [record.value for record in mock_kafka.records("orders")] == [b"on both", b"after"]
    assert [finding.kind for finding in mock_kafka.audit().findings] == ["lost_by_election"]
