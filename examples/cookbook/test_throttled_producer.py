"""Throttled producer: a quota delays the client and loses nothing."""

from confluent_kafka import Producer

from mock_kafka import DEFAULT


def test_a_producer_over_its_quota_is_throttled(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1)
    mock_kafka.quota(client_id=DEFAULT, producer_byte_rate=1000)
    throttle_times_ms = []
    producer = Producer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "throttle_cb": lambda event: throttle_times_ms.append(event.throttle_time * 1000),
        }
    )
    producer.produce("orders", bytes(20_000))
    assert producer.flush(10) == 0
    while not throttle_times_ms:
        producer.poll(0.1)
    [request] = mock_kafka.requests(api="Produce")
    assert request.throttle_time_ms == round(throttle_times_ms[0]) > 0
    assert len(mock_kafka.records("orders")) == 1
