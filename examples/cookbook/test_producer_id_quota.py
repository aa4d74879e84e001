"""New producer ids throttled (KIP-936): a user that starts too many producers has to wait."""

import pytest
from confluent_kafka import Producer

ONE_A_SECOND = {
    "client.quotas": "user=<default>,producer_ids_rate=1",
    "producer.id.quota.window.size.seconds": 1,
}


def start_producer(mock_kafka, value):
    """Return a new idempotent producer that has one record to send."""
    settings = {"bootstrap.servers": mock_kafka.bootstrap_servers, "enable.idempotence": True}
    producer = Producer(settings)
    producer.produce("orders", value)
    return producer


@pytest.mark.mock_kafka(config=ONE_A_SECOND)
def test_a_new_producer_waits_until_the_window_has_passed(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1)
    mock_kafka.set_clock("standing")
    assert start_producer(mock_kafka, b"first").flush(10) == 0
    second = start_producer(mock_kafka, b"second")
    refused = mock_kafka.wait_for(api="Produce", error="NOT_ENOUGH_REPLICAS")
    assert refused.throttle_time_ms > 0
    assert [record.value for record in mock_kafka.records("orders")] == [b"first"]
    mock_kafka.advance(seconds=10)
    assert second.flush(10) == 0
    assert [record.value for record in mock_kafka.records("orders")] == [b"first", b"second"]
