"""An hour that passes: retention deletes records that nobody has read yet."""

from confluent_kafka import Consumer

HOUR_MS = 3_600_000


def test_a_consumer_continues_after_records_have_expired(mock_kafka):
    config = {"retention.ms": str(HOUR_MS), "segment.ms": str(HOUR_MS // 4)}
    mock_kafka.create_topic("orders", partitions=1, config=config)
    mock_kafka.produce("orders", b"old")
    mock_kafka.advance(seconds=2 * 3600)
    mock_kafka.produce("orders", b"new")
    consumer = Consumer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    message = consumer.poll(10)
    assert (message.offset(), message.value()) == (1, b"new")
    consumer.close()
