"""`broker.api.versions`: a release, limits of single APIs, both, and invalid values."""

import pytest

from broker.config.api_versions import (
    api_versions_problem,
    emulated_release,
    features_release_of,
    named_apis,
    parse_api_versions,
    version_limits,
)
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from protocol.api_keys import ApiKey
from protocol.releases import DEFAULT_VERSIONS, release_versions

KEY = "broker.api.versions"


def test_without_a_release_the_other_apis_are_those_of_the_default_release() -> None:
    versions = parse_api_versions(("Produce=7", "Fetch=5-11", "InitProducerId=-1"))

    default = dict(DEFAULT_VERSIONS)
    del default[ApiKey.INIT_PRODUCER_ID]
    assert versions == {**default, ApiKey.PRODUCE: (0, 7), ApiKey.FETCH: (5, 11)}


def test_a_version_above_the_release_can_be_added() -> None:
    assert parse_api_versions(("4.1", "ListOffsets=11"))[ApiKey.LIST_OFFSETS] == (1, 11)


def test_the_named_apis_are_found_by_key() -> None:
    assert named_apis(("4.1", "Fetch = 9", "PRODUCE=-1")) == {ApiKey.FETCH, ApiKey.PRODUCE}


@pytest.mark.parametrize("elements", [("2.8", "fetch = 9"), ("fetch=9", "2.8")])
def test_limits_of_apis_override_a_release_in_any_order(elements: tuple[str, ...]) -> None:
    assert parse_api_versions(elements) == {**release_versions("2.8"), ApiKey.FETCH: (0, 9)}


def test_an_api_that_a_release_lacks_can_be_added() -> None:
    assert ApiKey.DESCRIBE_CLUSTER not in release_versions("2.0")
    elements = ("2.0", "DescribeCluster=0")
    assert parse_api_versions(elements)[ApiKey.DESCRIBE_CLUSTER] == (0, 0)


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        (("7.0",), "there is no release 7.0; there are 0.11, "),
        (("2.8", "3.9"), "2.8 and 3.9 are two releases"),
        (("Prodcue=7",), "there is no Prodcue; did you mean Produce?"),
        (("Produce=2",), "Produce=2: served are versions 3 to 13"),
        (("Produce=99",), "Produce=99: served are versions 3 to 13"),
        (("Fetch=9-7",), "Fetch=9-7: served are versions 4 to 18"),
        (("Fetch=",), "Fetch=: must be HIGHEST, LOWEST-HIGHEST, or -1 for none"),
        (("Fetch=-2",), "Fetch=-2: must be HIGHEST, LOWEST-HIGHEST, or -1 for none"),
    ],
)
def test_an_invalid_value_is_explained_in_a_line(elements: tuple[str, ...], problem: str) -> None:
    assert (api_versions_problem(elements) or "").startswith(problem)
    with pytest.raises(ConfigError, match=KEY):
        BrokerConfig.from_overrides({KEY: ",".join(elements)})


def test_an_empty_value_is_valid() -> None:
    assert api_versions_problem(()) is None
    assert BrokerConfig.from_overrides({KEY: ""})[KEY] == ()
    assert BrokerConfig.from_overrides({})[KEY] == ("4.4",)


@pytest.mark.parametrize(
    ("elements", "release"),
    [((), (4, 4)), (("Fetch=9",), (4, 4)), (("Fetch=9", "2.6.3"), (2, 6)), (("4.1",), (4, 1))],
)
def test_a_release_is_found_without_its_patch_number(
    elements: tuple[str, ...], release: tuple[int, ...]
) -> None:
    assert emulated_release(elements) == release


@pytest.mark.parametrize(
    ("limits", "version"),
    [("", 6), ("4.1", 6), ("4.0", None), ("InitProducerId=3", None), ("initproducerid=-1", None)],
)
def test_unstable_versions_are_served_unless_the_api_is_limited(
    limits: str, version: int | None
) -> None:
    values = BrokerConfig.from_overrides({KEY: limits, "unstable.api.versions.enable": "true"})
    added = () if version is None else (f"InitProducerId={version}",)
    assert version_limits(values) == values[KEY] + added
    assert version_limits(BrokerConfig.from_overrides({KEY: limits})) == values[KEY]


def test_unstable_levels_of_features_are_those_of_a_later_release() -> None:
    values = BrokerConfig.from_overrides({"unstable.feature.versions.enable": "true"})
    assert features_release_of(values) == (4, 4, 1)
    assert features_release_of(BrokerConfig.from_overrides({})) == (4, 4)
