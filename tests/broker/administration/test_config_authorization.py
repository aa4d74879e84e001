"""Authorized descriptions and changes of configurations, in the three APIs that have them."""

from typing import Any

import pytest

from broker.administration.config_authorization import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    deny_configs,
)
from broker.cluster.cluster import Cluster
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import allow, make_acl_cluster, noted, send
from tests.broker.cluster_builder import make_cluster, make_context

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = ResourceType
OK = (ErrorCode.NONE, None)
CLUSTER_DENIED = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
TOPIC_DENIED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
GROUP_DENIED = (ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
ALTERING = [ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS]

Resource = tuple[int, str, list[tuple[str, str | None]]]
"""Type, name, and values by key."""
ALL_TYPES: list[Resource] = [
    (TOPIC, "a", [("retention.ms", "5")]),
    (TOPIC, "missing", [("retention.ms", "5")]),
    (GROUP, "g", [("consumer.heartbeat.interval.ms", "6000")]),
    (CLIENT_METRICS, "m", [("interval.ms", "1000")]),
    (BROKER, "1", [("message.max.bytes", "9")]),
]


def cluster_with_a(*rights: str) -> Cluster:
    cluster = make_acl_cluster(*rights)
    cluster.create_topic("a", [(1,)], {})
    return cluster


def describing(version: int, *resources: tuple[int, str]) -> Any:
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource
    return messages.DescribeConfigsRequest(
        version=version,
        resources=[
            resource(version=version, resource_type=kind, resource_name=name)
            for kind, name in resources
        ],
    )


def altering(
    api_key: ApiKey, version: int, *resources: Resource, operation: int = ConfigOperation.SET
) -> Any:
    request_class = messages.request_class(api_key)
    resource_class = messages.entry_class(request_class(version=version), "resources")
    fields = {} if api_key is ApiKey.ALTER_CONFIGS else {"config_operation": operation}
    return request_class(
        version=version,
        validate_only=False,
        resources=[
            resource_class(
                version=version,
                resource_type=kind,
                resource_name=name,
                configs=[
                    resource_class.AlterableConfig(version=version, name=key, value=text, **fields)
                    for key, text in configs
                ],
            )
            for kind, name, configs in resources
        ],
    )


def outcome(response: Any) -> dict[tuple[int, str], tuple[int, str | None]]:
    results = response.results if hasattr(response, "results") else response.responses
    return {
        (result.resource_type, result.resource_name): (result.error_code, result.error_message)
        for result in results
    }


def overrides(cluster: Cluster) -> dict[str, str]:
    topic = cluster.topics.get("a")
    assert topic is not None
    return dict(topic.config.overrides)


@pytest.mark.parametrize("version", range(1, 5))
def test_each_resource_is_described_with_a_right_of_its_type(version: int) -> None:
    resources = [
        (TOPIC, "a"),
        (TOPIC, "missing"),
        (TOPIC, "bad name"),
        (GROUP, "g"),
        (GROUP, ""),
        (CLIENT_METRICS, "m"),
        (BROKER, "1"),
        (BROKER, "x"),
        (BROKER_LOGGER, "1"),
    ]
    denied: dict[int, tuple[int, str]] = {
        TOPIC: TOPIC_DENIED,
        GROUP: GROUP_DENIED,
        CLIENT_METRICS: CLUSTER_DENIED,
        BROKER: CLUSTER_DENIED,
        BROKER_LOGGER: CLUSTER_DENIED,
    }
    cluster = cluster_with_a("DESCRIBE TOPIC *", "ALL GROUP other", "DESCRIBE CLUSTER")
    response, denials = send(cluster, describing(version, *resources), version)
    assert outcome(response) == {resource: denied[resource[0]] for resource in resources}
    assert all(result.configs == [] for result in response.results)
    assert denials[:2] == ["DESCRIBE_CONFIGS TOPIC a", "DESCRIBE_CONFIGS TOPIC missing"]
    assert denials[-1] == "DESCRIBE_CONFIGS CLUSTER kafka-cluster"

    allow(cluster, *(f"DESCRIBE_CONFIGS {kind}" for kind in ("TOPIC *", "GROUP *", "CLUSTER")))
    response, denials = send(cluster, describing(version, *resources), version)
    assert denials == []
    assert {key: code for key, (code, _) in outcome(response).items() if code} == {
        (TOPIC, "missing"): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (TOPIC, "bad name"): ErrorCode.INVALID_TOPIC_EXCEPTION,
        (GROUP, ""): ErrorCode.INVALID_REQUEST,
        (BROKER, "x"): ErrorCode.INVALID_REQUEST,
    }


def test_denied_descriptions_come_behind_the_others() -> None:
    cluster = cluster_with_a("ALTER_CONFIGS TOPIC a", "DESCRIBE_CONFIGS GROUP g")
    request = describing(4, (TOPIC, "b"), (TOPIC, "a"), (BROKER, "1"), (GROUP, "g"))
    response, _ = send(cluster, request, 4)
    assert [(result.resource_name, result.error_code) for result in response.results] == [
        ("a", 0),
        ("g", 0),
        ("b", TOPIC_DENIED[0]),
        ("1", CLUSTER_DENIED[0]),
    ]


def test_an_unknown_type_fails_a_request_before_its_resources_are_authorized() -> None:
    request = describing(4, (TOPIC, "a"), (99, "x"))
    response, denials = send(cluster_with_a(), request, 4)
    assert {code for code, _ in outcome(response).values()} == {ErrorCode.INVALID_REQUEST}
    assert denials == []


@pytest.mark.parametrize("api_key", ALTERING)
def test_each_resource_is_changed_with_a_right_of_its_type(api_key: ApiKey) -> None:
    route = ROUTES[api_key]
    for version in range(route.version_min, route.version_max + 1):
        cluster = cluster_with_a("ALTER TOPIC *", "ALL GROUP other", "ALTER CLUSTER")
        request = altering(api_key, version, *ALL_TYPES)
        response, denials = send(cluster, request, version)
        assert list(outcome(response).values()) == [
            TOPIC_DENIED,
            TOPIC_DENIED,
            GROUP_DENIED,
            CLUSTER_DENIED,
            # Kafka's broker finds this denial and the controller the others.
            (CLUSTER_DENIED[0], None),
        ]
        assert len(denials) == 5
        assert overrides(cluster) == {}
        assert cluster.config.for_broker(1)["message.max.bytes"] == 1_048_588
        assert cluster.config.resources == {}

        allow(cluster, *(f"ALTER_CONFIGS {kind}" for kind in ("TOPIC *", "GROUP *", "CLUSTER")))
        response, denials = send(cluster, request, version)
        missing = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'missing' does not exist.")
        assert list(outcome(response).values()) == [OK, missing, OK, OK, OK]
        assert denials == []
        assert overrides(cluster) == {"retention.ms": "5"}
        assert cluster.config.for_broker(1)["message.max.bytes"] == 9
        assert len(cluster.config.resources) == 2


@pytest.mark.parametrize("api_key", ALTERING)
def test_what_may_be_changed_is_changed(api_key: ApiKey) -> None:
    cluster = cluster_with_a("ALTER_CONFIGS TOPIC a")
    response, denials = send(cluster, altering(api_key, 1, *ALL_TYPES), 1)
    results = outcome(response)
    assert results.pop((TOPIC, "a")) == OK
    assert all(code != ErrorCode.NONE for code, _ in results.values())
    assert "ALTER_CONFIGS TOPIC a" not in denials
    assert overrides(cluster) == {"retention.ms": "5"}


@pytest.mark.parametrize("api_key", ALTERING)
def test_malformed_resources_have_their_own_error_first(api_key: ApiKey) -> None:
    request = altering(
        api_key,
        1,
        (TOPIC, "a", [("retention.ms", None)]),
        (TOPIC, "b", [("retention.ms", "1"), ("retention.ms", "1")]),
        (BROKER, "9", [("message.max.bytes", "1"), ("message.max.bytes", "1")]),
        (99, "x", []),
        # Only the client's right decides here, not the name and the value.
        (BROKER, "x", [("message.max.bytes", "y")]),
        (TOPIC, "bad name", [("no.such.key", "1")]),
    )
    response, denials = send(cluster_with_a(), request, 1)
    codes = [code for code, _ in outcome(response).values()]
    assert codes == [ErrorCode.INVALID_REQUEST] * 4 + [CLUSTER_DENIED[0], TOPIC_DENIED[0]]
    assert denials == ["ALTER_CONFIGS CLUSTER kafka-cluster", "ALTER_CONFIGS TOPIC bad name"]


def test_a_logger_needs_a_right_on_the_cluster() -> None:
    request = altering(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, (BROKER_LOGGER, "1", [("root", "INFO")])
    )
    response, _ = send(cluster_with_a(), request, 1)
    assert outcome(response) == {(BROKER_LOGGER, "1"): (CLUSTER_DENIED[0], None)}
    response, denials = send(cluster_with_a("ALTER_CONFIGS CLUSTER"), request, 1)
    assert outcome(response)[BROKER_LOGGER, "1"][0] == ErrorCode.INVALID_CONFIG
    assert denials == []


def test_an_unknown_operation_fails_others_only_if_its_resource_may_be_changed() -> None:
    known = altering(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, (TOPIC, "b", [("retention.ms", "1")]))
    request = altering(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, (TOPIC, "a", [("retention.ms", "1")]), operation=9
    )
    request.resources = [*request.resources, *known.resources]
    cluster = cluster_with_a("ALTER_CONFIGS TOPIC b")
    response, _ = send(cluster, request, 1)
    assert [code for code, _ in outcome(response).values()] == [
        TOPIC_DENIED[0],
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    response, _ = send(cluster_with_a("ALTER_CONFIGS TOPIC a"), request, 1)
    assert {code for code, _ in outcome(response).values()} == {ErrorCode.UNKNOWN_SERVER_ERROR}


def test_the_apis_declare_their_checks() -> None:
    assert ROUTES[ApiKey.DESCRIBE_CONFIGS].checks == DESCRIBE_CONFIGS
    assert {ROUTES[api_key].checks for api_key in ALTERING} == {ALTER_CONFIGS}


def test_everything_is_allowed_without_an_authorizer() -> None:
    context = make_context(ApiKey.DESCRIBE_CONFIGS, 4)
    for resource_type in ResourceType:
        assert (
            deny_configs(context, make_cluster(), ALTER_CONFIGS, resource_type, "a")
            is deny_configs(context, make_cluster(), DESCRIBE_CONFIGS, resource_type, "a")
            is None
        )
    assert noted(context) == []
