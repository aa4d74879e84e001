"""Poison pill: a record that cannot be processed goes to a dead-letter topic."""

from confluent_kafka import Consumer, Producer


def process_orders(consumer, producer, count):
    """Process this many orders; send those that are no numbers to orders.dead."""
    processed = []
    for _ in range(count):
        message = consumer.poll(10)
        try:
            processed.append(int(message.value()))
        except ValueError as error:
            headers = {"error": str(error), "offset": str(message.offset())}
            producer.produce("orders.dead", message.value(), message.key(), headers=headers)
            producer.flush(10)
        consumer.commit(message, asynchronous=False)
    return processed


def test_a_poison_pill_does_not_stop_the_consumer(mock_kafka):
    mock_kafka.produce("orders", b"1", b"broken", b"3", partition=0)
    servers = {"bootstrap.servers": mock_kafka.bootstrap_servers}
    producer = Producer(servers)
    consumer = Consumer({**servers, "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    assert process_orders(consumer, producer, 3) == [1, 3]
    consumer.close()
    [dead] = mock_kafka.records("orders.dead")
    assert dead.value == b"broken"
    assert dict(dead.headers)["offset"] == b"1"
    assert mock_kafka.committed("billing") == {("orders", 0): 3}
