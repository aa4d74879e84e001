"""`broker.api.versions`: a release, limits of single APIs, both, and invalid values."""

import pytest

from broker.config.api_versions import (
    api_versions_problem,
    emulated_release,
    named_apis,
    parse_api_versions,
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
