"""A broker that hangs: the request times out, and the retry stores the record once."""

from confluent_kafka import Producer


def test_a_producer_survives_a_broker_that_never_responds(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1)
    mock_kafka.hang(api="Produce", times=1)  # appended, but no response, ever
    producer = Producer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "enable.idempotence": True,
            "socket.timeout.ms": 300,
            "request.timeout.ms": 300,
        }
    )
    producer.produce("orders", b"one coffee")
    assert producer.flush(10) == 0
    assert len(mock_kafka.records("orders")) == 1
    assert len(mock_kafka.requests(api="Produce")) == 2
