from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.config.broker_config import BROKER_KEYS
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
        ("delete", APPEND, " compact , delete,compact", "delete,compact"),
        ("delete", APPEND, "", "delete"),
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


def test_append_starts_from_the_brokers_value() -> None:
    cluster = new_cluster(log_cleanup_policy="compact")

    alter(cluster, (TOPIC, "orders", [("cleanup.policy", APPEND, "delete")]))

    assert overrides_of(cluster)["cleanup.policy"] == "compact,delete"


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


SHARED_KEYS = sorted(
    key.name for key in BROKER_KEYS.values() if key.is_dynamic and not key.is_per_broker
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


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("kind", "name", "operations", "error_code", "message"),
    [
        (TOPIC, "", [], ErrorCode.INVALID_REQUEST, "Default topic resources"),
        (TOPIC, "a b", [], ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid"),
        (TOPIC, "missing", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "'missing' does not exist"),
        (
            TOPIC,
            "missing",
            [("retention.ms", SET, "x")],
            ErrorCode.INVALID_CONFIG,
            "Invalid value x for configuration retention.ms",
        ),
        (
            TOPIC,
            "orders",
            [("retention.mss", SET, "1")],
            ErrorCode.INVALID_CONFIG,
            "did you mean retention.ms?",
        ),
        (
            TOPIC,
            "orders",
            [("retention.mss", APPEND, "1")],
            ErrorCode.INVALID_CONFIG,
            "did you mean retention.ms?",
        ),
        (
            TOPIC,
            "orders",
            [("retention.ms", APPEND, "1")],
            ErrorCode.INVALID_CONFIG,
            "its type is not LIST",
        ),
        (TOPIC, "orders", [("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST, "Null value"),
        (
            TOPIC,
            "orders",
            [("retention.ms", 4, "1")],
            ErrorCode.INVALID_REQUEST,
            "operation type 4",
        ),
        (
            TOPIC,
            "orders",
            [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
            ErrorCode.INVALID_REQUEST,
            "only once",
        ),
        (BROKER, "2", [], ErrorCode.INVALID_REQUEST, "expected 1, but received 2"),
        (BROKER, "1_0", [], ErrorCode.INVALID_REQUEST, "must be an integer"),
        (
            BROKER,
            "1",
            [("auto.create.topics.enable", SET, "false")],
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: auto.create.topics.enable",
        ),
        (
            BROKER,
            "",
            [("message.max.bytes", SET, "-1")],
            ErrorCode.INVALID_REQUEST,
            "Invalid value -1 for configuration message.max.bytes",
        ),
        (
            BROKER,
            "",
            [("message.max.byte", SET, "1")],
            ErrorCode.INVALID_REQUEST,
            "did you mean message.max.bytes?",
        ),
        (
            BROKER,
            "",
            [("message.max.bytes", APPEND, "1")],
            ErrorCode.INVALID_CONFIG,
            "its type is not LIST",
        ),
        (BROKER_LOGGER, "2", [], ErrorCode.INVALID_REQUEST, "expected 1, but received 2"),
        (BROKER_LOGGER, "1", [("root", SET, "INFO")], ErrorCode.INVALID_CONFIG, "root"),
        (BROKER_LOGGER, "1", [("root", APPEND, "x")], ErrorCode.INVALID_REQUEST, "APPEND"),
        (GROUP, "", [], ErrorCode.INVALID_REQUEST, "must have a name"),
        (GROUP, "g", [("no.key", SET, "1")], ErrorCode.INVALID_CONFIG, "no.key"),
        (
            GROUP,
            "g",
            [("consumer.session.timeout.ms", SET, "0")],
            ErrorCode.INVALID_CONFIG,
            "must be at least 1",
        ),
        (GROUP, "g", [("no.key", APPEND, "1")], ErrorCode.INVALID_CONFIG, "no.key"),
        (CLIENT_METRICS, "", [], ErrorCode.INVALID_REQUEST, "must have a name"),
        (CLIENT_METRICS, "m", [("no.key", SET, "1")], ErrorCode.INVALID_REQUEST, "no.key"),
        (CLIENT_METRICS, "m", [("interval.ms", SET, "1")], ErrorCode.INVALID_REQUEST, "between"),
        (99, "x", [], ErrorCode.INVALID_REQUEST, "Unknown resource type 99"),
    ],
)
def test_a_resource_that_cannot_be_changed_fails_alone(
    version: int,
    kind: int,
    name: str,
    operations: Operations,
    error_code: ErrorCode,
    message: str,
) -> None:
    cluster = new_cluster()
    before = cluster.config

    failed, other = alter(
        cluster,
        (kind, name, operations),
        (GROUP, "other", [("share.isolation.level", DELETE, None)]),
        version=version,
    )

    assert failed.error_code == error_code
    assert message in failed.error_message
    assert outcome([other]) == [OK]
    assert overrides_of(cluster) == {}
    assert cluster.config == before
    assert not cluster.config.resources


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
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "5")]),
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
        (CLIENT_METRICS, "m", [("metrics", APPEND, "a,b"), ("interval.ms", SET, "100")]),
    )
    assert cluster.config.resources == {
        group: {"consumer.session.timeout.ms": "46000"},
        metrics: {"metrics": "a,b", "interval.ms": "100"},
    }

    alter(
        cluster,
        (GROUP, "g", [("consumer.session.timeout.ms", DELETE, None)]),
        (CLIENT_METRICS, "m", [("metrics", SUBTRACT, "a")]),
    )
    assert cluster.config.resources == {metrics: {"metrics": "b", "interval.ms": "100"}}


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
        assert result.error_message
