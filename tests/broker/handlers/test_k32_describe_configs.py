from collections.abc import Mapping
from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.config.broker_config import BROKER_KEYS
from broker.config.described_order import in_described_order
from broker.config.hash_order import in_hash_order
from broker.config.keys import ConfigKey, ConfigType
from broker.config.release_keys import is_known
from broker.config.resource_keys import CLIENT_METRICS_KEYS, GROUP_RESOURCE_KEYS
from broker.config.topic_keys import TOPIC_KEYS
from broker.handlers.k32_describe_configs import handle_describe_configs
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from protocol.releases import DEFAULT_RELEASE
from tests.broker.handlers.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    new_cluster,
    send,
)

VERSIONS = range(1, 5)
REFUSED = ErrorCode.INVALID_REQUEST
_Resource = messages.DescribeConfigsRequest.DescribeConfigsResource


def describe(
    cluster: Cluster,
    *resources: tuple[int, str, list[str] | None],
    version: int = 4,
    synonyms: bool = True,
    documentation: bool = False,
    broker_id: int = 1,
) -> list[Any]:
    fields: dict[str, Any] = {
        "resources": [
            _Resource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for kind, name, keys in resources
        ],
        "include_synonyms": synonyms,
    }
    if version >= 3:
        fields["include_documentation"] = documentation
    response = send(
        cluster, handle_describe_configs, ApiKey.DESCRIBE_CONFIGS, version, broker_id, fields
    )
    assert response.throttle_time_ms == 0
    return list(response.results)


def the_one_entry(results: list[Any]) -> Any:
    assert [result.error_code for result in results] == [ErrorCode.NONE]
    (entry,) = results[0].configs
    return entry


def shown(keys: Mapping[str, ConfigKey]) -> list[str]:
    return [
        name for name, key in keys.items() if not key.is_hidden and is_known(name, DEFAULT_RELEASE)
    ]


def names(result: Any) -> list[str]:
    return [entry.name for entry in result.configs]


def synonyms_of(entry: Any) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_returns_all_keys_of_topic_and_broker(version: int) -> None:
    topic, broker = describe(
        new_cluster(), (TOPIC, "orders", None), (BROKER, "1", None), version=version
    )

    assert (topic.error_code, topic.error_message) == (ErrorCode.NONE, "")
    assert (topic.resource_type, topic.resource_name) == (TOPIC, "orders")
    assert names(topic) == in_described_order(ResourceType.TOPIC, shown(TOPIC_KEYS))
    assert (broker.resource_type, broker.resource_name) == (BROKER, "1")
    assert names(broker) == in_described_order(ResourceType.BROKER, shown(BROKER_KEYS))


@pytest.mark.parametrize("version", VERSIONS)
def test_type_and_documentation_are_returned_from_version_3_on(version: int) -> None:
    entry = the_one_entry(
        describe(
            new_cluster(),
            (TOPIC, "orders", ["retention.ms"]),
            version=version,
            documentation=True,
        )
    )

    assert entry.value == "604800000"
    if version >= 3:
        assert entry.config_type == 5
        assert entry.documentation == TOPIC_KEYS["retention.ms"].doc
    else:
        assert not entry.documentation


@pytest.mark.parametrize(("name", "is_ours"), [("journal.enable", True), ("node.id", False)])
def test_the_documentation_of_our_own_keys_says_so(name: str, is_ours: bool) -> None:
    entry = the_one_entry(
        describe(new_cluster(), (BROKER, "1", [name]), version=4, documentation=True)
    )
    assert entry.documentation.startswith("mock-kafka: ") is is_ours


def test_keys_of_the_authorizer_are_described_as_secrets_where_they_are_set() -> None:
    names = ["super.users", "allow.everyone.if.no.acl.found"]
    cluster = new_cluster(super_users="User:admin")
    entry = the_one_entry(describe(cluster, (BROKER, "1", names), version=4))
    assert (entry.name, entry.value, entry.config_source) == ("super.users", None, 4)
    assert (entry.config_type, entry.is_sensitive, entry.read_only) == (0, True, True)


def test_the_authorizer_is_described_with_the_name_of_its_class() -> None:
    cluster = new_cluster(authorizer_class_name="acl", super_users="User:ANONYMOUS")
    entry = the_one_entry(describe(cluster, (BROKER, "1", ["authorizer.class.name"]), version=4))
    assert entry.value == "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    assert (entry.config_source, entry.read_only) == (4, True)
    assert {synonym.value for synonym in entry.synonyms} == {entry.value, ""}


def test_the_time_of_a_mutation_is_described_as_an_integer() -> None:
    entry = the_one_entry(
        describe(new_cluster(), (BROKER, "1", ["controller.mutation.time.us"]), version=4)
    )
    assert (entry.value, entry.config_type) == ("0", 3)


def test_documentation_and_synonyms_are_returned_only_if_requested() -> None:
    entry = the_one_entry(
        describe(new_cluster(), (TOPIC, "orders", ["retention.ms"]), synonyms=False)
    )

    assert entry.documentation is None
    assert entry.synonyms == []
    assert entry.config_source == 5


@pytest.mark.parametrize("keys", [None, []])
def test_a_null_or_empty_list_of_keys_returns_all(keys: list[str] | None) -> None:
    (result,) = describe(new_cluster(), (TOPIC, "orders", keys))

    assert len(result.configs) == len(shown(TOPIC_KEYS))


def test_only_known_keys_of_those_requested_are_returned() -> None:
    (result,) = describe(
        new_cluster(), (TOPIC, "orders", ["no.such.key", "retention.ms", "cleanup.policy"])
    )

    assert [entry.name for entry in result.configs] == ["cleanup.policy", "retention.ms"]


def test_synonyms_of_a_topic_key_go_from_the_topic_down_to_the_default() -> None:
    cluster = new_cluster(1, message_max_bytes="2")
    name = "message.max.bytes"
    cluster.set_config(cluster.config.with_dynamic(None, {name: "3"}).with_dynamic(1, {name: "4"}))
    behind = [(name, "3", 3), (name, "2", 4), (name, "1048588", 5)]

    entry = the_one_entry(describe(cluster, (TOPIC, "orders", ["max.message.bytes"])))
    assert (entry.value, entry.config_source, entry.read_only) == ("4", 2, False)
    assert synonyms_of(entry) == [(name, "4", 2), *behind]

    topic = cluster.topics.get("orders")
    assert topic is not None
    cluster.alter_topic_config(topic, {"max.message.bytes": " 5"})
    entry = the_one_entry(describe(cluster, (TOPIC, "orders", ["max.message.bytes"])))
    assert (entry.value, entry.config_source) == ("5", 1)
    assert synonyms_of(entry) == [("max.message.bytes", "5", 1), (name, "4", 2), *behind]


def test_a_topic_is_described_with_the_defaults_of_the_requested_broker() -> None:
    cluster = new_cluster(2)
    cluster.set_config(cluster.config.with_dynamic(1, {"message.max.bytes": "4"}))

    values = [
        the_one_entry(
            describe(cluster, (TOPIC, "orders", ["max.message.bytes"]), broker_id=broker_id)
        ).value
        for broker_id in (1, 2)
    ]

    assert values == ["4", "1048588"]


def test_a_topic_key_without_a_broker_key_has_no_synonyms() -> None:
    entry = the_one_entry(describe(new_cluster(), (TOPIC, "orders", ["remote.storage.enable"])))

    assert (entry.value, entry.config_source, synonyms_of(entry)) == ("false", 5, [])


def test_a_topics_source_in_another_unit_is_not_named() -> None:
    entry = the_one_entry(
        describe(new_cluster(log_retention_hours="2"), (TOPIC, "orders", ["retention.ms"]))
    )

    assert (entry.value, entry.config_source, synonyms_of(entry)) == ("7200000", 5, [])


def test_min_insync_replicas_is_a_value_of_all_brokers_from_the_start() -> None:
    name = "min.insync.replicas"
    entry = the_one_entry(describe(new_cluster(), (TOPIC, "orders", [name])))
    assert synonyms_of(entry) == [(name, "1", 3), (name, "1", 5)]

    older = new_cluster(broker_api_versions="4.0", min_insync_replicas="2")
    entry = the_one_entry(describe(older, (TOPIC, "orders", [name])))
    assert synonyms_of(entry) == [(name, "2", 4), (name, "1", 5)]


def test_a_custom_key_is_described_as_a_secret_of_unknown_type() -> None:
    cluster = new_cluster()
    cluster.set_config(cluster.config.with_dynamic(2, {"my.plugin.key": "hunter2"}))

    entry = the_one_entry(describe(cluster, (BROKER, "2", ["my.plugin.key"]), broker_id=2))

    assert (entry.value, entry.config_type, entry.is_sensitive) == (None, 0, True)
    assert (entry.read_only, entry.config_source) == (True, 2)
    assert synonyms_of(entry) == [("my.plugin.key", None, 2)]


def test_the_rate_of_throttled_replication_is_described_where_it_is_set() -> None:
    name = "leader.replication.throttled.rate"
    cluster = new_cluster()
    assert describe(cluster, (BROKER, "1", [name]))[0].configs == []

    cluster.set_config(cluster.config.with_dynamic(1, {name: " 9"}))

    entry = the_one_entry(describe(cluster, (BROKER, "1", [name])))
    assert (entry.value, entry.read_only, entry.config_type) == (" 9", False, 5)


def test_a_broker_key_is_read_only_unless_it_can_be_changed_at_run_time() -> None:
    (result,) = describe(new_cluster(num_partitions="3"), (BROKER, "2", None), broker_id=2)
    entries = {entry.name: entry for entry in result.configs}

    assert entries["num.partitions"].read_only
    assert (entries["num.partitions"].value, entries["num.partitions"].config_source) == ("3", 4)
    assert not entries["max.in.flight.sequence.number.per.connection"].read_only
    assert not entries["message.max.bytes"].read_only
    assert {entry.name for entry in result.configs if entry.is_sensitive} == {
        name for name, key in BROKER_KEYS.items() if key.is_sensitive and not key.is_hidden
    }
    assert entries["log.retention.ms"].value is None


def test_passwords_are_never_returned() -> None:
    cluster = new_cluster(sasl_users="alice:top-secret")
    (result,) = describe(cluster, (BROKER, "1", None))
    (entry,) = [entry for entry in result.configs if entry.name == "sasl.users"]
    assert (entry.is_sensitive, entry.value, entry.config_source) == (True, None, 4)
    assert "top-secret" not in str(result)


def test_a_broker_returns_its_own_keys() -> None:
    cluster = new_cluster(node_id="7")
    cluster.brokers[9].rack = "r"
    own = {
        "node.id": "9",
        "broker.id": "9",
        "broker.rack": "r",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": "/mock-kafka/broker-9",
    }
    for name, value in own.items():
        entry = the_one_entry(describe(cluster, (BROKER, "9", [name]), broker_id=9))
        assert (entry.value, entry.config_source) == (value, 4)
        assert synonyms_of(entry)[0] == (name, value, 4)


@pytest.mark.parametrize(
    ("host", "listener"),
    [("localhost", "PLAINTEXT://localhost:9094"), ("::1", "PLAINTEXT://[::1]:9094")],
)
def test_a_broker_returns_the_address_it_advertises(host: str, listener: str) -> None:
    cluster = new_cluster(advertised_listeners="PLAINTEXT://localhost:9092")
    cluster.brokers[3].host, cluster.brokers[3].port = host, 9094

    entry = the_one_entry(describe(cluster, (BROKER, "3", ["advertised.listeners"]), broker_id=3))

    assert (entry.value, entry.config_source) == (listener, 4)


def test_the_broker_default_returns_only_keys_changed_for_all_brokers() -> None:
    cluster = new_cluster(message_max_bytes="2")
    min_isr = the_one_entry(describe(cluster, (BROKER, "", None)))
    assert (min_isr.name, min_isr.value) == ("min.insync.replicas", "1")

    cluster.set_config(
        cluster.config.with_dynamic(None, {"message.max.bytes": "3"}).with_dynamic(
            1, {"message.max.bytes": "4"}
        )
    )

    entry = the_one_entry(describe(cluster, (BROKER, "", None)))
    assert (entry.name, entry.value, entry.config_source) == ("message.max.bytes", "3", 3)
    assert synonyms_of(entry) == [("message.max.bytes", "3", 3)]
    assert not entry.read_only


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("kind", "name", "error_code", "message"),
    [
        (TOPIC, "missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (
            TOPIC,
            "a b",
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            (
                "Topic name is invalid: 'a b' contains one or more characters other than ASCII"
                " alphanumerics, '.', '_' and '-'"
            ),
        ),
        (
            TOPIC,
            "",
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: the empty string is not allowed",
        ),
        (BROKER, "2", REFUSED, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "one", REFUSED, "Broker id must be an integer, but it is: one"),
        (BROKER_LOGGER, "", REFUSED, "Broker id must not be empty"),
        (BROKER_LOGGER, "2", REFUSED, "Unexpected broker id, expected 1 but received 2"),
        (CLIENT_METRICS, "", REFUSED, "Client metrics subscription name must not be empty"),
        (GROUP, "", REFUSED, "Group name must not be empty"),
    ],
)
def test_a_resource_that_cannot_be_described_fails_alone(
    version: int, kind: int, name: str, error_code: ErrorCode, message: str
) -> None:
    failed, described = describe(
        new_cluster(), (kind, name, None), (TOPIC, "orders", None), version=version
    )

    assert failed.error_code == error_code
    assert (failed.resource_type, failed.resource_name, failed.configs) == (kind, name, [])
    assert failed.error_message == message
    assert described.error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_type_of_resource_fails_the_request(version: int) -> None:
    results = describe(new_cluster(), (TOPIC, "orders", None), (1, "x", None), version=version)

    message = "This most likely occurs because of a request being malformed"
    for result in results:
        assert (result.error_code, result.configs) == (ErrorCode.INVALID_REQUEST, [])
        assert result.error_message.startswith(message)
    assert [result.resource_type for result in results] == [TOPIC, 1]


def test_a_very_long_resource_name_gets_a_response() -> None:
    (result,) = describe(new_cluster(), (TOPIC, "x" * 32_767, None), version=1)

    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_broker_has_no_loggers() -> None:
    (result,) = describe(new_cluster(), (BROKER_LOGGER, "1", None))

    assert (result.error_code, result.configs) == (ErrorCode.NONE, [])


def test_groups_and_client_metrics_need_not_exist() -> None:
    group, metrics = describe(new_cluster(), (GROUP, "g", None), (CLIENT_METRICS, "m", None))

    group_keys = shown({key.name: key for key in GROUP_RESOURCE_KEYS})
    assert names(group) == in_described_order(ResourceType.GROUP, group_keys)
    metrics_keys = [key.name for key in CLIENT_METRICS_KEYS]
    assert names(metrics) == in_described_order(ResourceType.CLIENT_METRICS, metrics_keys)
    assert {entry.config_source for entry in group.configs + metrics.configs} == {5}


def test_values_set_on_a_group_or_on_client_metrics_are_returned_with_their_source() -> None:
    cluster = new_cluster()
    cluster.set_config(
        cluster.config.with_resource(
            (ResourceType.GROUP, "g"), {"consumer.session.timeout.ms": "46000"}
        ).with_resource((ResourceType.CLIENT_METRICS, "m"), {"interval.ms": "100"})
    )

    entry = the_one_entry(describe(cluster, (GROUP, "g", ["consumer.session.timeout.ms"])))
    name = "consumer.session.timeout.ms"
    assert (entry.value, entry.config_source) == ("46000", 8)
    default = (f"group.{name}", "45000", 5)
    assert synonyms_of(entry) == [(name, "46000", 8), default]
    entry = the_one_entry(describe(cluster, (GROUP, "g2", [name])))
    assert synonyms_of(entry) == [default]

    entry = the_one_entry(describe(cluster, (CLIENT_METRICS, "m", ["interval.ms"])))
    assert (entry.value, entry.config_source) == ("100", 7)
    assert synonyms_of(entry) == [("interval.ms", "100", 7)]


def test_a_broker_returns_the_values_it_alone_was_started_with() -> None:
    cluster = new_cluster(max_connections="7", broker_2_max_connections="8")

    entries_by_broker = {}
    for broker_id in (1, 2):
        resource = (BROKER, str(broker_id), ["max.connections"])
        (result,) = describe(cluster, resource, broker_id=broker_id)
        (entry,) = result.configs
        entries_by_broker[broker_id] = (entry.value, entry.config_source, synonyms_of(entry))

    default = ("max.connections", "2147483647", 5)
    assert entries_by_broker == {
        1: ("7", 4, [("max.connections", "7", 4), default]),
        2: ("8", 4, [("max.connections", "8", 4), default]),
    }


def test_requested_keys_have_the_order_that_they_have_among_all_since_kafka_4_2() -> None:
    requested = ["index.interval.bytes", "retention.ms", "min.cleanable.dirty.ratio"]
    orders = {}
    for release in ("4.1", "4.2", "4.4"):
        cluster = new_cluster(broker_api_versions=release)
        orders[release] = names(describe(cluster, (TOPIC, "orders", requested))[0])

    in_all = ["retention.ms", "index.interval.bytes", "min.cleanable.dirty.ratio"]
    assert orders == {"4.1": in_hash_order(requested), "4.2": in_all, "4.4": in_all}
    assert in_hash_order(requested) != in_all


def test_an_emulated_release_lists_its_own_keys() -> None:
    topic = (TOPIC, "orders", None)
    with_default = set(names(describe(new_cluster(), topic)[0]))
    with_3_7 = set(names(describe(new_cluster(broker_api_versions="3.7"), topic)[0]))
    assert with_default - with_3_7 == {
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "errors.deadletterqueue.group.enable",
        "max.decompressed.message.bytes",
        "remote.copy.lag.bytes",
        "remote.copy.lag.ms",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
    }
    assert not with_3_7 - with_default


def test_a_key_has_the_type_of_the_release() -> None:
    for release, config_type in (("4.1", ConfigType.STRING), ("4.2", ConfigType.LIST)):
        cluster = new_cluster(broker_api_versions=release, log_dirs="/a,/b, /b")
        (result,) = describe(cluster, (BROKER, "1", ["log.dirs"]))
        (entry,) = result.configs
        assert entry.config_type == config_type
        assert entry.value == ("/a,/b" if release == "4.2" else "/a,/b, /b")
        assert entry.synonyms[0].value == "/a,/b, /b"


def test_a_key_that_the_release_does_not_have_is_described_as_a_secret_where_it_is_set() -> None:
    for release, config_type in (("4.2", ConfigType.BOOLEAN), ("4.3", ConfigType.UNKNOWN)):
        cluster = new_cluster(broker_api_versions=release, group_share_enable="true")
        (result,) = describe(cluster, (BROKER, "1", ["group.share.enable"]))
        (entry,) = result.configs
        assert entry.config_type == config_type
        assert entry.is_sensitive == (config_type is ConfigType.UNKNOWN)
    assert not describe(new_cluster(), (BROKER, "1", ["group.share.enable"]))[0].configs


def test_the_rates_of_replication_are_described_as_read_only_before_4_3() -> None:
    name = "leader.replication.throttled.rate"
    for release, is_read_only in (("4.2", True), ("4.3", False)):
        cluster = new_cluster(broker_api_versions=release)
        cluster.set_config(cluster.config.with_dynamic(1, {name: "5"}))
        (entry,) = describe(cluster, (BROKER, "1", [name]))[0].configs
        assert (entry.value, entry.read_only) == ("5", is_read_only)


def test_the_value_of_a_group_comes_from_a_key_of_the_broker_from_4_3_on() -> None:
    name, broker_key = "consumer.session.timeout.ms", "group.consumer.session.timeout.ms"
    expected = {
        "4.2": [(name, "46000", 5)],
        "4.3": [(broker_key, "46000", 4), (broker_key, "45000", 5)],
    }
    for release, synonyms in expected.items():
        cluster = new_cluster(
            broker_api_versions=release, group_consumer_session_timeout_ms="46000"
        )
        (entry,) = describe(cluster, (GROUP, "g", [name]))[0].configs
        assert [(s.name, s.value, s.source) for s in entry.synonyms] == synonyms
        layer = (ResourceType.GROUP, "g"), {name: "50000"}
        cluster.set_config(cluster.config.with_resource(*layer))
        (entry,) = describe(cluster, (GROUP, "g", [name]))[0].configs
        below = synonyms if release == "4.3" else []
        assert [(s.name, s.value, s.source) for s in entry.synonyms] == [
            (name, "50000", 8),
            *below,
        ]


def test_groups_have_configurations_from_4_0_on() -> None:
    (refused,) = describe(new_cluster(broker_api_versions="3.9"), (GROUP, "g", None))
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    (result,) = describe(new_cluster(broker_api_versions="4.0"), (GROUP, "g", None))
    assert "share.isolation.level" not in names(result)
    assert "share.auto.offset.reset" in names(result)


def test_client_metrics_show_keys_that_are_not_set_from_4_1_on() -> None:
    cluster = new_cluster(broker_api_versions="4.0")
    assert names(describe(cluster, (CLIENT_METRICS, "m", None))[0]) == []
    kind = ResourceType.CLIENT_METRICS
    cluster.set_config(cluster.config.with_resource((kind, "m"), {"interval.ms": "1000"}))
    assert names(describe(cluster, (CLIENT_METRICS, "m", None))[0]) == ["interval.ms"]
    assert len(names(describe(new_cluster(), (CLIENT_METRICS, "m", None))[0])) == 3
