"""What `broker.api.versions` says: the brokers of an older release, or single APIs with limits."""

import re
from collections.abc import Mapping

from protocol.messages import API_NAMES, api_key_of, schema_versions
from protocol.releases import Release, Versions, find_release, release_versions

NOT_THERE = "-1"
_LIMIT = re.compile(r"(?:([0-9]{1,5})-)?([0-9]{1,5})", re.ASCII)


def parse_api_versions(told: tuple[str, ...]) -> Mapping[int, Versions]:
    """The versions, by API key, of the APIs that are there.

    Elements are a release, `NAME=HIGHEST`, `NAME=LOWEST-HIGHEST`, or `NAME=-1` for an API that is
    not there. What isn't named is as in the release; without one, as in the schemas.

    Raises:
        ValueError: it names the element and what is wrong with it.
    """
    releases = [each for each in told if "=" not in each]
    if len(releases) > 1:
        raise ValueError(f"{releases[0]} and {releases[1]} are two releases")
    versions = {int(key): schema_versions(key) for key in API_NAMES}
    if releases:
        versions = dict(release_versions(releases[0]))
    for element in told:
        if "=" in element:
            _limit(versions, element)
    return versions


def emulated_release(told: tuple[str, ...]) -> Release | None:
    """Return the release that a valid value names; None when it names none."""
    return next((find_release(each) for each in told if "=" not in each), None)


def _limit(versions: dict[int, Versions], element: str) -> None:
    name, _, limit = (part.strip() for part in element.partition("="))
    api_key = api_key_of(name)
    if limit == NOT_THERE:
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


def api_versions_problem(told: tuple[str, ...]) -> str | None:
    """What is wrong with a value, in a few words; None when it will do."""
    try:
        parse_api_versions(told)
    except ValueError as error:
        return str(error)
    return None
