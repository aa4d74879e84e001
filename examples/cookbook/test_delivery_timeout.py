"""delivery.timeout.ms (KIP-91): a record has an outcome in time, even without a leader."""

from confluent_kafka import KafkaError, Producer


def test_a_record_fails_in_time_when_the_partition_has_no_leader(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1)
    mock_kafka.move_leader("orders", 0, None)
    errors = []
    settings = {"bootstrap.servers": mock_kafka.bootstrap_servers, "delivery.timeout.ms": 300}
    producer = Producer(settings)
    producer.produce("orders", b"one", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(10) == 0
    assert errors[0].code() == KafkaError._MSG_TIMED_OUT
    assert mock_kafka.records("orders") == []
