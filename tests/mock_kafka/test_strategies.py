"""Strategies draw valid rules that shrink to one simple rule."""

import importlib
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from kafka import KafkaProducer
from kafka.errors import KafkaError

import mock_kafka
from broker.faults import FaultRule
from mock_kafka import MockKafka
from mock_kafka.exploration.disturbances import PROFILES
from mock_kafka.strategies import faults, schedules

NAMES: dict[str, Any] = {
    "topics": ("orders", "invoices"),
    "groups": ("billing",),
    "transactional_ids": ("invoicing",),
    "client_ids": ("service",),
    "brokers": 3,
}
APIS = sorted({api for kinds in PROFILES.values() for kind in kinds for api in kind.apis})


@given(data=st.data(), profile=st.sampled_from([None, *PROFILES]))
def test_every_drawn_rule_is_valid(data: st.DataObject, profile: str | None) -> None:
    FaultRule.from_json(data.draw(faults(profile=profile, **NAMES)))


@pytest.mark.parametrize("api", APIS)
def test_each_api_of_the_table_has_rules(api: str) -> None:
    assert find(faults(api=api), lambda _rule: True)["api"] == api


def test_a_cluster_accepts_each_schedule(kafka: MockKafka) -> None:
    kafka.create_topic("orders")
    kafka.create_topic("invoices")

    @settings(max_examples=20, suppress_health_check=list(HealthCheck))
    @given(schedules(**NAMES))
    def accepts(rules: list[dict[str, Any]]) -> None:
        assert len(kafka.add_faults(rules)) == len(rules) <= 4
        kafka.clear_faults()

    accepts()


def test_the_simplest_rule_loses_the_first_response() -> None:
    assert find(faults(api="Produce", profile="producer"), lambda _rule: True) == {
        "api": "Produce",
        "drop": "before_response",
        "times": 1,
    }


def test_a_schedule_shrinks_to_the_one_rule_that_matters() -> None:
    def breaks(rules: list[dict[str, Any]]) -> bool:
        return any(
            rule.get("error") == "KAFKA_STORAGE_ERROR" and rule.get("skip", 0) >= 2
            for rule in rules
        )

    shrunk = find(schedules("producer", **NAMES), breaks)
    assert shrunk == [{"api": "Produce", "skip": 2, "times": 1, "error": "KAFKA_STORAGE_ERROR"}]


@pytest.mark.slow
@pytest.mark.interop
def test_a_producer_that_stores_twice_is_found_with_one_rule(kafka: MockKafka) -> None:
    def stores_twice(rules: list[dict[str, Any]]) -> bool:
        kafka.reset()
        kafka.add_faults(rules)
        producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers,
            enable_idempotence=False,
            retries=5,
            retry_backoff_ms=1,
        )
        with suppress(KafkaError):  # an error is no duplicate
            producer.send("orders", b"1").get(timeout=30)
        producer.close()
        return len(kafka.records("orders")) > 1

    only_produce = schedules("producer", api="Produce", max_rules=3, requests_max=2)
    shrunk = find(only_produce, stores_twice, settings=settings(max_examples=30, database=None))
    assert shrunk == [{"api": "Produce", "times": 1, "drop": "before_response"}]


def test_leaders_move_only_if_there_are_topics_and_brokers() -> None:
    found = find(faults(**NAMES), lambda rule: "leader" in rule)
    assert found["topic"] == "orders"

    @given(schedules("producer"))
    def has_none(rules: list[dict[str, Any]]) -> None:
        assert not any({"leader", "stop_broker"} & rule.keys() for rule in rules)

    has_none()


def test_what_has_no_rules_is_refused() -> None:
    with pytest.raises(ValueError, match="no profile 'producers'; there are producer, consumer"):
        faults(profile="producers")
    with pytest.raises(ValueError, match="has no rule for Fetch"):
        schedules("admin", api="Fetch")
    with pytest.raises(ValueError, match="max_rules is 0"):
        schedules(max_rules=0)


def test_without_hypothesis_the_import_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "mock_kafka.strategies")
    monkeypatch.delattr(mock_kafka, "strategies", raising=False)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match="pip install hypothesis"):
        importlib.import_module("mock_kafka.strategies")
