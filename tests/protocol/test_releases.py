"""The tables of releases: names of releases, and complete version ranges."""

import pytest

from protocol.api_keys import ApiKey
from protocol.messages import schema_versions
from protocol.releases import (
    DEFAULT_RELEASE,
    DEFAULT_VERSIONS,
    UNADVERTISED_APIS,
    release_versions,
    releases,
)


@pytest.mark.parametrize(
    ("text", "api_key", "highest"),
    [
        ("0.11", ApiKey.PRODUCE, 3),
        ("0.11.0.3", ApiKey.FETCH, 5),
        ("1.1", ApiKey.FETCH, 7),
        ("2.8", ApiKey.PRODUCE, 9),
        ("2.8.2", ApiKey.METADATA, 11),
        ("3.9.1", ApiKey.FETCH, 17),
        ("4.0", ApiKey.PRODUCE, 12),
        ("4.2.0", ApiKey.LIST_OFFSETS, 11),
        ("4.3", ApiKey.DESCRIBE_LOG_DIRS, 5),
        ("4.3", ApiKey.API_VERSIONS, 4),
        ("4.4.0", ApiKey.API_VERSIONS, 5),
        ("4.4", ApiKey.TXN_OFFSET_COMMIT, 6),
    ],
)
def test_a_release_is_found_with_or_without_its_patch_number(
    text: str, api_key: ApiKey, highest: int
) -> None:
    assert release_versions(text)[api_key][1] == highest


@pytest.mark.parametrize(
    "text", ["", "2", "9.9", "0.10.2", "2.8x", "2.٨", "latest", "9" * 50, "2..8", "-1"]
)
def test_an_unknown_release_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(ValueError, match=r"there is no release .*; there are 0\.11, 1\.0, "):
        release_versions(text)


@pytest.mark.parametrize("api_key", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA])
def test_every_release_can_be_written_to_and_read_from_with_our_schemas(api_key: ApiKey) -> None:
    low, high = schema_versions(api_key)
    for versions in releases().values():
        release_low, release_high = versions[api_key]
        assert max(low, release_low) <= min(high, release_high)


def test_releases_with_kraft_lack_the_apis_among_brokers_and_have_those_of_kraft() -> None:
    with_zookeeper, with_kraft = release_versions("3.5"), release_versions("3.9")
    assert 6 in with_zookeeper
    assert 6 not in with_kraft
    assert ApiKey.DESCRIBE_QUORUM not in with_zookeeper
    assert with_kraft[ApiKey.DESCRIBE_QUORUM] == (0, 2)
    assert release_versions("3.8")[ApiKey.DESCRIBE_QUORUM] == (0, 1)
    assert release_versions("3.7").keys() & UNADVERTISED_APIS == UNADVERTISED_APIS


def test_the_table_of_the_default_release_is_the_recorded_one() -> None:
    assert releases()[DEFAULT_RELEASE] == DEFAULT_VERSIONS
