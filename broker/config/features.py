# ruff: noqa: E501
"""The features that a cluster can finalize (KIP-584), and their levels in each Kafka release.

A broker lists the levels that its release supports, and the level that the cluster finalized.
Clients and tools rely on a finalized level, so a level above `implemented_max` is never finalized:
raise the number in the row of a feature when the broker implements it.

Sources: Kafka's `Feature`, `MetadataVersion` and `QuorumFeatures`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from protocol.releases import Release
from protocol.suggestions import did_you_mean

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
TRANSACTION_VERSION = "transaction.version"
SHARE_VERSION = "share.version"
GROUP_VERSION = "group.version"
STREAMS_VERSION = "streams.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"

FEATURES_ARE_KNOWN_SINCE: Release = (4, 0)
"""First release whose controller refuses every unknown feature, also at level 0."""


class Levels(NamedTuple):
    """The levels of a feature in a release: supported ones, and that of a new cluster."""

    lowest: int
    highest: int
    default: int


NO_LEVELS = Levels(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature. `implemented_max` is the highest level that this broker acts on.

    `levels` are by the first release that has them; (4, 4, 1) is 4.4 with
    `unstable.feature.versions.enable`. `metadata_min` is the metadata.version that a
    level above 0 needs.
    """

    name: str
    implemented_max: int
    levels: Mapping[Release, Levels]
    metadata_min: int = 7

    def levels_in(self, release: Release) -> Levels | None:
        """Return the levels that a release knows; None before the feature's first release."""
        newest = max((since for since in self.levels if since <= release), default=None)
        return None if newest is None else self.levels[newest]


# fmt: off
FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        #       name                                implemented
        Feature(METADATA_VERSION,                   99, {(3, 6): Levels(1, 14, 14), (3, 7): Levels(1, 19, 19), (3, 8): Levels(1, 20, 20), (3, 9): Levels(1, 21, 21), (4, 0): Levels(7, 25, 25), (4, 1): Levels(7, 27, 27), (4, 2): Levels(7, 29, 29), (4, 3): Levels(7, 30, 30), (4, 4): Levels(7, 33, 33), (4, 4, 1): Levels(7, 34, 34)}),
        Feature(KRAFT_VERSION,                      0,  {(3, 9): Levels(0, 1, 0)}),
        Feature(TRANSACTION_VERSION,                2,  {(4, 0): Levels(0, 2, 2)}),
        Feature(GROUP_VERSION,                      1,  {(4, 0): Levels(0, 1, 1)}),
        Feature(ELIGIBLE_LEADER_REPLICAS_VERSION,   1,  {(4, 0): Levels(0, 1, 0), (4, 1): Levels(0, 1, 1)}, metadata_min=23),
        Feature(SHARE_VERSION,                      2,  {(4, 1): Levels(0, 1, 0), (4, 2): Levels(0, 1, 1), (4, 4): Levels(0, 2, 2)}),
        Feature(STREAMS_VERSION,                    1,  {(4, 1): Levels(0, 0, 0), (4, 2): Levels(0, 1, 1)}),
    )
}
# fmt: on

# Levels of metadata.version whose records the level before lacks; a downgrade below one would
# lose metadata.
_METADATA_CHANGES = frozenset({1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33})


def changes_metadata(level: int, other_level: int) -> bool:
    """Return whether two levels of metadata.version differ in their records."""
    low, high = sorted((level, other_level))
    return any(low < changed <= high for changed in _METADATA_CHANGES)


def supported_levels(release: Release) -> dict[str, Levels]:
    """Return the features that brokers of a release list, in the order of the table."""
    found = {name: feature.levels_in(release) for name, feature in FEATURES.items()}
    return {name: levels for name, levels in found.items() if levels and levels.highest > 0}


def default_levels(release: Release) -> dict[str, int]:
    """Return the finalized levels of a new cluster of a release, without those at 0."""
    levels = {
        name: min(supported.default, FEATURES[name].implemented_max)
        for name, supported in supported_levels(release).items()
    }
    return {name: level for name, level in levels.items() if level > 0}


def parse_feature_levels(elements: tuple[str, ...]) -> dict[str, int]:
    """Return the levels of a valid value of `cluster.features`: `NAME=LEVEL,...`."""
    pairs = (element.split("=") for element in elements)
    return {name.strip(): int(level) for name, level in pairs}


def feature_levels_problem(elements: tuple[str, ...]) -> str | None:
    """Return why a value of `cluster.features` is invalid in every release, or None."""
    for element in elements:
        name, _, level = (part.strip() for part in element.partition("="))
        if name not in FEATURES:
            return f"there is no feature {name}{did_you_mean(name, FEATURES)}"
        if not (level.isascii() and level.isdigit() and len(level) <= 5):
            return f"{element}: must be NAME=LEVEL"
    return None


def release_problem(elements: tuple[str, ...], release: Release) -> str | None:
    """Return why a cluster of a release cannot start with these levels, or None."""
    for name, level in parse_feature_levels(elements).items():
        supported = FEATURES[name].levels_in(release) or NO_LEVELS
        highest = min(supported.highest, FEATURES[name].implemented_max)
        if not supported.lowest <= level <= highest:
            return f"{name}={level}: must be between {supported.lowest} and {highest}"
    return None
