import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.config.topic_config import TopicConfig, validate_topic_overrides
from broker.config.topic_keys import CHECK_ORDER, TOPIC_KEYS


def test_with_an_unconfigured_broker_a_topic_has_kafkas_defaults() -> None:
    defaults = {key.name: key.default for key in TOPIC_KEYS.values()}

    assert dict(TopicConfig(BrokerConfig())) == defaults


@pytest.mark.parametrize(
    ("broker_key", "text", "topic_key", "value"),
    [
        ("message.max.bytes", "10", "max.message.bytes", 10),
        ("log.retention.bytes", "11", "retention.bytes", 11),
        ("log.retention.ms", "12", "retention.ms", 12),
        ("log.retention.minutes", "2", "retention.ms", 120_000),
        ("log.retention.hours", "1", "retention.ms", 3_600_000),
        ("log.roll.ms", "13", "segment.ms", 13),
        ("log.roll.hours", "2", "segment.ms", 7_200_000),
        ("log.roll.jitter.hours", "2", "segment.jitter.ms", 7_200_000),
        ("log.roll.jitter.ms", "14", "segment.jitter.ms", 14),
        ("log.flush.scheduler.interval.ms", "15", "flush.ms", 15),
        ("log.flush.interval.ms", "16", "flush.ms", 16),
        ("log.cleanup.policy", "compact,delete", "cleanup.policy", ("compact", "delete")),
        ("log.cleaner.min.cleanable.ratio", "0.1", "min.cleanable.dirty.ratio", 0.1),
        ("log.message.timestamp.type", "LogAppendTime", "message.timestamp.type", "LogAppendTime"),
        ("min.insync.replicas", "2", "min.insync.replicas", 2),
    ],
)
def test_a_key_that_is_not_set_on_the_topic_has_the_brokers_value(
    broker_key: str, text: str, topic_key: str, value: object
) -> None:
    config = TopicConfig(BrokerConfig.from_overrides({broker_key: text}))

    assert config[topic_key] == value


def test_a_value_of_the_topic_overrides_the_brokers() -> None:
    broker_config = BrokerConfig.from_overrides({"log.retention.ms": "5"})

    config = TopicConfig(broker_config, {"retention.ms": "-1"})

    assert config["retention.ms"] == -1
    assert config.overrides == {"retention.ms": "-1"}
    assert repr(config) == "TopicConfig({'retention.ms': '-1'})"


def test_a_topic_takes_its_defaults_from_the_view_of_one_broker() -> None:
    broker_config = BrokerConfig().with_dynamic(2, {"message.max.bytes": "7"})

    assert TopicConfig(broker_config.for_broker(2))["max.message.bytes"] == 7
    assert TopicConfig(broker_config)["max.message.bytes"] == 1_048_588


def test_a_topic_configuration_is_a_mapping_of_all_topic_keys() -> None:
    config = TopicConfig(BrokerConfig())

    assert set(config) == set(TOPIC_KEYS)
    assert len(config) == len(TOPIC_KEYS)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({}, None),
        ({"cleanup.policy": "compact,delete", "retention.ms": "-1"}, None),
        ({"retention.bytes": "-5"}, None),
        (
            {"retention.ms": "-2"},
            "Invalid value -2 for configuration retention.ms: Value must be at least -1",
        ),
        (
            {"cleanup.policy": "shred"},
            (
                "Invalid value shred for configuration cleanup.policy:"
                " String must be one of: compact, delete"
            ),
        ),
        (
            {"segment.bytes": "1024"},
            "Invalid value 1024 for configuration segment.bytes: Value must be at least 1048576",
        ),
        (
            {"retention.hours": "1"},
            "Unknown topic config name: retention.hours",
        ),
        ({"retention.ms": None}, "Null value not supported for topic configs: retention.ms"),
        (
            {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"},
            ("conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)"),
        ),
        ({"min.compaction.lag.ms": "9"}, None),
        (
            {"remote.storage.enable": "true"},
            (
                "Tiered Storage functionality is disabled in the broker. Topic cannot be configured"
                " with remote log storage."
            ),
        ),
        ({"remote.storage.enable": "false"}, None),
        ({"leader.replication.throttled.replicas": "0:1,1:2"}, None),
    ],
)
def test_an_invalid_topic_configuration_gets_a_message_of_one_line(
    overrides: dict[str, str | None], message: str | None
) -> None:
    assert validate_topic_overrides(overrides) == message


@given(
    st.dictionaries(
        st.sampled_from([*TOPIC_KEYS, "no.such.key"]),
        st.sampled_from(["", "-1", "0", "1", "5000000", "true", "compact", "gzip", "x"]),
        max_size=4,
    )
)
def test_a_valid_topic_configuration_can_be_created(overrides: dict[str, str]) -> None:
    if validate_topic_overrides(overrides) is None:
        assert TopicConfig(BrokerConfig(), overrides).overrides == overrides


def test_an_invalid_override_raises_a_config_error() -> None:
    with pytest.raises(ConfigError):
        TopicConfig(BrokerConfig(), {"retention.ms": "x"})


def test_of_several_invalid_values_the_one_that_kafka_checks_first_is_named() -> None:
    assert sorted(CHECK_ORDER) == sorted(TOPIC_KEYS)
    overrides = {"compression.type": "bogus", "max.message.bytes": "-1"}
    for pairs in (overrides, dict(reversed(overrides.items()))):
        assert "max.message.bytes" in (validate_topic_overrides(pairs) or "")


def test_a_key_that_the_release_of_a_broker_does_not_have_has_no_effect_on_it() -> None:
    overrides = {"max.decompressed.message.bytes": "5"}
    for release, expected in (("4.3", 2_147_483_639), ("4.4", 5)):
        config = BrokerConfig.from_overrides({"broker.api.versions": release})
        assert TopicConfig(config, overrides)["max.decompressed.message.bytes"] == expected
