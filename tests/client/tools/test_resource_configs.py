"""Configurations of topics and brokers with the options of the tool."""

from typing import Any

import pytest

from client.errors import ApiError, UnsupportedVersionError
from client.tools import resource_configs
from client.tools.session import ToolError
from protocol import messages
from tests.client.scripted import admin_of, configs, configs_altered, metadata

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
DEFAULT_CONFIG, OF_TOPIC, OF_BROKER, OF_ALL_BROKERS = 5, 1, 2, 3
OF_LOGGER, OF_METRICS = 6, 7


def test_describe_prints_only_keys_set_on_the_topic_unless_all_is_given() -> None:
    response = configs(
        TOPIC, "t", ("retention.ms", "5", OF_TOPIC), ("flush.ms", "9", DEFAULT_CONFIG)
    )
    retention = "  retention.ms=5 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5}"
    admin, _ = admin_of(metadata(("t", 1)), response, response)
    assert resource_configs.describe(admin, "topics", ["t"], is_everything=False) == [
        "Dynamic configs for topic t are:",
        retention,
    ]
    assert resource_configs.describe(admin, "topics", ["t"], is_everything=True) == [
        "All configs for topic t are:",
        "  flush.ms=9 sensitive=false synonyms={DEFAULT_CONFIG:flush.ms=9}",
        retention,
    ]


def test_a_sensitive_value_is_null() -> None:
    brokers = metadata(brokers=((1, "one", 9092),))
    admin, _ = admin_of(
        brokers, brokers, configs(BROKER, "1", ("k", "v", OF_BROKER), sensitive=["k"])
    )
    lines = resource_configs.describe(admin, "brokers", ["1"], is_everything=False)
    assert lines[1].startswith("  k=null sensitive=true")


def test_a_missing_topic_is_printed_and_not_an_error() -> None:
    admin, _ = admin_of(metadata())
    assert resource_configs.describe(admin, "topics", ["t"], is_everything=False) == [
        "The topic 't' doesn't exist and doesn't have dynamic config."
    ]


def test_without_a_name_all_topics_or_all_brokers_and_their_default_are_described() -> None:
    admin, _ = admin_of(
        metadata(("b", 1), ("a", 1)),
        configs(TOPIC, "a"),
        configs(TOPIC, "b"),
        metadata(),
        metadata(),
        configs(BROKER, "1", ("x", "1", OF_BROKER), ("y", "2", OF_ALL_BROKERS)),
        configs(BROKER, "", ("y", "2", OF_ALL_BROKERS)),
    )
    assert resource_configs.describe(admin, "topics", [], is_everything=False) == [
        "Dynamic configs for topic a are:",
        "Dynamic configs for topic b are:",
    ]
    assert [
        line.partition(" sensitive")[0]
        for line in resource_configs.describe(admin, "brokers", [], is_everything=False)
    ] == [
        "Dynamic configs for broker 1 are:",
        "  x=1",
        "Default configs for brokers in the cluster are:",
        "  y=2",
    ]


def test_keys_are_set_and_removed_in_one_request() -> None:
    admin, peer = admin_of(configs_altered(TOPIC, "t"))
    resource_configs.alter(admin, "topics", "t", {"retention.ms": "5"}, ["flush.ms"])
    [resource] = peer.requests[0].resources
    assert [(c.name, c.config_operation, c.value) for c in resource.configs] == [
        ("flush.ms", 1, None),
        ("retention.ms", 0, "5"),
    ]


def test_errors_of_the_broker_are_raised() -> None:
    admin, _ = admin_of(
        configs_altered(TOPIC, "t", 40), metadata(("t", 1)), configs(TOPIC, "t", error_code=3)
    )
    with pytest.raises(ApiError, match="INVALID_CONFIG"):
        resource_configs.alter(admin, "topics", "t", {"nonsense": "1"}, [])
    with pytest.raises(ApiError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        resource_configs.describe(admin, "topics", ["t"], is_everything=False)


def test_loggers_that_a_broker_does_not_have_cannot_be_changed() -> None:
    logger = ("root", "INFO", OF_LOGGER)
    brokers = metadata(brokers=((1, "one", 9092),))
    admin, peer = admin_of(
        *(brokers, configs(LOGGER, "1", logger), brokers, configs_altered(LOGGER, "1")),
        *(brokers, configs(LOGGER, "1", logger)),
    )
    resource_configs.alter(admin, "broker-loggers", "1", {"root": "DEBUG"}, [])
    assert peer.requests[-1].resources[0].resource_type == LOGGER
    with pytest.raises(ToolError, match=r"^Invalid broker logger\(s\): b,a$"):
        resource_configs.alter(admin, "broker-loggers", "1", {"a": "DEBUG", "root": "INFO"}, ["b"])


@pytest.mark.parametrize("entity_type", ["brokers", "broker-loggers"])
def test_the_name_of_a_broker_is_a_number(entity_type: str) -> None:
    admin, _ = admin_of()
    message = f"The entity name for {entity_type} must be a valid integer broker id, but it is: x"
    with pytest.raises(ToolError, match=message):
        resource_configs.describe(admin, entity_type, ["x"], is_everything=False)
    with pytest.raises(ToolError, match=message):
        resource_configs.alter(admin, entity_type, "x", {"a": "1"}, [])


def config_resources(*names: tuple[int, str], error_code: int = 0) -> Any:
    response = messages.ListConfigResourcesResponse
    resources = [response.ConfigResource(resource_type=t, resource_name=n) for t, n in names]
    return response(error_code=error_code, config_resources=resources)


def groups(*group_ids: str) -> Any:
    response = messages.ListGroupsResponse
    return response(error_code=0, groups=[response.ListedGroup(group_id=g) for g in group_ids])


def test_client_metrics_are_listed_and_described() -> None:
    entry = ("metrics", "a.", OF_METRICS)
    listed = config_resources((METRICS, "m"))
    admin, peer = admin_of(listed, configs(METRICS, "m", entry), listed)
    assert resource_configs.describe(admin, "client-metrics", [], is_everything=False) == [
        "Dynamic configs for client-metric m are:",
        "  metrics=a. sensitive=false synonyms={DYNAMIC_CLIENT_METRICS_CONFIG:metrics=a.}",
    ]
    assert peer.requests[0].resource_types == [METRICS]
    assert resource_configs.describe(admin, "client-metrics", ["n"], is_everything=False) == [
        "The client-metric 'n' doesn't exist and doesn't have dynamic config."
    ]


@pytest.mark.parametrize(
    ("response", "names"),
    [
        (config_resources((GROUP, "b"), (GROUP, "a")), ["a", "b"]),
        (config_resources(error_code=31), ["a"]),
        (UnsupportedVersionError("no such API"), ["a"]),
    ],
)
def test_groups_exist_if_they_are_listed_or_have_a_configuration(
    response: Any, names: list[str]
) -> None:
    described = [configs(GROUP, name) for name in names]
    admin, _ = admin_of(metadata(), groups("a"), response, *described)
    assert resource_configs.describe(admin, "groups", [], is_everything=False) == [
        f"Dynamic configs for group {name} are:" for name in names
    ]


def test_another_error_of_the_list_of_resources_is_raised() -> None:
    admin, _ = admin_of(metadata(), groups(), config_resources(error_code=35))
    with pytest.raises(ApiError, match="UNSUPPORTED_VERSION"):
        resource_configs.describe(admin, "groups", [], is_everything=False)


def test_all_keys_of_a_group_that_does_not_exist_are_its_defaults() -> None:
    entry = ("share.isolation.level", "read_uncommitted", DEFAULT_CONFIG)
    admin, _ = admin_of(configs(GROUP, "g", entry))
    lines = resource_configs.describe(admin, "groups", ["g"], is_everything=True)
    assert lines[0] == "All configs for group g are:"
    assert lines[1].startswith("  share.isolation.level=read_uncommitted ")
