"""Real clients with each fault, in each phase of a record's delivery."""

import asyncio
import functools
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import aiokafka
import confluent_kafka
import pytest

from scenarios.clients.confluent_kafka import CONFLUENT, create_topic
from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.interface import Client, Config, Delivery, ProducerOptions, Record
from scenarios.clients.python_clients import CLIENTS
from tests.interop.broker_thread import BrokerThread
from tests.interop.confluent_values import next_value

GIVES_UP_MS = 1500
STORED, FAILED = "stored", "failed"
ONE = [Record(b"1")]


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with BrokerThread(3) as kafka_in_thread:
        yield kafka_in_thread
    # A refused client leaves sockets to the garbage collector: collect while warnings are ignored.
    gc.collect()


CONFIGS: dict[str, Config] = {
    "kafka-python": {
        "delivery_timeout_ms": GIVES_UP_MS,
        "enable_idempotence": True,
        "request_timeout_ms": GIVES_UP_MS - 100,
        "max_block_ms": GIVES_UP_MS,
        "retry_backoff_ms": 20,
    },
    "aiokafka": {"acks": 1, "request_timeout_ms": GIVES_UP_MS, "retry_backoff_ms": 20},
    "confluent-kafka": {
        "delivery.timeout.ms": GIVES_UP_MS,
        "topic.metadata.propagation.max.ms": GIVES_UP_MS,
        "retry.backoff.ms": 20,
    },
}


def send_one(client: Client, servers: str, topic: str) -> str:
    deliveries: list[Delivery] = []
    producer = client.producer(servers, CONFIGS[client.name])
    try:
        producer.send(topic, b"1", deliveries.append)
        producer.flush(2 * GIVES_UP_MS / 1000)
    except TimeoutError:
        return FAILED  # aiokafka waits for ever for a record that the broker never answers for
    finally:
        producer.abort()
    return FAILED if deliveries[0].error else STORED


@pytest.fixture
def send(client: Client) -> Callable[[str, str], str]:
    return functools.partial(send_one, client)


# Phases of a delivery timeout ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "stored"),
    [
        ({"api": "Metadata", "error": "UNKNOWN_TOPIC_OR_PARTITION"}, 0),
        ({"leader": "none", "at_once": True}, 0),
        ({"api": "Produce", "hang": "before_handling"}, 0),
        ({"api": "Produce", "hang": "before_response"}, 1),
        ({"api": "Produce", "error": "NOT_ENOUGH_REPLICAS"}, 0),
        ({"api": "Produce", "delay_request_ms": 60_000}, 0),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_a_client_times_out_in_each_phase_and_the_log_is_as_the_rule_determines(
    broker: BrokerThread,
    send: Callable[[str, str], str],
    topic: str,
    rule: dict[str, Any],
    stored: int,
) -> None:
    create_topic(broker.servers, topic)
    broker.fault(topic=topic, **rule)
    assert send(broker.servers, topic) == FAILED
    # A client without idempotence may have stored it several times.
    assert min(broker.stored(topic), 1) == stored
    broker.clear_faults()
    broker.move_leader(topic, 1)
    assert send(broker.servers, topic) == STORED


# Faults after which a client recovers -----------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "fire_count"),
    [
        ({"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "times": 3}, 3),
        ({"api": "Produce", "error": "REQUEST_TIMED_OUT", "at": "before_response", "times": 2}, 2),
        ({"api": "Produce", "drop": "before_handling", "times": 2}, 2),
        ({"api": "Produce", "drop": "before_response", "times": 2}, 2),
        ({"api": "Produce", "drop": "within_response", "times": 2}, 2),
        ({"api": "Produce", "leader": "next", "nth": 1}, 1),
        ({"api": "Produce", "leader": "next", "nth": 1, "at": "before_response"}, 1),
        ({"api": "Produce", "stop_broker": "self", "nth": 1}, 1),
        ({"api": "Produce", "stop_broker": "self", "nth": 1, "at": "before_response"}, 1),
        ({"api": "Produce", "stop_broker": "self", "elect": False, "restart_after_ms": 300}, 1),
        ({"api": "Metadata", "error": "LEADER_NOT_AVAILABLE", "times": 2}, 2),
        ({"api": "Produce", "delay_ms": 200, "jitter_ms": 50, "times": 1}, 1),
        ({"api": "Produce", "bytes_per_second": 2000, "times": 1}, 1),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_an_idempotent_client_recovers_and_the_record_is_stored_once(
    broker: BrokerThread, client: Client, topic: str, rule: dict[str, Any], fire_count: int
) -> None:
    create_topic(broker.servers, topic, replication_factor=3)
    rule_id = broker.fault(topic=topic, **({"times": 1} | rule if "nth" not in rule else rule))
    (sent,) = client.produce(broker.servers, topic, ONE, is_idempotent=True)

    assert sent.offset in {0, -1}
    assert broker.stored(topic) == 1
    assert broker.rule(rule_id).fire_count == fire_count
    broker.clear_faults()
    values = [record.value for record in client.read(broker.servers, topic, 1, 1)]
    assert values == [b"1"]


@pytest.mark.parametrize("api", ["Produce", "Metadata"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"truncate_bytes": 7},
        {"announce_bytes": -1},
        {"announce_bytes": 2**31 - 1},
        {"corrupt_bytes": 20},
        {"oversize_bytes": 100_000},
    ],
)
def test_wrong_bytes_to_one_client_do_not_affect_others(
    broker: BrokerThread, topic: str, api: str, wrong: dict[str, int]
) -> None:
    create_topic(broker.servers, topic)
    rule_id = broker.fault(api=api, topic=topic, client_id="rdkafka", times=3, **wrong)
    send_one(CONFLUENT, broker.servers, topic)
    assert broker.rule(rule_id).fire_count >= 1
    broker.clear_faults()
    assert send_one(CONFLUENT, broker.servers, topic) == STORED


@pytest.mark.parametrize("rule", [{"refuse_connection": True}, {"delay_connection_ms": 100}])
def test_clients_retry_refused_and_delayed_connections(
    broker: BrokerThread, client: Client, topic: str, rule: dict[str, Any]
) -> None:
    create_topic(broker.servers, topic)
    leader_id = broker.partition(topic).leader_id
    rule_id = broker.fault(broker=leader_id, times=2, **rule)
    client.produce(broker.servers, topic, ONE, is_idempotent=True)
    assert broker.rule(rule_id).fire_count >= 1
    assert broker.stored(topic) == 1


def test_stale_metadata_sends_clients_to_the_old_leader(
    broker: BrokerThread, client: Client, topic: str
) -> None:
    create_topic(broker.servers, topic, assignment=[[1, 2, 3]])
    rule_id = broker.fault(api="Metadata", stale_metadata=True, times=3)
    wrong = broker.fault(api="Produce", broker=1, delay_ms=0)
    broker.move_leader(topic, 2)
    client.produce(broker.servers, topic, ONE, is_idempotent=True)
    assert broker.stored(topic) == 1
    assert broker.rule(rule_id).fire_count >= 1
    assert broker.rule(wrong).fire_count >= 1


@pytest.mark.parametrize("name", ["aiokafka", "confluent-kafka"])
def test_moving_the_clock_ends_a_throttle(broker: BrokerThread, topic: str, name: str) -> None:
    create_topic(broker.servers, topic)
    broker.let_time_stand()
    rule_id = broker.fault(api="Produce", throttle_time_ms=3_600_000, times=1)
    with ThreadPoolExecutor() as pool:
        sending: Future[int] = pool.submit(TWO_IN_TURN[name], broker.servers, topic)
        deadline = Deadline()
        while broker.rule(rule_id).fire_count == 0 and deadline.holds("the first record"):
            threading.Event().wait(0.01)
        threading.Event().wait(0.3)
        assert broker.stored(topic) == 1
        broker.advance(3_600_000)
        assert sending.result(DEADLINE_S) == 2
    assert broker.stored(topic) == 2


def two_with_aiokafka(servers: str, topic: str) -> int:
    async def run() -> int:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers) as producer:
            for _ in range(2):
                await producer.send_and_wait(topic, b"x", partition=0)
        return 2

    return asyncio.run(run())


def two_with_confluent(servers: str, topic: str) -> int:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers})
    errors: list[Any] = []

    def on_delivery(error: Any, _message: Any) -> None:
        errors.append(error)

    for _ in range(2):
        producer.produce(
            topic, b"x", partition=0, on_delivery=lambda error, _message: errors.append(error)
        )
        assert producer.flush(DEADLINE_S) == 0
    return errors.count(None)


TWO_IN_TURN = {"aiokafka": two_with_aiokafka, "confluent-kafka": two_with_confluent}


def test_a_response_after_the_clients_timeout_has_no_effect(
    broker: BrokerThread, topic: str
) -> None:
    create_topic(broker.servers, topic)
    broker.let_time_stand()
    broker.fault(api="Produce", delay_ms=10_000, times=1)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.servers, "delivery.timeout.ms": GIVES_UP_MS}
    )
    outcomes: list[bool] = []

    def on_delivery(error: Any, _message: Any) -> None:
        outcomes.append(error is None)

    producer.produce(topic, b"1", partition=0, on_delivery=on_delivery)
    assert producer.flush(DEADLINE_S) == 0
    broker.advance(10_000)
    producer.produce(topic, b"2", partition=0, on_delivery=on_delivery)
    assert producer.flush(DEADLINE_S) == 0
    assert outcomes == [False, True]
    assert broker.stored(topic) == 2


# Groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_stop", [False, True])
def test_a_group_continues_at_its_new_coordinator(
    broker: BrokerThread, topic: str, by_stop: bool
) -> None:
    create_topic(broker.servers, topic, replication_factor=3)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.servers})
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # librdkafka requests the new coordinator after its long poll, and again whenever its
            # commit precedes the connection: with the default that can take a minute.
            "fetch.wait.max.ms": 5,
        }
    )
    consumer.subscribe([topic])
    for number in (1, 2):
        producer.produce(topic, b"%d" % number)
        assert producer.flush(DEADLINE_S) == 0
        assert next_value(consumer) == b"%d" % number
        consumer.commit(asynchronous=False)
        before = broker.on(lambda cluster, _now_ms: cluster.coordinator_id(topic))
        if number == 1 and by_stop:
            broker.fault(stop_broker=before, at_once=True)
        elif number == 1:
            broker.fault(coordinator="next", group=topic, at_once=True)
    (committed,) = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], DEADLINE_S)
    consumer.close()
    assert committed.offset == 2


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_follows_a_wrong_leader_in_metadata_and_returns(
    broker: BrokerThread, client: Client
) -> None:
    create_topic(broker.servers, "t", assignment=[[2]])
    # Metadata names broker 1 as the leader, and broker 1 refuses. A client may ask for metadata
    # again before it sends: it gets the wrong leader twice.
    wrong_leader = {"topics": {"partitions": {"leader_id": 1}}}
    rule = broker.fault(api="Metadata", topic="t", response=wrong_leader, times=2)
    refusals = broker.fault(api="Produce", broker=1, delay_ms=0)
    (sent,) = client.produce(broker.servers, "t", ONE, is_idempotent=True)
    assert sent.offset == 0
    assert broker.rule(rule).fire_count >= 1
    assert broker.rule(refusals).fire_count >= 1
    assert broker.stored("t") == 1


# Changed records ------------------------------------------------------------------------------

CHANGES: dict[str, list[bytes]] = {
    "drop_record": [b"1", b"2"],
    "reverse_records": [b"2", b"1", b"0"],
    "replace_schema_id": [b"0", b"1", b"2", b"\0\x7f\xff\xff\xffx"],
}
"""The values that are left of `SENT`, those with a schema id only where it is replaced."""


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("api", ["Produce", "Fetch"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_consumer_reads_changed_records_and_goes_on(
    broker: BrokerThread, client: Client, topic: str, compression: str, api: str, change: str
) -> None:
    create_topic(broker.servers, topic)
    values = [b"0", b"1", b"2", *([b"\0\0\0\0\x07x"] if change == "replace_schema_id" else [])]
    options = {"record_index": 0} if change == "drop_record" else {}
    rule = broker.fault(api=api, change_records=change, topic=topic, **options)
    outcomes: list[Delivery] = []
    batching = ProducerOptions(compression=compression, is_idempotent=True, linger_ms=300)
    with client.producer(broker.servers, None, batching) as producer:
        for value in values:
            producer.send(topic, value, outcomes.append, partition=0)
        producer.flush()
    assert [outcome.offset for outcome in outcomes] == list(range(len(values)))
    read = client.read(broker.servers, topic, 1, len(CHANGES[change]))
    assert broker.rule(rule).fire_count >= 1
    assert [record.value for record in read] == CHANGES[change]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_an_idempotent_producer_goes_on_behind_swapped_and_doubled_batches(
    broker: BrokerThread, client: Client, topic: str
) -> None:
    create_topic(broker.servers, topic)
    broker.fault(api="Produce", change_records="swap_batches", times=1)
    broker.fault(api="Produce", change_records="duplicate_batch", skip=2, times=1)
    with client.producer(broker.servers, None, ProducerOptions(is_idempotent=True)) as producer:
        outcomes: list[Delivery] = []
        for number in range(4):
            producer.send(topic, b"%d" % number, outcomes.append, partition=0)
            producer.flush()
    assert all(outcome.error is None for outcome in outcomes)
    read = client.read(broker.servers, topic, 1, 5)
    assert [record.value for record in read] == [b"1", b"0", b"2", b"2", b"3"]
