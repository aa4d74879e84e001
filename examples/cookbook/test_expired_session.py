"""Expired session: a consumer that was away too long may not commit any more."""

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException


def test_a_consumer_whose_session_expired_cannot_commit(mock_kafka):
    mock_kafka.produce("orders", b"one coffee", partition=0)
    consumer = Consumer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
        }
    )
    consumer.subscribe(["orders"])
    message = consumer.poll(10)
    mock_kafka.advance(seconds=7)
    with pytest.raises(KafkaException) as refusal:
        consumer.commit(message, asynchronous=False)
    assert refusal.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    assert mock_kafka.committed("billing") == {}
    consumer.close()
