import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from quotas.entities import make_entity
from tests.broker.cluster_builder import make_cluster


def test_quotas_can_be_configured_at_the_start() -> None:
    text = "user=alice,producer_byte_rate=1000;user=<default>,controller_mutation_rate=5"
    quotas = make_cluster(**{"client.quotas": text}).quotas

    assert quotas.clients.describe([], strict=False) == [
        (make_entity([("user", "alice")]), {"producer_byte_rate": 1000}),
        (make_entity([("user", None)]), {"controller_mutation_rate": 5}),
    ]
    assert quotas.brokers[1].produce.record("alice", "c", 20_000, 0) == 10_000
    assert quotas.brokers[1].produce.record("bob", "c", 20_000, 0) == 0


def test_bad_quotas_stop_the_start_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"client\.quotas: 'user=a,b=1': .*key b$"):
        BrokerConfig.from_overrides({"client.quotas": "user=a,b=1"})


def test_mutation_quotas_count_per_cluster_and_all_others_per_broker() -> None:
    text = "user=alice,producer_byte_rate=1000,controller_mutation_rate=1"
    quotas = make_cluster(2, **{"client.quotas": text}).quotas

    assert quotas.brokers[1].produce.record("alice", "c", 20_000, 0) > 0
    assert quotas.brokers[2].produce.record("alice", "c", 10_000, 0) == 0
    assert quotas.controller_mutation.charge("alice", "c", 12, 0) == 1000


def test_windows_are_configurable() -> None:
    quotas = make_cluster(
        1,
        **{
            "client.quotas": "user=u,producer_byte_rate=100,controller_mutation_rate=1;"
            "ip=127.0.0.1,connection_creation_rate=30",
            "quota.window.num": "2",
            "quota.window.size.seconds": "2",
            "controller.quota.window.num": "5",
            "controller.quota.window.size.seconds": "4",
        },
    ).quotas

    assert quotas.brokers[1].produce.record("u", "c", 200, 0) == 0
    assert quotas.brokers[1].produce.record("u", "c", 100, 0) == 1000
    assert [quotas.brokers[1].connections.record("127.0.0.1", 0) for _ in range(61)][-1] == 33
    assert quotas.controller_mutation.charge("u", "c", 21, 0) == 1000


def test_all_quotas_are_measured() -> None:
    quotas = make_cluster(
        2, **{"client.quotas": "user=u,producer_byte_rate=1,controller_mutation_rate=1"}
    ).quotas
    quotas.brokers[2].produce.record("u", "c", 10, 0)
    quotas.controller_mutation.charge("u", "c", 1, 0)
    measured = {
        (measurement.group, measurement.name, measurement.tags.get("broker-id")): measurement.value
        for measurement in quotas.metrics.measure(0)
    }

    assert measured["Produce", "byte-rate", "2"] == 1
    assert measured["ControllerMutation", "tokens", None] == 10
    assert {group for group, _name, _broker in measured} == {
        "ControllerEventManager",
        "ControllerMutation",
        "Fetch",
        "FetchSessionCache",
        "Produce",
        "ProducerIds",
        "Request",
    }
