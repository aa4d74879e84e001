"""Clients whose sessions end soon: they authenticate again, or connect again, and lose nothing."""

from collections.abc import Callable

import confluent_kafka
import kafka
import pytest

from mock_kafka import MockKafka
from scenarios.clients.deadline import Deadline

SESSION_MS = 1500
SESSIONS = 3

Send = Callable[[bytes], None]


def confluent(cluster: MockKafka, topic: str) -> tuple[Send, Callable[[], object]]:
    producer = confluent_kafka.Producer(cluster.client_settings("confluent"))

    def send(value: bytes) -> None:
        errors: list[object] = []
        producer.produce(topic, value, on_delivery=lambda error, _message: errors.append(error))
        producer.flush(20)
        assert errors == [None]

    return send, lambda: producer.flush(20)


def kafka_python(cluster: MockKafka, topic: str) -> tuple[Send, Callable[[], object]]:
    producer = kafka.KafkaProducer(**cluster.client_settings("kafka-python"))

    def send(value: bytes) -> None:
        producer.send(topic, value).get(20)

    return send, producer.close


@pytest.mark.parametrize("client", [confluent, kafka_python])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_client_goes_on_when_its_sessions_end(
    topic: str,
    client: Callable[[MockKafka, str], tuple[Send, Callable[[], object]]],
    mechanism: str,
) -> None:
    config = {"connections.max.reauth.ms": str(SESSION_MS), "sasl.enabled.mechanisms": mechanism}
    with MockKafka(users={"alice": "secret"}, config=config) as cluster:
        cluster.create_topic(topic)
        send, close = client(cluster, topic)
        sent, deadline = 0, Deadline()
        while deadline.holds("several sessions"):
            send(b"%d" % sent)
            sent += 1
            writer = cluster.requests(api="Produce")[-1].connection
            assert writer is not None
            tokens = cluster.requests(api="SaslAuthenticate", connection=writer)
            if len(tokens) >= SESSIONS:
                break
        close()
        assert [record.value for record in cluster.records(topic)] == [
            b"%d" % number for number in range(sent)
        ]
