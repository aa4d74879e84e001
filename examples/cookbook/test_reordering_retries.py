"""Retries that reorder: without idempotence a retried batch comes after the next one."""

import pytest
from confluent_kafka import Producer


@pytest.mark.parametrize(
    ("is_idempotent", "stored"), [(False, [b"second", b"first"]), (True, [b"first", b"second"])]
)
def test_only_an_idempotent_producer_keeps_the_order(mock_kafka, is_idempotent, stored):
    mock_kafka.create_topic("orders", partitions=1)
    producer = Producer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "enable.idempotence": is_idempotent,
            "batch.num.messages": 1,  # a request for each record
            "linger.ms": 0,
            "retry.backoff.ms": 10,
        }
    )
    producer.produce("orders", b"opening")  # the broker knows the producer from now on
    producer.flush(10)
    # The delay gives the client time to send the second request before the first one fails.
    mock_kafka.add_fault(api="Produce", error="NOT_ENOUGH_REPLICAS", delay_ms=300, times=1)
    producer.produce("orders", b"first")
    producer.produce("orders", b"second")
    assert producer.flush(10) == 0
    assert [record.value for record in mock_kafka.records("orders", offset=1)] == stored
