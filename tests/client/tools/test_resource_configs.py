"""Configurations of topics and brokers with the options of the tool."""

import pytest

from client.errors import ApiError
from client.tools import resource_configs
from client.tools.session import ToolError
from tests.client.scripted import admin_of, configs, configs_altered, metadata

TOPIC, BROKER = 2, 4
DEFAULT_CONFIG, OF_TOPIC, OF_BROKER, OF_ALL_BROKERS = 5, 1, 2, 3


def test_describe_prints_only_keys_set_on_the_topic_unless_all_is_given() -> None:
    response = configs(
        TOPIC, "t", ("retention.ms", "5", OF_TOPIC), ("flush.ms", "9", DEFAULT_CONFIG)
    )
    retention = "  retention.ms=5 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5}"
    admin, _ = admin_of(metadata(("t", 1)), response, metadata(("t", 1)), response)
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
    admin, _ = admin_of(metadata(), configs(BROKER, "1", ("k", "v", OF_BROKER), sensitive=["k"]))
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
    admin, peer = admin_of(
        configs(TOPIC, "t", ("flush.ms", "9", OF_TOPIC)), configs_altered(TOPIC, "t")
    )
    resource_configs.alter(admin, "topics", "t", {"retention.ms": "5"}, ["flush.ms"])
    [resource] = peer.requests[1].resources
    assert [(c.name, c.config_operation, c.value) for c in resource.configs] == [
        ("retention.ms", 0, "5"),
        ("flush.ms", 1, None),
    ]


def test_a_key_that_was_not_set_cannot_be_removed() -> None:
    admin, peer = admin_of(configs(BROKER, "", ("flush.ms", "9", DEFAULT_CONFIG)))
    with pytest.raises(ToolError, match=r"Invalid config\(s\): flush.ms"):
        resource_configs.alter(admin, "brokers", None, {}, ["flush.ms"])
    assert len(peer.asked) == 1


def test_errors_of_the_broker_are_raised() -> None:
    admin, _ = admin_of(configs_altered(TOPIC, "t", 40), configs(TOPIC, "t", error_code=3))
    with pytest.raises(ApiError, match="INVALID_CONFIG"):
        resource_configs.alter(admin, "topics", "t", {"nonsense": "1"}, [])
    with pytest.raises(ApiError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        resource_configs.alter(admin, "topics", "t", {}, ["flush.ms"])
