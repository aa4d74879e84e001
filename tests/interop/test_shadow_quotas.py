"""Quotas in shadow mode with real clients: no client is throttled until it is switched off."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient
from kafka.errors import ThrottlingQuotaExceededError

from mock_kafka import MockKafka
from mock_kafka.cli import main as mock_kafka_command

CONFIG = {
    "broker.clock": "standing",
    "client.quota.shadow": "true",
    "client.quotas": "user=<default>,controller_mutation_rate=1,producer_ids_rate=2",
}


@pytest.fixture
def kafka() -> Iterator[MockKafka]:
    with MockKafka(config=CONFIG) as kafka:
        yield kafka


def enforce(kafka: MockKafka) -> None:
    """Switch shadow mode off with the command line tool."""
    command = ["configs", "--bootstrap-server", kafka.bootstrap_servers, "--alter"]
    broker = ["--entity-type", "brokers", "--entity-default"]
    assert mock_kafka_command([*command, *broker, "--add-config", "client.quota.shadow=false"]) == 0


@pytest.mark.interop
def test_kafka_python_creates_topics_beyond_the_quota_until_it_is_enforced(
    kafka: MockKafka,
) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        # The bucket holds 11 tokens; the first topic leaves -9.
        for name in ("first", "second", "third"):
            admin.create_topics({name: {"num_partitions": 20, "replication_factor": 1}})
        started_ms = kafka.now_ms()
        [count] = kafka.shadow_report()
        assert (count.quota, count.user, count.broker) == (
            "controller_mutation_rate",
            "ANONYMOUS",
            None,
        )
        assert (count.throttled, count.held, count.over_quota) == (1, 1, 40)
        assert count.throttle_time_max_ms == count.throttle_time_total_ms == 9000
        assert count.first_ms == count.last_ms == started_ms
        responses = kafka.requests(api="CreateTopics")
        assert [response.throttle_time_ms for response in responses] == [0, 0, 0]
        assert [response.errors for response in responses] == [(), (), ()]
        would_wait = [response.shadow_throttle_times_ms for response in responses]
        assert would_wait == [{}] + [{"controller_mutation_rate": 9000}] * 2

        enforce(kafka)
        with pytest.raises(ThrottlingQuotaExceededError, match="throttle_time_ms=9000"):
            admin.create_topics({"fourth": {"num_partitions": 1, "replication_factor": 1}})
    assert kafka.shadow_report() == [count]


@pytest.mark.interop
def test_librdkafka_writes_with_new_producer_ids_beyond_the_quota_until_it_is_enforced(
    kafka: MockKafka,
) -> None:
    kafka.create_topic("t", 1)

    def write_with_a_new_id() -> str | None:
        failures: list[str | None] = []
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True}
        )
        producer.produce(
            "t",
            b"1",
            on_delivery=lambda error, _message: failures.append(error and error.name()),
        )
        producer.flush(20)
        [failure] = failures
        return failure

    assert [write_with_a_new_id() for _ in range(5)] == [None] * 5
    count = next(entry for entry in kafka.shadow_report() if entry.quota == "producer_ids_rate")
    # Two ids pass, and the next one after half an hour.
    assert (count.throttled, count.held, count.over_quota) == (3, 0, 3)
    assert count.throttle_time_max_ms == 1_800_000
    assert [event.throttle_time_ms for event in count.events] == [1_800_000] * 3
    assert {request.throttle_time_ms for request in kafka.requests(api="Produce")} == {0}
    assert len(kafka.records("t")) == 5

    enforce(kafka)
    before = kafka.last_request_number()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True})
    producer.produce("t", b"1")
    producer.poll(0)
    refused = kafka.wait_for(api="Produce", since=before, outcome="responded")
    assert refused.throttle_time_ms == 1_800_000
    assert refused.errors
    assert len(kafka.records("t")) == 5
    producer.purge()
