import pytest

from broker.administration import config_description
from broker.administration.config_description import (
    describe_broker,
    describe_new_topic,
    describe_topic,
)
from broker.cluster.brokers import Broker
from broker.config.broker_config import BrokerConfig
from broker.config.keys import PASSWORD, READ_ONLY, ConfigKey
from protocol.configs import ConfigSource


def test_the_value_of_a_secret_is_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = ConfigKey("log.dirs", PASSWORD, None, None, READ_ONLY, "A secret.")
    monkeypatch.setattr(config_description, "key_of", lambda _name: secret)
    config = BrokerConfig.from_overrides({"log.dirs": "hunter2"})

    entry = next(
        entry
        for entry in describe_broker(config, Broker(1, "", -1))
        if entry.key.name == "log.dirs"
    )

    assert entry.text is None
    assert entry.key.is_sensitive


def test_a_description_has_the_source_of_each_value() -> None:
    config = BrokerConfig.from_overrides({"message.max.bytes": "5"})

    sources = {
        entry.key.name: entry.source for entry in describe_topic(config, 1, {"retention.ms": "1"})
    }

    assert sources["retention.ms"] is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert sources["max.message.bytes"] is ConfigSource.STATIC_BROKER_CONFIG
    assert sources["retention.bytes"] is ConfigSource.DEFAULT_CONFIG


def test_the_layer_of_a_broker_is_named_when_the_topic_falls_back_to_it() -> None:
    config = BrokerConfig.from_overrides({"log.roll.hours": "1"}).with_dynamic(
        1, {"log.roll.ms": "7"}
    )

    alone = describe_topic(config, 1)
    shared = describe_topic(config, 2)

    entries = [entry for entry in alone + shared if entry.key.name == "segment.ms"]
    assert [(entry.text, entry.source) for entry in entries] == [
        ("7", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("3600000", ConfigSource.DEFAULT_CONFIG),
    ]


def test_a_new_topic_names_the_brokers_key_in_another_unit() -> None:
    config = BrokerConfig.from_overrides({"log.retention.hours": "2"})

    sources = {
        entry.key.name: (entry.text, entry.source)
        for entry in describe_new_topic(config, 1, {"segment.ms": "5"})
    }

    assert sources["retention.ms"] == ("7200000", ConfigSource.STATIC_BROKER_CONFIG)
    assert sources["segment.ms"] == ("5", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert sources["flush.ms"][1] is ConfigSource.DEFAULT_CONFIG
