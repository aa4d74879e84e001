"""Slow consumer: a test that watches the lag, as an alert would."""

from confluent_kafka import Consumer


def test_the_lag_grows_and_shrinks(mock_kafka):
    mock_kafka.produce("orders", *(b"%d" % number for number in range(100)), partition=0)
    consumer = Consumer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    for _ in range(30):
        message = consumer.poll(10)
    consumer.commit(message, asynchronous=False)
    assert mock_kafka.lag("billing") == {("orders", 0): 70}
    mock_kafka.produce("orders", b"another", partition=0)
    assert mock_kafka.lag("billing") == {("orders", 0): 71}
    consumer.close()
