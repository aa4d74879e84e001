"""Authentication that expires: the broker closes the connection, and the client logs in again."""

import pytest
from confluent_kafka import Producer

SASL = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.users": "alice:secret",
    "connections.max.reauth.ms": 60_000,
}


@pytest.mark.mock_kafka(config=SASL)
def test_a_producer_authenticates_again(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1)
    producer = Producer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "secret",
            "reconnect.backoff.ms": 10,
        }
    )
    producer.produce("orders", b"before")
    assert producer.flush(10) == 0
    mock_kafka.advance(seconds=61)
    since = mock_kafka.last_request_number()
    producer.produce("orders", b"after")
    assert producer.flush(10) == 0
    assert mock_kafka.requests(api="SaslAuthenticate", since=since)
    assert [record.value for record in mock_kafka.records("orders")] == [b"before", b"after"]
