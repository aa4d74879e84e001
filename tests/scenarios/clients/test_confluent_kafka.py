"""What only confluent-kafka does; test_python_clients.py has the rest."""

import confluent_kafka
import pytest

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import CONFLUENT, create_topic
from scenarios.clients.interface import ProducerOptions, Record


@pytest.mark.interop
def test_an_error_that_produce_raises_is_the_outcome_of_the_record() -> None:
    with MockKafka(config={"num.partitions": 1}) as kafka:
        options = ProducerOptions(max_request_bytes=1_000)
        with CONFLUENT.producer(kafka.bootstrap_servers, options=options) as producer:
            small, large = producer.send_all("t", [Record(b"x"), Record(b"x" * 2_000)])
    assert small.error is None
    assert isinstance(large.error, confluent_kafka.KafkaException)
    assert large.error_name == "MSG_SIZE_TOO_LARGE"


@pytest.mark.interop
def test_a_topic_gets_its_replicas_and_its_configuration() -> None:
    with MockKafka(brokers=3) as kafka:
        servers = kafka.bootstrap_servers
        create_topic(servers, "t", assignment=[[3, 2], [1, 3]], config={"retention.ms": "5"})
        [topic] = kafka.topics()
        assert [list(partition.replicas) for partition in topic.partitions] == [[3, 2], [1, 3]]
        with pytest.raises(confluent_kafka.KafkaException, match="already exists"):
            create_topic(servers, "t")
