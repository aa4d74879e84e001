"""Keys and defaults by release."""

import pytest

from broker.config.broker_config import BROKER_KEYS, BrokerConfig
from broker.config.keys import ConfigError, ConfigType
from broker.config.release_keys import is_known, key_in, release_defaults
from broker.config.topic_config import TopicConfig, validate_topic_overrides
from protocol.configs import ConfigSource
from protocol.releases import DEFAULT_RELEASE, Release, releases

LONG_MAX = (1 << 63) - 1
AFTER = "log.message.timestamp.after.max.ms"
VERSIONS = "broker.api.versions"


@pytest.mark.parametrize(
    ("name", "release", "expected"),
    [
        ("remote.log.copy.disable", (3, 8), False),
        ("remote.log.copy.disable", (3, 9), True),
        ("share.isolation.level", (4, 0), False),
        ("share.isolation.level", (4, 1), True),
        ("config.providers", (4, 1), False),
        ("cordoned.log.dirs", (4, 2), False),
        ("cordoned.log.dirs", (4, 3), True),
        ("retention.ms", (0, 11), True),
    ],
)
def test_a_key_is_known_from_its_first_release_on(
    name: str, release: tuple[int, ...], expected: bool
) -> None:
    assert is_known(name, release) is expected


def test_the_default_release_is_the_newest_and_has_the_defaults_of_the_tables() -> None:
    assert max(releases()) == DEFAULT_RELEASE
    removed = {
        "group.share.enable",
        "internal.metadata.max.fetch.size.in.bytes",
        "leader.imbalance.per.broker.percentage",
    }
    assert {name for name in BROKER_KEYS if not is_known(name, DEFAULT_RELEASE)} == removed
    assert is_known("group.share.enable", (4, 2))
    assert not is_known("group.share.enable", (4, 3))
    assert release_defaults(DEFAULT_RELEASE) == {}


def test_a_default_that_changed_in_4_2_is_the_old_one_before() -> None:
    name = "group.coordinator.append.linger.ms"
    assert release_defaults((4, 2)) == {}
    assert BrokerConfig.from_overrides({VERSIONS: "4.1"})[name] == 5
    assert BrokerConfig.from_overrides({})[name] == -1


def test_a_default_is_the_oldest_one_that_still_holds() -> None:
    name = "group.coordinator.rebalance.protocols"
    assert release_defaults((4, 0))[name] == ("classic", "consumer")
    assert release_defaults((3, 9))[name] == ("classic",)


def test_a_broker_has_the_defaults_of_its_release() -> None:
    config = BrokerConfig.from_overrides({f"broker.2.{VERSIONS}": "3.9"})
    assert config.for_broker(1)[AFTER] == 3_600_000
    assert config.for_broker(2)[AFTER] == LONG_MAX
    (default,) = config.synonyms(AFTER, 2)
    assert (default.text, default.source) == (str(LONG_MAX), ConfigSource.DEFAULT_CONFIG)
    assert config.synonyms(AFTER, 1)[0].text == "3600000"


def test_a_value_that_is_set_is_stronger_than_the_default_of_the_release() -> None:
    config = BrokerConfig.from_overrides({VERSIONS: "3.9", AFTER: "5"})
    assert config[AFTER] == 5


@pytest.mark.parametrize("name", ["listeners", "log.dirs", "early.start.listeners"])
def test_addresses_and_directories_are_lists_from_4_2_on(name: str) -> None:
    assert key_in(BROKER_KEYS[name], (4, 2)).config_type is ConfigType.LIST
    assert key_in(BROKER_KEYS[name], (4, 1)).config_type is ConfigType.STRING
    old = BrokerConfig.from_overrides({VERSIONS: "4.1", name: "A://:1, A://:1"})
    assert old[name] == "A://:1, A://:1"
    new = BrokerConfig.from_overrides({VERSIONS: "4.2", name: "A://:1, A://:1"})
    assert new[name] == ("A://:1",)


def test_a_key_that_the_release_does_not_have_has_no_effect() -> None:
    name = "group.share.enable"
    assert BrokerConfig.from_overrides({VERSIONS: "4.2", name: "true"})[name] is True
    config = BrokerConfig.from_overrides({VERSIONS: "4.3", name: "anything"})
    assert config[name] is False


def test_an_empty_list_is_refused_from_4_2_on() -> None:
    name = "group.consumer.assignors"
    assert BrokerConfig.from_overrides({VERSIONS: "4.1", name: ""})[name] == ()
    with pytest.raises(ConfigError, match="must not be empty"):
        BrokerConfig.from_overrides({VERSIONS: "4.2", name: ""})


@pytest.mark.parametrize("release", [(4, 1), (4, 2)])
def test_the_words_of_a_list_are_checked_in_every_release(release: Release) -> None:
    assert validate_topic_overrides({"cleanup.policy": ""}, release) is None
    problem = validate_topic_overrides({"cleanup.policy": "delete,compress"}, release)
    assert problem is not None
    assert problem.endswith("String must be one of: compact, delete")


def test_a_topic_has_the_defaults_of_its_brokers() -> None:
    config = BrokerConfig.from_overrides({VERSIONS: "3.9"})
    assert TopicConfig(config)["message.timestamp.after.max.ms"] == LONG_MAX


def test_a_release_refuses_keys_of_topics_that_came_later() -> None:
    overrides = {"remote.log.copy.disable": "true"}
    assert validate_topic_overrides(overrides, (3, 9)) is None
    problem = validate_topic_overrides(overrides, (3, 8))
    assert problem is not None
    assert "remote.log.copy.disable" in problem


@pytest.mark.parametrize(
    ("name", "value", "since"),
    [
        ("group.coordinator.append.linger.ms", "-1", "4.2"),
        ("share.coordinator.append.linger.ms", "-1", "4.2"),
        ("share.coordinator.snapshot.update.records.per.snapshot", "501", "4.3"),
        ("num.replica.fetchers", "0", "4.2"),
    ],
)
def test_a_value_is_checked_as_in_the_release(name: str, value: str, since: str) -> None:
    before = {"4.2": "4.1", "4.3": "4.2"}[since]
    accepted = []
    for release in (before, since):
        try:
            BrokerConfig.from_overrides({VERSIONS: release, name: value})
            accepted.append(release)
        except ConfigError:
            pass
    assert accepted == [since if value == "-1" else before]
