"""Explored faults: whatever is lost, refused or moved, each order is stored once."""

from confluent_kafka import Producer

import mock_kafka as mk

ORDERS = [b"coffee", b"tea", b"cake"]


@mk.explore(runs=5)
def test_each_order_is_stored_once_whatever_happens(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1, replication_factor=3)
    producer = Producer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "enable.idempotence": True,
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10,
        }
    )
    for order in ORDERS:
        producer.produce("orders", order)
    assert producer.flush(30) == 0
    assert [record.value for record in mock_kafka.records("orders")] == ORDERS
