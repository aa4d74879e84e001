import re

import pytest

from broker.config.broker_config import (
    BROKER_KEYS,
    BrokerConfig,
    Synonym,
    find_key,
    key_of,
    parse_overrides,
    unknown_key_message,
)
from broker.config.broker_requirements import retention_ms
from broker.config.keys import CLUSTER_WIDE, ConfigError, ConfigType
from broker.config.topic_keys import TOPIC_KEYS
from protocol.configs import ConfigSource, ResourceType
from protocol.properties import parse_properties
from protocol.releases import DEFAULT_RELEASE

DEFAULT = ConfigSource.DEFAULT_CONFIG
STATIC = ConfigSource.STATIC_BROKER_CONFIG
DYNAMIC = ConfigSource.DYNAMIC_BROKER_CONFIG
DYNAMIC_DEFAULT = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG

STOCK_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def test_without_overrides_every_key_has_its_default() -> None:
    config = BrokerConfig.from_overrides({})

    assert dict(config) == {key.name: key.default for key in BROKER_KEYS.values()}
    assert len(config) == len(BROKER_KEYS)


def test_an_override_is_parsed_and_kept_as_text() -> None:
    config = BrokerConfig.from_overrides({"num.partitions": " 3", "log.cleanup.policy": "compact"})

    assert config["num.partitions"] == 3
    assert config["log.cleanup.policy"] == ("compact",)
    assert config.overrides == {"num.partitions": " 3", "log.cleanup.policy": "compact"}


def test_the_server_properties_of_kafka_are_accepted() -> None:
    config = BrokerConfig.from_overrides(parse_properties(STOCK_PROPERTIES))

    assert config["offsets.topic.replication.factor"] == 1


def test_an_unknown_key_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError) as refusal:
        BrokerConfig.from_overrides({"num.partition": "3"})

    assert str(refusal.value) == (
        "Unknown configuration num.partition; did you mean num.partitions?"
    )


def test_the_old_name_of_a_key_is_refused_with_the_new_one() -> None:
    message = "controller.mutation.time.ms; it is controller.mutation.time.us, in whole microsec"
    with pytest.raises(ConfigError, match=re.escape(message)):
        BrokerConfig({"controller.mutation.time.ms": "1"})


def test_the_keys_of_kafkas_authorizer_are_accepted() -> None:
    keys = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:CN=a",
        "allow.everyone.if.no.acl.found": "true",
    }
    config = BrokerConfig(keys)
    assert {name: config[name] for name in keys} == keys
    assert all(BROKER_KEYS[name].is_enforced for name in keys)


def test_an_unknown_key_without_a_similar_one_gets_no_suggestion() -> None:
    assert unknown_key_message("zzzz", BROKER_KEYS) == "Unknown configuration zzzz"
    with pytest.raises(ConfigError, match=r"^Unknown configuration zzzz$"):
        find_key("zzzz")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("num.partitions", "0"),
        ("log.memory.max.bytes", "0"),
        ("log.segment.bytes", "14"),
        ("fetch.max.bytes", "1023"),
        ("producer.state.batches", "2"),
        ("max.in.flight.sequence.number.per.connection", "0"),
        ("max.in.flight.sequence.number.per.connection", "1073741825"),
        ("producer.id.quota.cache.layer.count", "9"),
        ("producer.id.quota.cache.false.positive.rate", "0.0"),
        ("producer.id.quota.cache.false.positive.rate", "9.0E-7"),
        ("producer.id.quota.cache.false.positive.rate", "0.51"),
        ("producer.id.quota.error.code", "NONE"),
        ("compression.type", "brotli"),
        ("auto.create.topics.enable", "1"),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_name_and_value(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"^Invalid value {text} for configuration {name}: "):
        BrokerConfig.from_overrides({name: text})


def test_the_shortest_session_timeout_may_not_be_above_the_longest() -> None:
    with pytest.raises(ConfigError, match=r"group\.min\.session\.timeout\.ms"):
        BrokerConfig.from_overrides({"group.min.session.timeout.ms": "1800001"})


def test_a_dynamic_key_leaves_the_first_configuration_as_it_was() -> None:
    first = BrokerConfig.from_overrides({"num.partitions": "3"})

    second = first.with_dynamic(None, {"group.max.size": "2"})

    assert (second["num.partitions"], second["group.max.size"]) == (3, 2)
    assert first["group.max.size"] == BROKER_KEYS["group.max.size"].default


def test_configurations_with_the_same_values_are_equal() -> None:
    assert BrokerConfig() == BrokerConfig.from_overrides({"num.partitions": "1"})
    assert BrokerConfig() != BrokerConfig.from_overrides({"num.partitions": "2"})
    assert BrokerConfig() != BrokerConfig().with_dynamic(1, {"message.max.bytes": "2"})
    assert BrokerConfig() != BrokerConfig().with_resource((ResourceType.GROUP, "g"), {"a": "b"})
    assert BrokerConfig() != dict(BrokerConfig())


def test_a_configuration_is_immutable() -> None:
    config = BrokerConfig.from_overrides({"num.partitions": "3"})

    for mapping in (config, config.overrides, config.dynamic_default, config.dynamic_by_broker):
        with pytest.raises(TypeError):
            mapping["num.partitions"] = "4"  # type: ignore[index]


def test_layers_apply_in_order_of_precedence() -> None:
    name = "message.max.bytes"
    config = BrokerConfig.from_overrides({name: "2"})
    assert (config[name], config.for_broker(1)[name]) == (2, 2)

    config = config.with_dynamic(None, {name: "3"})
    assert (config[name], config.for_broker(1)[name]) == (3, 3)

    config = config.with_dynamic(1, {name: "4"})
    assert (config[name], config.for_broker(1)[name], config.for_broker(2)[name]) == (3, 4, 3)

    config = config.with_dynamic(None, {}).with_dynamic(1, {})
    assert (config[name], config.for_broker(1)[name]) == (2, 2)
    assert not config.dynamic_by_broker


def test_overrides_and_dynamic_layers_are_independent() -> None:
    config = (
        BrokerConfig.from_overrides({"num.partitions": "3"})
        .with_dynamic(1, {"group.max.size": "2"})
        .with_dynamic(None, {"message.max.bytes": "5"})
        .with_resource((ResourceType.GROUP, "g"), {"consumer.session.timeout.ms": "46000"})
    )

    assert config.for_broker(1)["group.max.size"] == 2
    assert config["message.max.bytes"] == 5
    assert config["num.partitions"] == 3
    assert list(config.resources) == [(ResourceType.GROUP, "g")]


def test_a_group_without_keys_is_still_a_resource() -> None:
    config = BrokerConfig()
    for kind, key in (
        (ResourceType.GROUP, "consumer.session.timeout.ms"),
        (ResourceType.CLIENT_METRICS, "interval.ms"),
    ):
        assert config.with_resource((kind, "never"), {}) is config
        config = config.with_resource((kind, "a"), {key: "46000"}).with_resource((kind, "a"), {})
    assert config.resources == {(ResourceType.GROUP, "a"): {}}


@pytest.mark.parametrize("target", [None, 1])
def test_a_dynamic_layer_is_checked_like_an_override(target: int | None) -> None:
    with pytest.raises(ConfigError):
        BrokerConfig().with_dynamic(target, {"message.max.bytes": "-1"})
    with pytest.raises(ConfigError):
        BrokerConfig().with_dynamic(target, {"group.min.session.timeout.ms": "1800001"})


def test_synonyms_are_in_order_of_precedence() -> None:
    name = "message.max.bytes"
    config = (
        BrokerConfig.from_overrides({name: "2"})
        .with_dynamic(None, {name: "3"})
        .with_dynamic(1, {name: "4"})
    )
    behind = [
        Synonym(name, "3", DYNAMIC_DEFAULT),
        Synonym(name, "2", STATIC),
        Synonym(name, "1048588", DEFAULT),
    ]

    assert config.synonyms(name, 1) == [Synonym(name, "4", DYNAMIC), *behind]
    assert config.synonyms(name, 2) == behind
    assert config.synonyms(name) == behind


def test_keys_of_other_units_are_synonyms() -> None:
    config = BrokerConfig.from_overrides({"log.retention.minutes": "5"})
    behind = [
        Synonym("log.retention.minutes", "5", STATIC),
        Synonym("log.retention.hours", "168", DEFAULT),
    ]

    assert config.sources("log.retention.ms") == behind
    assert config.synonyms("log.retention.ms") == []
    assert config.synonyms("log.retention.minutes") == behind
    assert config.synonyms("log.retention.hours") == behind[1:]
    config = config.with_dynamic(None, {"log.retention.ms": "7"})
    assert config.synonyms("log.retention.ms") == [
        Synonym("log.retention.ms", "7", DYNAMIC_DEFAULT),
        *behind,
    ]


def test_the_scheduler_of_flushes_is_a_source_of_the_interval_and_not_the_reverse() -> None:
    config = BrokerConfig.from_overrides({"log.flush.interval.ms": "5"})
    scheduler = Synonym("log.flush.scheduler.interval.ms", str((1 << 63) - 1), DEFAULT)

    assert config.synonyms("log.flush.interval.ms") == [
        Synonym("log.flush.interval.ms", "5", STATIC),
        scheduler,
    ]
    assert config.synonyms("log.flush.scheduler.interval.ms") == [scheduler]


def test_a_key_at_run_time_hides_its_other_units_from_the_start() -> None:
    config = BrokerConfig.from_overrides({"log.roll.hours": "5"})

    config = config.with_dynamic(None, {"log.roll.ms": "7"})

    assert (config["log.roll.ms"], config["log.roll.hours"]) == (7, 168)


def test_a_custom_key_is_kept_and_may_be_a_secret() -> None:
    config = BrokerConfig().with_dynamic(1, {"my.plugin.key": "hunter2"})

    assert config.dynamic_layer(1) == {"my.plugin.key": "hunter2"}
    assert config.synonyms("my.plugin.key", 1) == [Synonym("my.plugin.key", None, DYNAMIC)]
    key = key_of("my.plugin.key")
    assert (key.config_type, key.is_sensitive) == (ConfigType.UNKNOWN, True)


def test_a_key_of_a_listener_has_the_type_of_the_key_without_it() -> None:
    name = "listener.name.plaintext.max.connections"
    config = BrokerConfig().with_dynamic(1, {name: "7"})

    assert key_of(name).config_type is ConfigType.INT
    assert config.synonyms(name, 1) == [
        Synonym(name, "7", DYNAMIC),
        Synonym("max.connections", "2147483647", DEFAULT),
    ]
    assert config.for_broker(1)["max.connections"] == 2147483647


@pytest.mark.parametrize(
    ("overrides", "first_id"),
    [
        ({}, 1),
        ({"node.id": "0"}, 0),
        ({"broker.id": "7"}, 7),
        ({"node.id": "7", "broker.id": "7"}, 7),
    ],
)
def test_the_id_of_the_first_broker_is_set_by_either_key(
    overrides: dict[str, str], first_id: int
) -> None:
    assert BrokerConfig.from_overrides(overrides).first_node_id == first_id


def test_a_key_that_is_not_set_and_has_no_default_has_no_synonyms() -> None:
    assert BrokerConfig().synonyms("broker.rack") == []


@pytest.mark.parametrize(
    ("overrides", "kept_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.ms": "-1", "log.retention.hours": "2"}, -1),
    ],
)
def test_the_smallest_unit_that_is_set_decides_the_retention(
    overrides: dict[str, str], kept_ms: int
) -> None:
    config = BrokerConfig.from_overrides(overrides)

    assert retention_ms(config) == kept_ms


def test_overrides_are_parsed_by_key() -> None:
    assert parse_overrides({"num.partitions": "2"}, DEFAULT_RELEASE) == {"num.partitions": 2}


def test_a_configuration_shows_how_much_of_it_was_set() -> None:
    assert repr(BrokerConfig.from_overrides({"num.partitions": "2"})) == (
        "BrokerConfig(1 set, 0 dynamic)"
    )


def test_a_broker_may_be_started_with_its_own_values() -> None:
    name = "producer.state.batches"
    config = BrokerConfig.from_overrides({f"broker.2.{name}": "5", "max.connections": "9"})
    assert [config.for_broker(n)[name] for n in (1, 2, 3)] == [1, 5, 1]
    assert config.for_broker(2)["max.connections"] == 9
    assert config[name] == 1

    for all_brokers in ("5", "1"):
        config = config.with_dynamic(None, {name: all_brokers})
        assert config.for_broker(2)[name] == int(all_brokers)
    config = config.with_dynamic(None, {}).with_dynamic(2, {name: "1"})
    assert config.for_broker(2)[name] == 1
    config = BrokerConfig.from_overrides({f"broker.2.{name}": "5", name: "1"})
    assert config.for_broker(2)[name] == 5


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "broker.2.num.partitions",
            "3",
            "broker.2.num.partitions: num.partitions has one value for all brokers of the cluster",
        ),
        ("broker.2.max.conections", "3", "did you mean max.connections?"),
        ("broker.2.producer.state.batches", "2", "must be one of: 1, 5"),
        ("broker.two.max.connections", "2", "Unknown configuration broker.two.max.connections"),
    ],
)
def test_an_invalid_value_of_one_broker_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        BrokerConfig.from_overrides({name: text})


def test_keys_that_brokers_share() -> None:
    """All others may differ, topic defaults included: the leader's value applies."""
    shared = {key.name for key in BROKER_KEYS.values() if key.is_dynamic and not key.is_per_broker}
    assert {name for name in shared if BROKER_KEYS[name].update_mode is CLUSTER_WIDE} == {
        "controller.mutation.time.us",
        "errors.deadletterqueue.auto.create.topics.enable",
        "errors.deadletterqueue.topic.name.prefix",
        "group.consumer.assignment.interval.ms",
        "group.share.assignment.interval.ms",
        "group.streams.assignment.interval.ms",
        "log.cleaner.backoff.ms",
        "log.memory.max.bytes",
    }
    defaults = {key.broker_synonym for key in TOPIC_KEYS.values() if key.broker_synonym}
    assert not shared & defaults


def test_a_key_of_a_listener_is_one_of_the_start_for_all_brokers_or_one() -> None:
    name = "listener.name.plaintext.max.connections"
    config = BrokerConfig.from_overrides({name: "7", f"broker.2.{name}": "8"})
    for broker_id, text in (1, "7"), (2, "8"):
        synonym = Synonym(name, text, ConfigSource.STATIC_BROKER_CONFIG)
        assert config.synonyms(name, broker_id)[0] == synonym
    assert config["max.connections"] == 2147483647
