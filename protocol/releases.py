"""The API versions that the brokers of each Kafka release serve.

The tables are those of kafka-python, which recorded them from brokers of these releases, before
4.0 with ZooKeeper. From 3.6 on ours are those of a broker with KRaft. The default release is later
than its tables; its own is here, so that a broker of this release starts without the module of the
others.
"""

from collections.abc import Mapping
from functools import cache

from protocol.api_keys import ApiKey

Release = tuple[int, ...]
Versions = tuple[int, int]
"""Lowest and highest, inclusive."""

OLDEST_RELEASE: Release = (0, 11)
"""Older brokers don't know record batches (message format v2)."""

DEFAULT_RELEASE: Release = (4, 4)

# fmt: off
DEFAULT_VERSIONS: Mapping[int, Versions] = {
    0: (0, 13), 1: (4, 18), 2: (1, 11), 3: (0, 13), 8: (2, 10), 9: (1, 10), 10: (0, 6), 11: (0, 9),
    12: (0, 4), 13: (0, 5), 14: (0, 5), 15: (0, 6), 16: (0, 5), 17: (0, 1), 18: (0, 5), 19: (2, 7),
    20: (1, 6), 21: (0, 2), 22: (0, 5), 23: (2, 4), 24: (0, 5), 25: (0, 4), 26: (0, 5), 27: (1, 2),
    28: (0, 6), 29: (1, 3), 30: (1, 3), 31: (1, 3), 32: (1, 4), 33: (0, 2), 34: (1, 2), 35: (1, 5),
    36: (0, 2), 37: (0, 3), 38: (1, 3), 39: (1, 2), 40: (1, 2), 41: (1, 3), 42: (0, 3), 43: (0, 2),
    44: (0, 1), 45: (0, 1), 46: (0, 0), 47: (0, 0), 48: (0, 1), 49: (0, 1), 50: (0, 0), 51: (0, 0),
    55: (0, 2), 57: (0, 2), 60: (0, 2), 61: (0, 0), 64: (0, 0), 65: (0, 0), 66: (0, 2), 68: (0, 1),
    69: (0, 1), 74: (0, 1), 75: (0, 0), 76: (1, 1), 77: (1, 1), 78: (1, 2), 79: (1, 2), 80: (0, 1),
    81: (0, 0), 83: (0, 0), 84: (0, 0), 85: (0, 1), 86: (0, 0), 87: (0, 1), 88: (0, 1), 89: (0, 1),
    90: (0, 1), 91: (0, 0), 92: (0, 0), 93: (0, 0), 94: (0, 0), 71: (0, 0), 72: (0, 0),
}
# fmt: on
"""The versions of the default release. Source: the message files of Kafka 4.4.0."""

KRAFT_SINCE: Release = (3, 6)
"""First release whose brokers are taken to run with KRaft; it knows SCRAM and delegation tokens."""

_ZOOKEEPER_APIS = frozenset({4, 5, 6, 7, 56, 58, 67})
"""APIs among brokers, which brokers with KRaft don't serve to clients."""

# What brokers with KRaft serve and kafka-python's tables lack, from each release on. Source: the
# `listeners` of Kafka's message files.
_KRAFT_APIS: Mapping[int, tuple[tuple[Release, Versions], ...]] = {
    ApiKey.DESCRIBE_QUORUM: (((3, 9), (0, 2)), ((3, 6), (0, 1))),
    ApiKey.UNREGISTER_BROKER: (((3, 6), (0, 0)),),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: (((3, 7), (0, 0)),),
    ApiKey.PUSH_TELEMETRY: (((3, 7), (0, 0)),),
    ApiKey.LIST_CONFIG_RESOURCES: (((3, 7), (0, 0)),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (((3, 8), (0, 0)),),
    ApiKey.ADD_RAFT_VOTER: (((3, 9), (0, 0)),),
    ApiKey.REMOVE_RAFT_VOTER: (((3, 9), (0, 0)),),
}

UNADVERTISED_APIS = frozenset({ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY})
"""APIs that a broker serves, but advertises only with a receiver of client metrics (KIP-714)."""


def _with_kraft(release: Release, versions: Mapping[int, Versions]) -> dict[int, Versions]:
    served = {key: span for key, span in versions.items() if key not in _ZOOKEEPER_APIS}
    for api_key, spans in _KRAFT_APIS.items():
        for since, span in spans:
            if release >= since:
                served.setdefault(int(api_key), span)
                break
    return served


@cache
def releases() -> Mapping[Release, Mapping[int, Versions]]:
    """Return the served API versions by API key, by release, the oldest release first."""
    # This imports the schemas of most messages, which takes longer than the start of a broker.
    from kafka.protocol.broker_version_data import BROKER_API_VERSIONS  # noqa: PLC0415

    recorded = {**BROKER_API_VERSIONS, DEFAULT_RELEASE: DEFAULT_VERSIONS}
    return {
        release: _with_kraft(release, versions) if release >= KRAFT_SINCE else versions
        for release, versions in sorted(recorded.items())
        if release >= OLDEST_RELEASE
    }


def versions_of(release: Release) -> Mapping[int, Versions]:
    """Return the versions that brokers of a known release serve, by API key."""
    return DEFAULT_VERSIONS if release == DEFAULT_RELEASE else releases()[release]


def find_release(text: str) -> Release:
    """Return the known release of a version number; `2.8.1` belongs to `2.8`.

    Raises:
        ValueError: no such release is known.
    """
    numbers = text.split(".")
    if len(text) <= 20 and all(number.isascii() and number.isdigit() for number in numbers):
        release = tuple(map(int, numbers))
        if release[: len(DEFAULT_RELEASE)] == DEFAULT_RELEASE:
            return DEFAULT_RELEASE
        for known in releases():
            if release[: len(known)] == known:
                return known
    names = [".".join(map(str, release)) for release in releases()]
    raise ValueError(f"there is no release {text}; there are {', '.join(names)}")


def release_versions(text: str) -> Mapping[int, Versions]:
    """Return the versions that brokers of a release serve; errors as in `find_release`."""
    return versions_of(find_release(text))
