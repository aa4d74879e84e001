"""Message too large: the topic's own limit is lower than the client's."""

from confluent_kafka import KafkaError, Producer


def test_a_record_that_is_too_large_fails_and_the_next_one_is_stored(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1, config={"max.message.bytes": "1000"})
    producer = Producer({"bootstrap.servers": mock_kafka.bootstrap_servers})
    errors = []
    for size in (2000, 100):
        producer.produce("orders", bytes(size), on_delivery=lambda error, _: errors.append(error))
        producer.flush(10)
    assert errors[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert errors[1] is None
    assert [len(record.value) for record in mock_kafka.records("orders")] == [100]
