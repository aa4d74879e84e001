"""The API versions that the brokers of each Kafka release serve.

The tables are those of kafka-python, which recorded them from brokers of these releases, before
4.0 with ZooKeeper. From 3.6 on ours are those of a broker with KRaft.
"""

from collections.abc import Mapping

from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from protocol.api_keys import ApiKey

Release = tuple[int, ...]
Versions = tuple[int, int]
"""Lowest and highest, inclusive."""

OLDEST_RELEASE: Release = (0, 11)
"""Older brokers don't know record batches (message format v2)."""

DEFAULT_RELEASE: Release = (4, 1)

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


RELEASES: Mapping[Release, Mapping[int, Versions]] = {
    release: _with_kraft(release, versions) if release >= KRAFT_SINCE else versions
    for release, versions in sorted(BROKER_API_VERSIONS.items())
    if release >= OLDEST_RELEASE
}
"""Served API versions by API key, by release, the oldest release first."""


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
