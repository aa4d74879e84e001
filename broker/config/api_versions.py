"""The value of `broker.api.versions`: the APIs of a release, or limits of single APIs."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from protocol.messages import api_key_of, schema_versions
from protocol.releases import DEFAULT_RELEASE, Release, Versions, find_release, versions_of

API_VERSIONS_KEY = "broker.api.versions"
"""The key of a broker that says which APIs and versions it serves."""

NOT_SERVED = "-1"

UNSTABLE_VERSIONS: Mapping[str, tuple[Release, int]] = {"InitProducerId": ((4, 1), 6)}
"""Versions that `unstable.api.versions.enable` adds by API, each with its first release.

Source: `latestVersionUnstable` of Kafka's message files.
"""

_LIMIT = re.compile(r"(?:([0-9]{1,5})-)?([0-9]{1,5})", re.ASCII)


def parse_api_versions(elements: tuple[str, ...]) -> Mapping[int, Versions]:
    """Return the versions of the served APIs by API key.

    Elements are a release, `NAME=HIGHEST`, `NAME=LOWEST-HIGHEST`, or `NAME=-1` for an API that is
    not served. Other APIs are as in the release; without one it is the default release.

    Raises:
        ValueError: the message names the element and the problem.
    """
    releases = [element for element in elements if "=" not in element]
    if len(releases) > 1:
        raise ValueError(f"{releases[0]} and {releases[1]} are two releases")
    versions = dict(versions_of(emulated_release(elements)))
    for element in elements:
        if "=" in element:
            _limit(versions, element)
    return versions


@lru_cache(maxsize=64)
def emulated_release(elements: tuple[str, ...]) -> Release:
    """Return the release that the value names, or the default release.

    Raises:
        ValueError: it names a release that is not known.
    """
    return next((find_release(name) for name in elements if "=" not in name), DEFAULT_RELEASE)


def release_of(values: Mapping[str, Any]) -> Release:
    """Return the release that a broker with these values emulates."""
    return emulated_release(values[API_VERSIONS_KEY])


def features_release_of(values: Mapping[str, Any]) -> Release:
    """Return the release by which a broker with these values knows the levels of features.

    With `unstable.feature.versions.enable` it is a bit later than the one that it emulates.
    """
    release = release_of(values)
    return (*release, 1) if values["unstable.feature.versions.enable"] else release


def version_limits(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return `broker.api.versions` with the versions of `unstable.api.versions.enable`.

    What the former says of an API is stronger.
    """
    limits: tuple[str, ...] = values[API_VERSIONS_KEY]
    if not values["unstable.api.versions.enable"]:
        return limits
    named = named_apis(limits)
    release = emulated_release(limits)
    return limits + tuple(
        f"{name}={version}"
        for name, (since, version) in UNSTABLE_VERSIONS.items()
        if release >= since and int(api_key_of(name)) not in named
    )


def named_apis(elements: tuple[str, ...]) -> frozenset[int]:
    """Return the API keys that a valid value names."""
    names = (element.partition("=")[0].strip() for element in elements if "=" in element)
    return frozenset(int(api_key_of(name)) for name in names)


def _limit(versions: dict[int, Versions], element: str) -> None:
    name, _, limit = (part.strip() for part in element.partition("="))
    api_key = api_key_of(name)
    if limit == NOT_SERVED:
        versions.pop(api_key, None)
        return
    served_low, served_high = schema_versions(api_key)
    match = _LIMIT.fullmatch(limit)
    if match is None:
        raise ValueError(f"{name}={limit}: must be HIGHEST, LOWEST-HIGHEST, or -1 for none")
    low, high = int(match[1] or versions.get(api_key, (served_low, 0))[0]), int(match[2])
    if not low <= high or not served_low <= high <= served_high:
        raise ValueError(f"{name}={limit}: served are versions {served_low} to {served_high}")
    versions[api_key] = (low, high)


def api_versions_problem(elements: tuple[str, ...]) -> str | None:
    """Return why a value is invalid, in a few words, or None if it is valid."""
    try:
        parse_api_versions(elements)
    except ValueError as error:
        return str(error)
    return None
