"""Duplicate sequence (KIP-758): the response to a retry depends on producer.state.batches."""

import pytest
from confluent_kafka import Producer


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            "DUPLICATE_SEQUENCE_NUMBER",
            marks=pytest.mark.mock_kafka(config={"producer.state.batches": 1}),
        ),
        pytest.param(None, marks=pytest.mark.mock_kafka(config={"producer.state.batches": 5})),
    ],
)
def test_a_retried_batch_is_stored_once_under_both_rules(mock_kafka, error):
    mock_kafka.create_topic("orders", partitions=1)
    mock_kafka.drop_response(api="Produce", times=1)
    settings = {"bootstrap.servers": mock_kafka.bootstrap_servers, "enable.idempotence": True}
    producer = Producer(settings)
    producer.produce("orders", b"one coffee")
    assert producer.flush(10) == 0
    assert len(mock_kafka.records("orders")) == 1
    assert mock_kafka.requests(api="Produce")[-1].errors == ((error,) if error else ())
