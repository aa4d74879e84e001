"""Exactly-once consumer: a crash between two writes leaves nothing that others can read."""

from confluent_kafka import Consumer, Producer


def start(mock_kafka):
    """Start an instance of the service; its producer aborts what the last one left open."""
    servers = {"bootstrap.servers": mock_kafka.bootstrap_servers}
    producer = Producer({**servers, "transactional.id": "billing-1"})
    producer.init_transactions(10)
    consumer = Consumer(
        {
            **servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    return consumer, producer


def write_invoice(consumer, producer, crashes=False):
    """Read an order; write its invoice and its offset in one transaction."""
    order = consumer.poll(10)
    producer.begin_transaction()
    producer.produce("invoices", b"invoice of " + order.value())
    producer.flush(10)
    if crashes:
        return
    positions = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), 10)
    producer.commit_transaction(10)


def test_an_invoice_is_visible_once_after_a_crash(mock_kafka):
    mock_kafka.produce("orders", b"a coffee", partition=0)
    first_consumer, first_producer = start(mock_kafka)
    write_invoice(first_consumer, first_producer, crashes=True)
    first_consumer.close()

    consumer, producer = start(mock_kafka)
    write_invoice(consumer, producer)
    consumer.close()

    outcomes = [record.transaction for record in mock_kafka.records("invoices")]
    assert sorted(outcomes) == ["aborted", "committed"]
    [visible] = mock_kafka.records("invoices", isolation_level="read_committed")
    assert visible.value == b"invoice of a coffee"
    assert mock_kafka.committed("billing") == {("orders", 0): 1}
