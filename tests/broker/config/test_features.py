"""The table of features: levels by release, and the key `cluster.features`."""

import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.features import (
    FEATURES,
    METADATA_VERSION,
    Levels,
    changes_metadata,
    default_levels,
    feature_levels_problem,
    parse_feature_levels,
    supported_levels,
)
from broker.config.keys import ConfigError
from protocol.releases import releases

KEY = "cluster.features"


@pytest.mark.parametrize("release", [(2, 8), (3, 5)])
def test_releases_with_zookeeper_have_no_features(release: tuple[int, ...]) -> None:
    assert not supported_levels(release)
    assert not default_levels(release)


def test_a_release_has_the_levels_that_came_last_before_it() -> None:
    assert FEATURES[METADATA_VERSION].levels_in((3, 8)) == Levels(1, 20, 20)
    assert FEATURES["group.version"].levels_in((3, 9)) is None
    assert "streams.version" not in supported_levels((4, 1))
    assert supported_levels((4, 2))["streams.version"] == Levels(0, 1, 1)
    assert supported_levels((4, 3))["share.version"] == Levels(0, 1, 1)
    assert supported_levels((4, 4))["share.version"] == Levels(0, 2, 2)
    assert FEATURES[METADATA_VERSION].levels_in((4, 4)) == Levels(7, 33, 33)


@pytest.mark.parametrize("release", releases())
def test_no_default_level_is_above_what_is_implemented_or_supported(
    release: tuple[int, ...],
) -> None:
    for name, level in default_levels(release).items():
        supported = supported_levels(release)[name]
        assert supported.lowest <= level <= supported.highest
        assert level <= FEATURES[name].implemented_max


@pytest.mark.parametrize(
    ("level", "other", "expected"),
    [
        (27, 23, False),
        (27, 22, True),
        (22, 27, True),
        (23, 23, False),
        (21, 18, False),
        (29, 27, False),
        (30, 29, True),
        (31, 30, False),
        (33, 32, True),
    ],
)
def test_a_level_changes_metadata_when_its_records_are_new(
    level: int, other: int, expected: bool
) -> None:
    assert changes_metadata(level, other) is expected


def test_levels_at_the_start_are_parsed() -> None:
    assert parse_feature_levels(("metadata.version = 23", "kraft.version=0")) == {
        "metadata.version": 23,
        "kraft.version": 0,
    }


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("group.versoin=1", "there is no feature group.versoin; did you mean group.version"),
        ("group.version", "group.version: must be NAME=LEVEL"),
        ("group.version=x", "group.version=x: must be NAME=LEVEL"),
        ("metadata.version=99", "metadata.version=99: must be between 7 and 33"),
        ("metadata.version=6", "metadata.version=6: must be between 7 and 33"),
        ("streams.version=2", "streams.version=2: must be between 0 and 1"),
    ],
)
def test_an_invalid_level_stops_the_start_with_a_line(value: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=KEY) as caught:
        BrokerConfig.from_overrides({KEY: value})
    assert problem in str(caught.value)


def test_a_level_must_be_supported_by_the_release() -> None:
    assert feature_levels_problem(("metadata.version=6",)) is None
    config = BrokerConfig.from_overrides({KEY: "metadata.version=6", "broker.api.versions": "3.9"})
    assert config[KEY] == ("metadata.version=6",)
