"""Topic deleted under a consumer: poll reports an error instead of silence."""

from confluent_kafka import Consumer, KafkaError


def test_a_consumer_hears_of_a_deleted_topic(mock_kafka):
    mock_kafka.produce("orders", b"one coffee", partition=0)
    consumer = Consumer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": 100,
            "topic.metadata.propagation.max.ms": 0,
        }
    )
    consumer.subscribe(["orders"])
    assert consumer.poll(10).value() == b"one coffee"
    mock_kafka.delete_topic("orders")
    message = consumer.poll(10)
    assert message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    consumer.close()
