from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.handlers.k74_list_config_resources import handle_list_config_resources
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from tests.broker.handlers.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    new_cluster,
    send,
)


def cluster_with_resources() -> Cluster:
    cluster = new_cluster()
    cluster.set_config(
        cluster.config.with_resource((ResourceType.CLIENT_METRICS, "m2"), {"interval.ms": "100"})
        .with_resource((ResourceType.CLIENT_METRICS, "m1"), {"interval.ms": "100"})
        .with_resource((ResourceType.GROUP, "g"), {"consumer.session.timeout.ms": "46000"})
    )
    return cluster


def list_resources(cluster: Cluster, version: int, types: list[int]) -> Any:
    fields = {"resource_types": types} if version >= 1 else {}
    return send(
        cluster,
        handle_list_config_resources,
        ApiKey.LIST_CONFIG_RESOURCES,
        version,
        1,
        fields,
    )


def named(response: Any) -> list[tuple[int, str]]:
    assert response.error_code == ErrorCode.NONE
    assert response.throttle_time_ms == 0
    return [
        (config_resource.resource_type, config_resource.resource_name)
        for config_resource in response.config_resources
    ]


def test_version_0_lists_client_metrics_only() -> None:
    response = list_resources(cluster_with_resources(), 0, [])

    assert response.error_code == ErrorCode.NONE
    assert [config_resource.resource_name for config_resource in response.config_resources] == [
        "m1",
        "m2",
    ]


def test_version_1_lists_everything_when_no_type_is_named() -> None:
    assert named(list_resources(cluster_with_resources(), 1, [])) == [
        (GROUP, "g"),
        (CLIENT_METRICS, "m1"),
        (CLIENT_METRICS, "m2"),
        (BROKER_LOGGER, "1"),
        (BROKER_LOGGER, "2"),
        (BROKER_LOGGER, "3"),
        (BROKER, "1"),
        (BROKER, "2"),
        (BROKER, "3"),
        (TOPIC, "orders"),
    ]


@pytest.mark.parametrize(
    ("types", "resources"),
    [
        ([GROUP], [(GROUP, "g")]),
        ([TOPIC, GROUP, TOPIC], [(GROUP, "g"), (TOPIC, "orders")]),
        ([CLIENT_METRICS], [(CLIENT_METRICS, "m1"), (CLIENT_METRICS, "m2")]),
    ],
)
def test_version_1_lists_the_types_that_are_named(
    types: list[int], resources: list[tuple[int, str]]
) -> None:
    assert named(list_resources(cluster_with_resources(), 1, types)) == resources


def test_an_unknown_type_is_an_unsupported_version() -> None:
    response = list_resources(cluster_with_resources(), 1, [TOPIC, 3])

    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.config_resources == []


def test_brokers_that_are_down_are_not_listed() -> None:
    cluster = new_cluster()
    cluster.brokers[2].is_alive = False

    assert named(list_resources(cluster, 1, [BROKER])) == [(BROKER, "1"), (BROKER, "3")]


@pytest.mark.parametrize(("release", "left"), [("4.2", [(GROUP, "g")]), ("4.3", [])])
def test_a_group_whose_keys_were_deleted_is_no_resource_since_kafka_4_3(
    release: str, left: list[tuple[int, str]]
) -> None:
    cluster = new_cluster(broker_api_versions=release)
    for layer in ({"consumer.session.timeout.ms": "46000"}, {}):
        cluster.set_config(cluster.config.with_resource((ResourceType.GROUP, "g"), layer))
    assert named(list_resources(cluster, 1, [GROUP])) == left
