"""The levels of features that the cluster finalized, and how each broker shows them.

Sources: Kafka's `FeaturesImage`, `FinalizedFeatures` and `BrokerFeatures`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from broker.config.api_versions import features_release_of
from broker.config.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    METADATA_VERSION,
    Levels,
    default_levels,
    parse_feature_levels,
    supported_levels,
)
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause
from protocol.releases import Release

NO_EPOCH = -1
"""The epoch that brokers with ZooKeeper show, which have no features."""


class FinalizedFeatures:
    """Levels by name; a feature at level 0 is missing. `epoch` counts the records written."""

    __slots__ = ("epoch", "levels")

    def __init__(self, levels: Mapping[str, int]) -> None:
        self.levels = {name: level for name, level in levels.items() if level > 0}
        self.epoch = len(self.levels)

    def level(self, name: str) -> int:
        """Return the finalized level of a feature, 0 if it has none."""
        return self.levels.get(name, 0)

    @property
    def has_eligible_leader_replicas(self) -> bool:
        """Whether eligible.leader.replicas.version is on (KIP-966), by default since Kafka 4.1."""
        return self.level(ELIGIBLE_LEADER_REPLICAS_VERSION) > 0

    def apply(self, levels: Mapping[str, int]) -> None:
        """Finalize levels, one record each; 0 removes a feature."""
        for name, level in levels.items():
            self.epoch += 1
            if level == 0:
                self.levels.pop(name, None)
            else:
                self.levels[name] = level

    @may_pause
    def shown_by(self, release: Release) -> dict[str, int]:
        """Return what brokers of a release list, in Kafka's order.

        A broker that was given another release at run time may know fewer levels.
        """
        supported = supported_levels(release)
        shown = {
            name: min(max(self.level(name), levels.lowest), levels.highest)
            for name, levels in supported.items()
        }
        names = [name for name, level in shown.items() if level > 0 and name != METADATA_VERSION]
        if METADATA_VERSION in shown:
            # Kafka adds it to a copy of the others, which is as small as possible.
            names = in_hash_order([*names, METADATA_VERSION], string_hash, capacity_min=1)
        return {name: shown[name] for name in names}


@may_pause
def supported_by(release: Release, *, with_level_0: bool) -> dict[str, Levels]:
    """Return the features that brokers of a release support, in Kafka's order.

    Clients before ApiVersions v4 cannot read a feature whose lowest level is 0 (KAFKA-17492), so
    `with_level_0` is False for them.
    """
    supported = supported_levels(release)
    return {
        name: supported[name]
        for name in in_hash_order(supported, string_hash)
        if with_level_0 or supported[name].lowest > 0
    }


def features_at_start(
    config: Mapping[str, Any], brokers: Iterable[Mapping[str, Any]]
) -> FinalizedFeatures:
    """Return the levels of a new cluster: those of its oldest broker and `cluster.features`."""
    release = min(map(features_release_of, brokers))
    return FinalizedFeatures(
        default_levels(release) | parse_feature_levels(config["cluster.features"])
    )
