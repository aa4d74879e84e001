"""What only aiokafka does; test_python_clients.py has the rest."""

import pytest

from mock_kafka import MockKafka
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.interface import ProducerOptions, Record


@pytest.mark.interop
def test_an_error_that_send_raises_is_the_outcome_of_the_record() -> None:
    with MockKafka(config={"num.partitions": 1}) as kafka:
        options = ProducerOptions(max_request_bytes=500)
        with AIOKAFKA.producer(kafka.bootstrap_servers, options=options) as producer:
            small, large = producer.send_all("t", [Record(b"x"), Record(b"x" * 1_000)])
    assert small.error is None
    assert large.error_name == "MessageSizeTooLargeError"


@pytest.mark.interop
def test_more_records_than_fit_into_a_batch_keep_their_order() -> None:
    with MockKafka(config={"num.partitions": 1, "log.retention.ms": -1}) as kafka:
        values = [b"%d" % number for number in range(50)]
        with AIOKAFKA.producer(kafka.bootstrap_servers, {"max_batch_size": 100}) as producer:
            deliveries = producer.send_all("t", list(map(Record, values)))
        assert [delivery.offset for delivery in deliveries] == list(range(50))
        assert [record.value for record in kafka.records("t")] == values


@pytest.mark.interop
def test_a_topic_that_is_not_created_raises_an_error() -> None:
    with MockKafka() as kafka:
        AIOKAFKA.create_topic(kafka.bootstrap_servers, "t", 1, 1)
        with pytest.raises(RuntimeError, match="topic t was not created: error 36"):
            AIOKAFKA.create_topic(kafka.bootstrap_servers, "t", 1, 1)
