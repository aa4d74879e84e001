from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.handlers.k33_alter_configs import handle_alter_configs
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.handlers.config_requests import (
    BROKER,
    BROKER_LOGGER,
    GROUP,
    OK,
    TOPIC,
    new_cluster,
    outcome,
    overrides_of,
    results_of,
    send,
)

VERSIONS = range(3)
_Resource = messages.AlterConfigsRequest.AlterConfigsResource
_Config = _Resource.AlterableConfig


def alter(
    cluster: Cluster,
    *resources: tuple[int, str, list[tuple[str, str | None]]],
    version: int = 2,
    validate_only: bool = False,
    broker_id: int = 1,
) -> list[Any]:
    fields = {
        "resources": [
            _Resource(
                resource_type=kind,
                resource_name=name,
                configs=[_Config(name=key, value=text) for key, text in configs],
            )
            for kind, name, configs in resources
        ],
        "validate_only": validate_only,
    }
    response = send(cluster, handle_alter_configs, ApiKey.ALTER_CONFIGS, version, broker_id, fields)
    return results_of(response, resources)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_replaces_the_configuration_of_a_topic(version: int) -> None:
    cluster = new_cluster()
    alter(cluster, (TOPIC, "orders", [("retention.ms", "5"), ("retention.bytes", "6")]))

    results = alter(cluster, (TOPIC, "orders", [("retention.ms", "7")]), version=version)

    assert outcome(results) == [OK]
    assert overrides_of(cluster) == {"retention.ms": "7"}


def test_an_empty_replacement_restores_the_defaults() -> None:
    cluster = new_cluster()
    alter(cluster, (TOPIC, "orders", [("retention.ms", "5")]))
    alter(cluster, (BROKER, "", [("message.max.bytes", "9"), ("min.insync.replicas", "1")]))

    alter(cluster, (TOPIC, "orders", []), (BROKER, "", [("min.insync.replicas", "1")]))

    assert overrides_of(cluster) == {}
    assert cluster.config["message.max.bytes"] == 1_048_588


def test_brokers_are_changed_one_by_one_or_all_at_once() -> None:
    cluster = new_cluster()

    results = alter(
        cluster,
        (BROKER, "2", [("max.connections", "8")]),
        (BROKER, "", [("max.connections", "9"), ("min.insync.replicas", "1")]),
        broker_id=2,
    )

    assert outcome(results) == [OK, OK]
    assert cluster.config["max.connections"] == 9
    assert cluster.config.for_broker(2)["max.connections"] == 8
    assert cluster.config.for_broker(1)["max.connections"] == 9


def test_a_changed_broker_default_applies_to_topics_at_once() -> None:
    cluster = new_cluster()

    alter(cluster, (BROKER, "", [("message.max.bytes", "9"), ("min.insync.replicas", "1")]))

    topic = cluster.topics.get("orders")
    assert topic is not None
    assert (topic.config["max.message.bytes"], topic.max_message_bytes) == (9, 9)


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_changes_nothing(version: int) -> None:
    cluster = new_cluster()

    results = alter(
        cluster,
        (TOPIC, "orders", [("retention.ms", "5")]),
        (BROKER, "", [("message.max.bytes", "9"), ("min.insync.replicas", "1")]),
        (GROUP, "g", [("consumer.session.timeout.ms", "46000")]),
        (TOPIC, "missing", []),
        validate_only=True,
        version=version,
    )

    assert [result.error_code for result in results] == [0, 0, 0, 3]
    assert overrides_of(cluster) == {}
    assert cluster.config["message.max.bytes"] == 1_048_588
    assert not cluster.config.resources


@pytest.mark.parametrize(
    ("kind", "name", "configs", "error_code", "message"),
    [
        (TOPIC, "missing", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "does not exist"),
        (TOPIC, "orders", [("retention.ms", None)], ErrorCode.INVALID_REQUEST, "retention.ms"),
        (TOPIC, "orders", [("retention.ms", "x")], ErrorCode.INVALID_CONFIG, "retention.ms"),
        (
            TOPIC,
            "orders",
            [("retention.ms", "1"), ("retention.ms", "2")],
            ErrorCode.INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
        (BROKER, "2", [], ErrorCode.INVALID_REQUEST, "expected 1, but received 2"),
        (BROKER, "", [("num.partitions", "2")], ErrorCode.INVALID_REQUEST, "num.partitions"),
        (BROKER_LOGGER, "1", [], ErrorCode.INVALID_REQUEST, "Unknown resource type 8"),
        (0, "x", [], ErrorCode.INVALID_REQUEST, "Unknown resource type 0"),
    ],
)
def test_a_resource_that_cannot_be_changed_fails_alone(
    kind: int,
    name: str,
    configs: list[tuple[str, str | None]],
    error_code: ErrorCode,
    message: str,
) -> None:
    cluster = new_cluster()

    failed, other = alter(cluster, (kind, name, configs), (BROKER, "1", []))

    assert failed.error_code == error_code
    assert message in failed.error_message
    assert outcome([other]) == [OK]
    assert overrides_of(cluster) == {}


def test_a_replacement_must_keep_min_insync_replicas_of_all_brokers() -> None:
    cluster = new_cluster(min_insync_replicas="2")

    (refused,) = alter(cluster, (BROKER, "", []))
    (accepted,) = alter(cluster, (BROKER, "", [("min.insync.replicas", "3")]))

    assert outcome([refused, accepted]) == [
        (
            ErrorCode.INVALID_CONFIG,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        ),
        OK,
    ]
    assert cluster.config["min.insync.replicas"] == 3


def test_a_duplicate_resource_is_not_changed() -> None:
    cluster = new_cluster()

    results = alter(
        cluster,
        (TOPIC, "orders", [("retention.ms", "1")]),
        (BROKER, "1", []),
        (TOPIC, "orders", [("retention.ms", "2")]),
    )

    assert [result.error_code for result in results] == [42, 0, 42]
    assert overrides_of(cluster) == {}
