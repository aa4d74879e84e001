"""Real clients whose connections end badly or are slow: they go on, and nothing is lost or doubled.

The clock of the brokers stands still, so that a slow response never arrives: the client ends its
request by its timeout.
"""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.interface import Client, Config, ProducerOptions, Record
from tests.interop.broker_thread import BrokerThread

GIVES_UP_MS = 400
HOUR_MS = 3_600_000
IMPATIENT: dict[str, Config] = {
    "kafka-python": {
        "request_timeout_ms": GIVES_UP_MS,
        "retry_backoff_ms": 10,
        "reconnect_backoff_ms": 10,
        "reconnect_backoff_max_ms": 50,
    },
    "aiokafka": {"request_timeout_ms": GIVES_UP_MS, "retry_backoff_ms": 10},
    "confluent-kafka": {
        "socket.timeout.ms": GIVES_UP_MS,
        "retry.backoff.ms": 10,
        "reconnect.backoff.ms": 10,
    },
}
ENDS: list[dict[str, Any]] = [
    {"drop": drop, "drop_by": drop_by}
    for drop in ("before_handling", "before_response")
    for drop_by in ("close", "reset", "half_close", "stop_reading")
]
SLOW: list[dict[str, Any]] = [
    {"request_bytes_per_second": 1},
    {"response_bytes_per_second": 1},
    {"trickle_bytes": 7, "trickle_ms": 10_000},
]


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with BrokerThread(3, **{"journal.enable": "true"}) as kafka_in_thread:
        yield kafka_in_thread
    # A client that was cut off leaves sockets to the garbage collector, which warns of them.
    gc.collect()


@pytest.mark.parametrize("actions", [ENDS, SLOW], ids=["ends", "slow"])
def test_an_idempotent_producer_goes_on_and_each_record_is_stored_once(
    broker: BrokerThread, client: Client, topic: str, actions: list[dict[str, Any]]
) -> None:
    create_topic(broker.servers, topic, replication_factor=3)
    broker.let_time_stand()
    idempotent = ProducerOptions(is_idempotent=True)
    with client.producer(broker.servers, IMPATIENT[client.name], idempotent) as producer:
        for number, action in enumerate(actions):
            rule = broker.fault(api="Produce", topic=topic, times=1, **action)
            records = [Record(b"%d %d" % (number, place)) for place in range(2)]
            outcomes = producer.send_all(topic, records)
            assert [outcome.error for outcome in outcomes] == [None, None], action
            assert broker.rule(rule).fire_count == 1, action
    # What was slow arrives, and finds that its connection is gone.
    broker.advance(HOUR_MS)
    sent = [b"%d %d" % (number, place) for number in range(len(actions)) for place in range(2)]
    read = client.read(broker.servers, topic, 1, len(sent))
    assert [record.value for record in read] == sent
    assert broker.stored(topic) == len(sent)


def test_a_consumer_goes_on_after_its_connections_ended_and_reads_slow_responses(
    broker: BrokerThread, client: Client, topic: str
) -> None:
    create_topic(broker.servers, topic, replication_factor=3)
    records = [Record(b"%d" % number) for number in range(3)]
    client.produce(broker.servers, topic, records)
    rules = [
        broker.fault(api="Fetch", topic=topic, times=1, **action)
        for action in (
            {"drop": "before_response", "drop_by": "reset"},
            {"drop": "before_handling", "drop_by": "half_close"},
            {"trickle_bytes": 20, "trickle_ms": 1},
        )
    ]
    rules.append(broker.fault(api="Fetch", topic=topic, response_bytes_per_second=5_000))
    read = client.read(broker.servers, topic, 1, len(records))
    assert [record.value for record in read] == [record.value for record in records]
    assert all(broker.rule(rule).fire_count >= 1 for rule in rules)
