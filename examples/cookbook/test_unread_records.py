"""My consumer sees nothing though the producer is happy: too few replicas are in sync."""

import pytest
from confluent_kafka import Consumer, Producer

CONFIG = {"default.replication.factor": 3, "min.insync.replicas": 2}


@pytest.mark.mock_kafka(brokers=3, config=CONFIG)
def test_a_record_is_read_when_enough_replicas_have_it(mock_kafka):
    topic = mock_kafka.create_topic("orders", partitions=1)
    leader = topic.partitions[0].leader
    followers = [broker for broker in (1, 2, 3) if broker != leader]
    for broker in followers:
        mock_kafka.stop_broker(broker)
    errors = []
    producer = Producer({"bootstrap.servers": mock_kafka.bootstrap_servers, "acks": 1})
    producer.produce("orders", b"paid", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(10) == 0
    assert errors == [None]
    consumer = Consumer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    assert consumer.poll(1) is None
    assert mock_kafka.records("orders") == []
    partition = mock_kafka.topic("orders").partitions[0]
    assert (partition.high_watermark, partition.log_end_offset) == (0, 1)
    mock_kafka.start_broker(followers[0])
    assert consumer.poll(10).value() == b"paid"
    consumer.close()
