"""Real clients and a controller with `controller.mutation.time.us`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import RequestTimedOutError

from mock_kafka import ConfigValue, MockKafka
from scenarios.clients.deadline import DEADLINE_S

CONFIG: dict[str, ConfigValue] = {
    "broker.clock": "standing",
    "controller.mutation.time.us": 100_000,
}


@pytest.fixture
def slow() -> Iterator[MockKafka]:
    """Three brokers whose controller takes 100 ms for a partition; the clock is moved by hand."""
    with MockKafka(3, CONFIG) as kafka:
        yield kafka


def test_kafka_python_times_out_and_the_topic_is_created_later(slow: MockKafka) -> None:
    new_topics = {"orders": {"num_partitions": 50, "replication_factor": 3}}
    with (
        closing(KafkaAdminClient(bootstrap_servers=slow.bootstrap_servers)) as admin,
        ThreadPoolExecutor() as pool,
    ):
        created = pool.submit(admin.create_topics, new_topics, timeout_ms=2000)
        slow.wait_for(api="CreateTopics")
        slow.advance(ms=1999)
        assert not created.done()
        slow.advance(ms=1)
        with pytest.raises(RequestTimedOutError):
            created.result(DEADLINE_S)

        assert admin.list_topics() == []
        slow.advance(ms=3000)
        assert admin.list_topics() == ["orders"]


def test_librdkafka_waits_for_the_topic(slow: MockKafka) -> None:
    admin = AdminClient({"bootstrap.servers": slow.bootstrap_servers})
    created = admin.create_topics([NewTopic("orders", 10, 3)], operation_timeout=30)["orders"]
    slow.wait_for(api="CreateTopics")
    slow.advance(ms=999)
    assert not created.done()
    slow.advance(ms=1)
    assert created.result(DEADLINE_S) is None

    deleted = admin.delete_topics(["orders"], operation_timeout=0.5)["orders"]
    slow.wait_for(api="DeleteTopics")
    slow.advance(ms=500)
    with pytest.raises(KafkaException) as error:
        deleted.result(DEADLINE_S)
    assert error.value.args[0].code() == KafkaError.REQUEST_TIMED_OUT
    assert [topic.name for topic in slow.topics()] == ["orders"]
    slow.advance(ms=500)
    assert slow.topics() == []


def test_a_producer_has_no_leader_until_the_controller_gets_to_the_failure(
    slow: MockKafka,
) -> None:
    slow.create_topic("orders", 1, 3)
    slow.move_leader("orders", 0, 2)
    server = slow.bootstrap_servers_list[0]
    admin = AdminClient({"bootstrap.servers": server})
    created = admin.create_topics([NewTopic("many", 100, 1)], operation_timeout=30)["many"]
    slow.wait_for(api="CreateTopics")

    slow.stop_broker(2)
    listed = AdminClient({"bootstrap.servers": server}).list_topics("orders", DEADLINE_S)
    assert listed.topics["orders"].partitions[0].leader == 2
    with closing(KafkaProducer(bootstrap_servers=server, retry_backoff_ms=20)) as producer:
        sent = producer.send("orders", b"1", partition=0)
        assert slow.records("orders") == []
        slow.advance(seconds=10)
        assert created.result(DEADLINE_S) is None
        assert sent.get(DEADLINE_S).offset == 0
