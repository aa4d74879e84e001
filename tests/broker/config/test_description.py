import pytest

from broker.cluster import Broker
from broker.config import description
from broker.config.broker_config import BrokerConfig
from broker.config.description import describe_broker, describe_topic
from broker.config.keys import ConfigKey, ConfigSource, ConfigType


def test_a_secret_is_told_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = ConfigKey("log.dirs", ConfigType.PASSWORD, None, "A secret.")
    monkeypatch.setattr(description, "BROKER_KEYS", {"log.dirs": secret})
    config = BrokerConfig.from_overrides({"log.dirs": "hunter2"})

    (entry,) = describe_broker(config, Broker(1, "", -1))

    assert entry.text is None
    assert entry.key.is_sensitive


def test_a_description_says_where_each_value_comes_from() -> None:
    config = BrokerConfig.from_overrides({"message.max.bytes": "5"})

    sources = {
        entry.key.name: entry.source for entry in describe_topic(config, 1, {"retention.ms": "1"})
    }

    assert sources["retention.ms"] is ConfigSource.TOPIC
    assert sources["max.message.bytes"] is ConfigSource.STATIC_BROKER
    assert sources["retention.bytes"] is ConfigSource.DEFAULT


def test_a_described_value_is_the_one_the_broker_goes_by() -> None:
    config = BrokerConfig.from_overrides({"log.roll.hours": "1"}).with_dynamic(
        1, {"log.roll.ms": "7"}
    )

    entries = {entry.key.name: entry.text for entry in describe_topic(config, 1, {})}

    assert entries["segment.ms"] == "7"
    assert {e.key.name: e.text for e in describe_topic(config, 2, {})}["segment.ms"] == "3600000"
