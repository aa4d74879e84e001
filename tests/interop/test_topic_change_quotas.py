"""KIP-599 with real clients: only clients that know the error are refused."""

import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient
from kafka.errors import NodeNotReadyError, ThrottlingQuotaExceededError

from mock_kafka import MockKafka
from scenarios.clients.deadline import DEADLINE_S

PER_SECOND = 100
CONFIG = {
    "client.quotas": f"user=ANONYMOUS,controller_mutation_rate={PER_SECOND}",
    "controller.quota.window.num": "1",
}


@pytest.fixture
def limited() -> Iterator[MockKafka]:
    with MockKafka(brokers=1, config=CONFIG) as kafka:
        yield kafka


@pytest.mark.interop
def test_kafka_python_is_refused_and_its_retries_succeed(limited: MockKafka) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=limited.bootstrap_servers)) as admin:
        new_topic = {"num_partitions": PER_SECOND + 50, "replication_factor": 1}
        limited.set_clock("standing")  # a slow machine may need half a second for the first topic
        admin.create_topics({"first": new_topic})
        with pytest.raises(ThrottlingQuotaExceededError, match="throttle_time_ms=500"):
            admin.create_topics({"second": new_topic})
        limited.advance(ms=499)
        # Half a second of overdraft is not over; the connection of the first client is muted.
        with (
            closing(KafkaAdminClient(bootstrap_servers=limited.bootstrap_servers)) as other,
            pytest.raises(ThrottlingQuotaExceededError, match=r"throttle_time_ms=1\b"),
        ):
            other.create_topics({"second": new_topic})
        limited.advance(ms=1)

        started_s = time.monotonic()
        is_created = False
        while not is_created:
            assert time.monotonic() - started_s < DEADLINE_S
            # While it is throttled, the client considers the broker not ready.
            with suppress(ThrottlingQuotaExceededError, NodeNotReadyError):
                admin.create_topics({"second": new_topic})
                is_created = True


@pytest.mark.interop
def test_librdkafka_uses_versions_that_are_never_refused(limited: MockKafka) -> None:
    admin = AdminClient({"bootstrap.servers": limited.bootstrap_servers})
    for name in ("first", "second"):
        topics = admin.create_topics([NewTopic(name, PER_SECOND + 50, 1)])
        assert topics[name].result(timeout=DEADLINE_S) is None
