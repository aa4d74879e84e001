"""What only kafka-python does; test_python_clients.py has the rest."""

import pytest

from mock_kafka import MockKafka
from scenarios.clients.interface import ProducerOptions, Record
from scenarios.clients.kafka_python import KAFKA_PYTHON, producer_settings


def test_options_that_are_not_given_are_left_to_the_library() -> None:
    assert producer_settings(ProducerOptions(acks=1)) == {
        "acks": 1,
        "compression_type": None,
        "enable_idempotence": False,
    }


@pytest.mark.interop
def test_an_error_that_send_raises_is_the_outcome_of_the_record() -> None:
    with MockKafka(config={"num.partitions": 1}) as kafka:
        options = ProducerOptions(max_request_bytes=500)
        with KAFKA_PYTHON.producer(kafka.bootstrap_servers, options=options) as producer:
            small, large = producer.send_all("t", [Record(b"x"), Record(b"x" * 1_000)])
    assert small.error is None
    assert large.error_name == "MessageSizeTooLargeError"
