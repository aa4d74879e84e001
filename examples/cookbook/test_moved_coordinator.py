"""Coordinator moved: the consumer looks for the new one and commits there."""

import pytest
from kafka import KafkaConsumer


@pytest.mark.mock_kafka(brokers=2)
def test_a_consumer_commits_to_the_new_coordinator(mock_kafka):
    mock_kafka.produce("orders", b"one coffee", partition=0)
    mock_kafka.move_coordinator("billing", 1)
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=mock_kafka.bootstrap_servers,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    assert next(consumer).value == b"one coffee"
    mock_kafka.move_coordinator("billing", 2)
    consumer.commit()
    consumer.close()
    assert mock_kafka.committed("billing") == {("orders", 0): 1}
    assert mock_kafka.requests(api="OffsetCommit", error="NOT_COORDINATOR", broker=1)
    assert mock_kafka.requests(api="OffsetCommit")[-1].broker == 2
