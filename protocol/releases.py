"""The API versions that the brokers of each Kafka release serve.

The tables are those of kafka-python, which recorded them from brokers of these releases.
"""

from collections.abc import Mapping

from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

Release = tuple[int, ...]
Versions = tuple[int, int]
"""Lowest and highest, inclusive."""

OLDEST_RELEASE: Release = (0, 11)
"""Older brokers don't know record batches (message format v2)."""

RELEASES: Mapping[Release, Mapping[int, Versions]] = {
    release: versions
    for release, versions in sorted(BROKER_API_VERSIONS.items())
    if release >= OLDEST_RELEASE
}
"""API versions by API key, by release, the oldest release first."""


def find_release(text: str) -> Release:
    """Return the known release of a version number; `2.8.1` belongs to `2.8`.

    Raises:
        ValueError: no such release is known.
    """
    numbers = text.split(".")
    if len(text) <= 20 and all(number.isascii() and number.isdigit() for number in numbers):
        release = tuple(map(int, numbers))
        for known in RELEASES:
            if release[: len(known)] == known:
                return known
    names = [".".join(map(str, release)) for release in RELEASES]
    raise ValueError(f"there is no release {text}; there are {', '.join(names)}")


def release_versions(text: str) -> Mapping[int, Versions]:
    """Return the versions that brokers of a release serve; errors as in `find_release`."""
    return RELEASES[find_release(text)]
