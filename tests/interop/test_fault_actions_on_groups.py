"""Fault rules on groups, versions and the clock, with real clients."""

import pytest
from confluent_kafka import Consumer
from kafka import KafkaProducer

from mock_kafka import MockKafka

CONFIG = {"group.initial.rebalance.delay.ms": 0}
POLLS = 20
"""Polls of a tenth of a second."""


@pytest.mark.parametrize("members", ["rebalance", "fence"])
def test_members_join_again(members: str) -> None:
    with MockKafka(config=CONFIG) as kafka:
        kafka.create_topic("orders")
        rule = kafka.add_fault(
            api="Heartbeat", group="billing", members=members, times=1, at="before_response"
        )
        settings: dict[str, str | int] = {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 100,
        }
        consumer = Consumer(settings)
        consumer.subscribe(["orders"])
        for _ in range(POLLS):
            consumer.poll(0.1)
            if rule.count:
                break
        kafka.produce("orders", b"1")
        joins_before = len(kafka.requests(api="JoinGroup"))
        values = [polled.value() for _ in range(POLLS) if (polled := consumer.poll(0.1))]
        joins = len(kafka.requests(api="JoinGroup"))
        consumer.close()
        assert rule.count == 1
        assert values == [b"1"]
        assert joins > joins_before


def test_the_clock_jumps_with_a_request() -> None:
    with MockKafka() as kafka:
        kafka.set_clock("standing")
        before_ms = kafka.now_ms()
        kafka.add_fault(api="Produce", advance_ms=60_000, times=1)
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
        producer.send("orders", b"1").get(timeout=30)
        producer.close()
        assert kafka.now_ms() == before_ms + 60_000


def test_a_broker_returns_as_an_older_release() -> None:
    with MockKafka(brokers=1) as kafka:
        kafka.create_topic("orders")
        kafka.add_fault(
            api="Produce",
            api_versions="2.0",
            stop_broker="self",
            at="before_response",
            restart_after_ms=0,
            times=1,
        )
        producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, retry_backoff_ms=10, reconnect_backoff_ms=10
        )
        producer.send("orders", b"1").get(timeout=30)
        producer.close()
        first, *others = kafka.requests(api="Produce")
        assert others[-1].version < first.version
        assert [record.value for record in kafka.records("orders")] == [b"1"]
