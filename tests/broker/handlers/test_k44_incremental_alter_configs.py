from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from broker.addresses import Address
from broker.cluster.cluster import Cluster
from broker.config.broker_config import BROKER_KEYS
from broker.config.keys import CLUSTER_WIDE
from broker.config.topic_config import validate_topic_overrides
from broker.config.values import format_value
from broker.handlers.k44_incremental_alter_configs import handle_incremental_alter_configs
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from tests.broker.handlers.config_requests import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    OK,
    SET,
    SUBTRACT,
    TOPIC,
    Operations,
    new_cluster,
    outcome,
    overrides_of,
    results_of,
    send,
)
from tests.broker.handlers.refused_changes import (
    REFUSED_CHANGES,
    REFUSED_HERE_ONLY,
    RefusedChange,
)

VERSIONS = range(2)
_Resource = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
_Config = _Resource.AlterableConfig


def alter(
    cluster: Cluster,
    *resources: tuple[int, str, Operations],
    version: int = 1,
    validate_only: bool = False,
    broker_id: int = 1,
) -> list[Any]:
    fields = {
        "resources": [
            _Resource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    _Config(name=key, config_operation=operation, value=text)
                    for key, operation, text in operations
                ],
            )
            for kind, name, operations in resources
        ],
        "validate_only": validate_only,
    }
    response = send(
        cluster,
        handle_incremental_alter_configs,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        version,
        broker_id,
        fields,
    )
    return results_of(response, resources)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_changes_single_keys_and_keeps_the_others(version: int) -> None:
    cluster = new_cluster()
    alter(
        cluster,
        (TOPIC, "orders", [("retention.ms", SET, "5"), ("retention.bytes", SET, "6")]),
        version=version,
    )

    results = alter(
        cluster,
        (
            TOPIC,
            "orders",
            [
                ("retention.ms", DELETE, None),
                ("cleanup.policy", APPEND, "compact"),
                ("segment.ms", SET, "7"),
            ],
        ),
        version=version,
    )

    assert outcome(results) == [OK]
    assert overrides_of(cluster) == {
        "retention.bytes": "6",
        "cleanup.policy": "delete,compact",
        "segment.ms": "7",
    }


@pytest.mark.parametrize(
    ("before", "operation", "operand", "after"),
    [
        ("delete", APPEND, "compact", "delete,compact"),
        ("delete", APPEND, "delete", "delete"),
        ("delete", APPEND, "compact,delete,compact", "delete,compact"),
        ("delete,compact", SUBTRACT, "delete,delete", "compact"),
        ("delete,compact", SUBTRACT, "delete", "compact"),
        ("delete", SUBTRACT, "compact", "delete"),
        ("delete", SUBTRACT, "delete", ""),
        (None, APPEND, "compact", "delete,compact"),
        (None, SUBTRACT, "delete", ""),
    ],
)
def test_elements_can_be_appended_to_and_subtracted_from_a_list(
    before: str | None, operation: int, operand: str, after: str
) -> None:
    cluster = new_cluster()
    if before is not None:
        alter(cluster, (TOPIC, "orders", [("cleanup.policy", SET, before)]))

    results = alter(cluster, (TOPIC, "orders", [("cleanup.policy", operation, operand)]))

    assert outcome(results) == [OK]
    assert overrides_of(cluster)["cleanup.policy"] == after


def test_listeners_are_a_list_from_4_2_on() -> None:
    append = (BROKER, "1", [("advertised.listeners", APPEND, "PLAINTEXT://far:1")])
    old = alter(new_cluster(broker_api_versions="4.1"), append)
    assert outcome(old) == [
        (
            ErrorCode.INVALID_CONFIG,
            "Config value append is not allowed for config key: advertised.listeners",
        )
    ]
    assert outcome(alter(new_cluster(broker_api_versions="4.2"), append)) == [OK]


def test_a_list_that_repeats_elements_is_kept_as_it_is_and_told() -> None:
    cluster = new_cluster(broker_api_versions="4.2")
    change = (TOPIC, "orders", [("cleanup.policy", SET, "delete,delete")])

    with capture_logs() as lines:
        assert outcome(alter(cluster, change, validate_only=True)) == [OK]
        assert lines == []
        assert outcome(alter(cluster, change)) == [OK]

    assert [line["key"] for line in lines] == ["cleanup.policy"]
    assert overrides_of(cluster)["cleanup.policy"] == "delete,delete"
    topic = cluster.topics.get("orders")
    assert topic is not None
    assert topic.config["cleanup.policy"] == ("delete",)


def test_append_starts_from_the_default_of_kafka_and_not_of_the_broker() -> None:
    cluster = new_cluster(log_cleanup_policy="compact")

    alter(cluster, (TOPIC, "orders", [("cleanup.policy", APPEND, "delete")]))

    assert overrides_of(cluster)["cleanup.policy"] == "delete"


def test_brokers_are_changed_one_by_one_or_all_at_once() -> None:
    cluster = new_cluster()

    results = alter(
        cluster,
        (BROKER, "3", [("max.connections", SET, "8")]),
        (BROKER, "", [("max.connections", SET, "9"), ("log.cleanup.policy", APPEND, "compact")]),
        broker_id=3,
    )

    assert outcome(results) == [OK, OK]
    assert cluster.config["max.connections"] == 9
    assert cluster.config["log.cleanup.policy"] == ("delete", "compact")
    assert cluster.config.for_broker(3)["max.connections"] == 8

    alter(cluster, (BROKER, "3", [("max.connections", DELETE, None)]), broker_id=3)
    assert cluster.config.for_broker(3)["max.connections"] == 9


def test_the_old_name_of_a_key_of_ours_is_refused_with_the_new_one() -> None:
    results = alter(new_cluster(), (BROKER, "", [("controller.mutation.time.ms", SET, "6")]))
    message = (
        "controller.mutation.time.ms; it is controller.mutation.time.us, in whole microseconds"
    )
    assert outcome(results) == [(ErrorCode.INVALID_REQUEST, f"Unknown configuration {message}")]


SHARED_KEYS = sorted(
    key.name for key in BROKER_KEYS.values() if key.update_mode is CLUSTER_WIDE and key.is_enforced
)


@pytest.mark.parametrize("name", SHARED_KEYS)
def test_one_of_several_brokers_cannot_set_a_shared_key(name: str) -> None:
    cluster = new_cluster()
    before = cluster.config
    text = format_value(BROKER_KEYS[name].default) or "1"

    results = alter(cluster, (BROKER, "2", [(name, SET, text)]), broker_id=2)

    message = f"{name} has one value for all brokers of the cluster, not one for each"
    assert outcome(results) == [
        (ErrorCode.INVALID_REQUEST, f"{message}; set it without a broker id")
    ]
    assert cluster.config is before
    assert outcome(alter(cluster, (BROKER, "", [(name, SET, text)]))) == [OK]
    assert outcome(alter(new_cluster(1), (BROKER, "1", [(name, SET, text)]))) == [OK]


def test_a_shared_key_set_by_a_single_broker_can_be_deleted_when_there_are_others() -> None:
    cluster = new_cluster()
    cluster.set_config(cluster.config.with_dynamic(2, {"message.max.bytes": "9"}))

    operation = (BROKER, "2", [("message.max.bytes", DELETE, None)])
    assert outcome(alter(cluster, operation, broker_id=2)) == [OK]

    assert cluster.config.dynamic_layer(2) == {}


def test_a_changed_broker_default_applies_to_topics_at_once() -> None:
    cluster = new_cluster()

    alter(cluster, (BROKER, "", [("message.max.bytes", SET, "9")]))

    topic = cluster.topics.get("orders")
    assert topic is not None
    assert topic.max_message_bytes == 9


def test_a_topic_has_the_defaults_of_its_leader() -> None:
    cluster = new_cluster()

    alter(cluster, (BROKER, "2", [("message.max.bytes", SET, "9")]), broker_id=2)

    topic = cluster.topics.get("orders")
    assert topic is not None
    sizes = [topic.on_broker(broker_id).max_message_bytes for broker_id in (1, 2, 3)]
    assert sizes == [1_048_588, 9, 1_048_588]
    assert topic.on_broker(2).partitions is topic.partitions
    alter(cluster, (TOPIC, "orders", [("max.message.bytes", SET, "7")]))
    assert topic.on_broker(2) is topic
    alter(cluster, (TOPIC, "orders", [("max.message.bytes", DELETE, None)]))
    alter(cluster, (BROKER, "2", [("message.max.bytes", DELETE, None)]), broker_id=2)
    assert topic.by_broker == {}


def test_a_value_of_the_only_broker_applies_to_topics() -> None:
    cluster = new_cluster(1)

    alter(cluster, (BROKER, "1", [("message.max.bytes", SET, "9")]))

    topic = cluster.topics.get("orders")
    assert topic is not None
    assert topic.max_message_bytes == 9


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_a_group_has_no_lists_to_append_to(operation: int) -> None:
    (result,) = alter(
        new_cluster(), (GROUP, "g", [("consumer.session.timeout.ms", operation, "1")])
    )

    assert result.error_code == ErrorCode.INVALID_CONFIG


def test_an_empty_change_of_a_broker_logger_is_accepted() -> None:
    assert outcome(alter(new_cluster(), (BROKER_LOGGER, "1", []))) == [OK]


def test_a_key_that_was_never_set_can_be_deleted() -> None:
    results = alter(
        new_cluster(),
        (TOPIC, "orders", [("retention.ms", DELETE, None)]),
        (BROKER, "", [("num.partitions", DELETE, "")]),
    )

    assert outcome(results) == [OK, OK]


@pytest.mark.parametrize(
    ("release", "change"),
    [
        (release, change)
        for release, changes in REFUSED_CHANGES.items()
        for change in (*changes, *REFUSED_HERE_ONLY)
    ],
    ids=str,
)
def test_a_refused_change_gets_the_error_of_kafka(release: str, change: RefusedChange) -> None:
    cluster = new_cluster(broker_api_versions=release)
    cluster.create_topic("t", [(1,)], {})
    before = cluster.config

    (result,) = alter(
        cluster, (change.resource_type, change.resource_name, change.operations), version=1
    )

    assert (result.error_code, result.error_message) == (change.error_code, change.error_message)
    assert cluster.config is before
    topic = cluster.topics.get("t")
    assert topic is not None
    assert not topic.config.overrides


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("kind", "name"), [(TOPIC, "missing"), (BROKER, "2"), (GROUP, ""), (99, "x")]
)
def test_a_resource_that_cannot_be_changed_fails_alone(version: int, kind: int, name: str) -> None:
    cluster = new_cluster()

    failed, other = alter(
        cluster,
        (kind, name, []),
        (GROUP, "other", [("share.isolation.level", SET, "read_committed")]),
        version=version,
    )

    assert failed.error_code != ErrorCode.NONE
    assert outcome([other]) == [OK]
    assert list(cluster.config.resources) == [(ResourceType.GROUP, "other")]


def test_an_unknown_operation_fails_every_resource_that_reaches_the_controller() -> None:
    cluster = new_cluster()

    results = alter(
        cluster,
        (TOPIC, "orders", [("retention.ms", SET, "1000")]),
        (BROKER, "1", [("message.max.bytes", 9, "1")]),
        (GROUP, "g", [("share.isolation.level", 9, "x")]),
        (BROKER_LOGGER, "1", []),
    )

    failed = (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    unknown = (ErrorCode.INVALID_REQUEST, "Unknown operations type 9")
    assert outcome(results) == [failed, unknown, failed, OK]
    assert overrides_of(cluster) == {}


def test_a_custom_key_of_a_broker_is_kept() -> None:
    cluster = new_cluster()

    results = alter(
        cluster,
        (BROKER, "1", [("my.plugin.key", SET, "a")]),
        (
            BROKER,
            "",
            [("my.plugin.key", SET, "b"), ("leader.replication.throttled.rate", SET, "9")],
        ),
    )

    assert outcome(results) == [OK, OK]
    assert cluster.config.dynamic_layer(1) == {"my.plugin.key": "a"}
    assert cluster.config.dynamic_default["my.plugin.key"] == "b"
    assert outcome(alter(cluster, (BROKER, "1", [("my.plugin.key", DELETE, None)]))) == [OK]
    assert cluster.config.dynamic_layer(1) == {}


def test_a_value_may_not_be_longer_than_a_record_of_the_controller() -> None:
    (result,) = alter(new_cluster(), (BROKER, "", [("my.plugin.key", SET, "x" * 32_768)]))

    assert result.error_code == ErrorCode.INVALID_CONFIG
    assert result.error_message == (
        "The configuration value cannot be added because it exceeds the maximum value size of"
        " 32767 bytes."
    )


def test_without_elr_a_broker_may_set_min_insync_replicas() -> None:
    cluster = new_cluster(1, broker_api_versions="4.0")

    assert outcome(alter(cluster, (BROKER, "1", [("min.insync.replicas", SET, "2")]))) == [OK]
    assert outcome(alter(cluster, (BROKER, "", [("min.insync.replicas", DELETE, None)]))) == [OK]
    assert cluster.config.for_broker(1)["min.insync.replicas"] == 2


def test_the_listeners_of_a_broker_cannot_be_changed() -> None:
    cluster = new_cluster()

    same, other = (
        alter(cluster, (BROKER, "1", [("listeners", SET, text)]))[0]
        for text in ("PLAINTEXT://:9092", "PLAINTEXT://:9093")
    )

    assert same.error_code == ErrorCode.NONE
    assert outcome([other]) == [
        (ErrorCode.INVALID_REQUEST, "listeners are bound at the start and cannot be changed")
    ]


def test_the_advertised_address_of_one_broker_can_be_changed_until_a_reset() -> None:
    cluster = new_cluster()
    before = cluster.brokers[1].address("PLAINTEXT")
    change = ("advertised.listeners", SET, "PLAINTEXT://far:1")

    assert outcome(alter(cluster, (BROKER, "1", [change]))) == [OK]
    assert cluster.brokers[1].address("PLAINTEXT") == Address("far", 1)
    assert outcome(alter(cluster, (BROKER, "1", [("advertised.listeners", DELETE, None)]))) == [OK]
    assert cluster.brokers[1].address("PLAINTEXT") == before

    assert outcome(alter(cluster, (BROKER, "1", [change]))) == [OK]
    cluster.reset()
    assert cluster.brokers[1].address("PLAINTEXT") == before


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (
            "1",
            "TLS://far:1",
            "advertised.listeners: TLS is not among the listeners, only PLAINTEXT",
        ),
        ("", "PLAINTEXT://far:1", "Cannot update these configs at default cluster level"),
    ],
)
def test_an_invalid_advertised_address_is_refused(name: str, value: str, reason: str) -> None:
    cluster = new_cluster()
    (result,) = alter(cluster, (BROKER, name, [("advertised.listeners", SET, value)]))
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert result.error_message.startswith(reason)
    assert cluster.brokers[1].altered_endpoints == {}


def test_a_resource_is_changed_completely_or_not_at_all() -> None:
    cluster = new_cluster()

    (result,) = alter(
        cluster, (TOPIC, "orders", [("retention.ms", SET, "5"), ("retention.bytes", SET, "x")])
    )

    assert result.error_code == ErrorCode.INVALID_CONFIG
    assert overrides_of(cluster) == {}


def test_a_duplicate_resource_is_not_changed() -> None:
    cluster = new_cluster()

    results = alter(
        cluster,
        (TOPIC, "orders", [("retention.ms", SET, "1")]),
        (GROUP, "orders", []),
        (TOPIC, "orders", [("retention.bytes", SET, "2")]),
    )

    assert [result.error_code for result in results] == [42, 0, 42]
    assert overrides_of(cluster) == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_changes_nothing(version: int) -> None:
    cluster = new_cluster()

    results = alter(
        cluster,
        (TOPIC, "orders", [("retention.ms", SET, "5")]),
        (BROKER, "", [("message.max.bytes", SET, "9")]),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "46000")]),
        validate_only=True,
        version=version,
    )

    assert outcome(results) == [OK, OK, OK]
    assert overrides_of(cluster) == {}
    assert cluster.config["message.max.bytes"] == 1_048_588
    assert not cluster.config.resources


def test_keys_of_groups_and_client_metrics_are_stored_until_deleted() -> None:
    cluster = new_cluster()
    group, metrics = (ResourceType.GROUP, "g"), (ResourceType.CLIENT_METRICS, "m")

    alter(
        cluster,
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "46000")]),
        (CLIENT_METRICS, "m", [("metrics", SET, "a,b"), ("interval.ms", SET, "100")]),
    )
    assert cluster.config.resources == {
        group: {"consumer.session.timeout.ms": "46000"},
        metrics: {"metrics": "a,b", "interval.ms": "100"},
    }

    alter(
        cluster,
        (GROUP, "g", [("consumer.session.timeout.ms", DELETE, None)]),
        (CLIENT_METRICS, "m", [("metrics", SET, "b")]),
    )
    assert cluster.config.resources == {
        group: {},
        metrics: {"metrics": "b", "interval.ms": "100"},
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_very_long_key_gets_a_response(version: int) -> None:
    (result,) = alter(new_cluster(), (TOPIC, "orders", [("x" * 32_767, SET, "1")]), version=version)

    assert result.error_code == ErrorCode.INVALID_CONFIG


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["cleanup.policy", "retention.ms", "no.key"]),
            st.integers(-1, 4),
            st.sampled_from([None, "", "1", "compact", "delete,compact", "x"]),
        ),
        max_size=3,
    )
)
def test_any_alterations_leave_a_topic_with_a_valid_configuration(
    operations: list[tuple[str, int, str | None]],
) -> None:
    cluster = new_cluster()

    (result,) = alter(cluster, (TOPIC, "orders", operations))

    overrides = overrides_of(cluster)
    assert validate_topic_overrides(dict(overrides)) is None
    if result.error_code != ErrorCode.NONE:
        assert overrides == {}
        is_unknown = result.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert bool(result.error_message) != is_unknown


def test_a_change_may_bring_the_providers_of_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka checks a value with the providers of the same layer, and applies it with all."""
    monkeypatch.setenv("LIMIT", "7")
    monkeypatch.setenv("WORD", "many")
    cluster = new_cluster()
    name = "max.connections"
    kind = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    providers = [("config.providers", SET, "vars"), ("config.providers.vars.class", SET, kind)]

    alone = alter(cluster, (BROKER, "1", [(name, SET, "${vars:LIMIT}")]))
    wrong = alter(cluster, (BROKER, "1", [*providers, (name, SET, "${vars:WORD}")]))
    right = alter(cluster, (BROKER, "1", [*providers, (name, SET, "${vars:LIMIT}")]))

    refused = f"Invalid value ${{vars:LIMIT}} for configuration {name}: Not a number of type INT"
    assert outcome(alone) == [(ErrorCode.INVALID_REQUEST, refused)]
    refused = f"Invalid value ${{vars:WORD}} for configuration {name}"
    assert outcome(wrong) == [(ErrorCode.INVALID_REQUEST, refused)]
    assert outcome(right) == [OK]
    assert cluster.config.for_broker(1)[name] == 7


def test_a_provider_of_another_class_is_refused() -> None:
    key = "config.providers.vault.class"
    operations = [("config.providers", SET, "vault"), (key, SET, "org.example.Vault")]
    results = alter(new_cluster(), (BROKER, "", operations))
    reason = "Could not load config provider class or one of its dependencies"
    refused = f"Invalid value org.example.Vault for configuration {key}: {reason}"
    assert outcome(results) == [(ErrorCode.INVALID_REQUEST, refused)]
