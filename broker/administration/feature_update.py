"""Check changes of finalized features, and make them all or none.

Sources: Kafka's `FeatureControlManager` and `QuorumFeatures`, of 4.1. Before 4.0 each feature has
its own result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from broker.cluster.cluster import Cluster
from broker.cluster.eligible_leaders import with_common_min_insync_replicas
from broker.config.api_versions import features_release_of
from broker.config.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES,
    FEATURES_ARE_KNOWN_SINCE,
    KRAFT_VERSION,
    METADATA_VERSION,
    NO_LEVELS,
    Levels,
    changes_metadata,
)
from broker.errors import Refusal
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, no_pause, paced, paced_elements
from protocol.releases import Release

_BOOTSTRAP_LEVEL_MIN = 4
"""The level of metadata.version 3.3-IV0, the first one that can store features."""

NAMES_BOTH_LEVELS_SINCE: Release = (4, 2)
"""First release whose error of a downgrade has the level before it."""


class UpgradeType(IntEnum):
    """Whether an update may lower the level, numbered as in UpdateFeatures."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """The level that a feature shall have. `upgrade_type` is as sent, perhaps invalid."""

    name: str
    level: int
    upgrade_type: int


@may_pause
def update_features(
    cluster: Cluster, updates: Sequence[FeatureUpdate], release: Release, *, validate_only: bool
) -> dict[str, Refusal | None]:
    """Change features; return the result of each in the order in which Kafka checks them.

    Of updates of the same feature the last counts. From 4.0 on one refusal refuses all updates and
    is the only result. Before, each feature succeeds or fails alone.

    Args:
        cluster: its features change.
        updates: in request order.
        release: that the broker emulates.
        validate_only: change nothing.
    """
    last_updates = {update.name: update for update in paced_elements(updates)}
    names = in_hash_order(last_updates, string_hash)
    refusals: dict[str, Refusal | None] = dict.fromkeys(paced_elements(names))
    records: dict[str, int] = {}
    refused_names: dict[int, str] = {}
    places: dict[str, int] = {}
    # What is said of an unknown feature does not depend on what other requests change.
    for place, name in enumerate(paced(names)):
        if name in FEATURES:
            places[name] = place
            continue
        refusals[name] = _check(cluster, last_updates[name], {}, release)
        if refusals[name] is None:
            records[name] = last_updates[name].level
        elif not refused_names:
            refused_names[place] = name
    with no_pause():  # the levels that are checked are those that change
        proposed = cluster.features.levels | {name: last_updates[name].level for name in places}
        for name, place in places.items():
            refusals[name] = _check(cluster, last_updates[name], proposed, release)
            if refusals[name] is None:
                records[name] = last_updates[name].level
            else:
                refused_names[place] = name
        if refused_names and release >= FEATURES_ARE_KNOWN_SINCE:
            first = refused_names[min(refused_names)]
            return {first: refusals[first]}
        if not validate_only:
            cluster.features.apply(records)
    if not validate_only and records.get(ELIGIBLE_LEADER_REPLICAS_VERSION):
        cluster.set_config(with_common_min_insync_replicas(cluster.config))
    return refusals


def _check(
    cluster: Cluster, update: FeatureUpdate, proposed: Mapping[str, int], release: Release
) -> Refusal | None:
    problem = _problem(cluster, update, release)
    if problem is None and update.name == METADATA_VERSION:
        return _check_metadata_version(cluster, update, release)
    if problem is None and release >= FEATURES_ARE_KNOWN_SINCE:
        problem = _dependency_problem(cluster, update, proposed, release)
    if problem is None:
        return None
    return Refusal(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.level} for feature {update.name}. {problem}",
    )


def _problem(cluster: Cluster, update: FeatureUpdate, release: Release) -> str | None:
    try:
        upgrade_type = UpgradeType(update.upgrade_type)
    except ValueError:
        upgrade_type = UpgradeType.UNKNOWN
    if upgrade_type is UpgradeType.UNKNOWN:
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    unsupported = _unsupported_by_a_node(cluster, update, release)
    if unsupported is not None:
        return unsupported
    current = cluster.features.level(update.name)
    if update.level < current and upgrade_type is UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either"
            " safe or unsafe downgrade."
        )
    if update.level > current and upgrade_type is not UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    return None


def _unsupported_by_a_node(cluster: Cluster, update: FeatureUpdate, release: Release) -> str | None:
    """Return the first node that lacks the level: the controller, then the brokers.

    The controller supports what is implemented here.
    """
    feature = FEATURES.get(update.name)
    supported = _levels_in(update.name, release)
    if feature is not None:
        highest = min(supported.highest, feature.implemented_max)
        supported = supported._replace(highest=highest)
    nodes = [(f"Local controller {cluster.controller_id}", supported)]
    for node_id in cluster.brokers:
        broker_release = features_release_of(cluster.config.for_broker(node_id))
        nodes.append((f"Broker {node_id}", _levels_in(update.name, broker_release)))
    for node, levels in nodes:
        if not levels.lowest <= update.level <= levels.highest:
            if levels.highest == 0:
                return f"{node} does not support this feature."
            return f"{node} only supports versions {levels.lowest}-{levels.highest}"
    return None


def _levels_in(name: str, release: Release) -> Levels:
    feature = FEATURES.get(name)
    levels = None if feature is None else feature.levels_in(release)
    return NO_LEVELS if levels is None else levels


def _check_metadata_version(
    cluster: Cluster, update: FeatureUpdate, release: Release
) -> Refusal | None:
    current = cluster.features.level(METADATA_VERSION)
    beginning = f"Invalid {METADATA_VERSION} {update.level}"
    if release >= NAMES_BOTH_LEVELS_SINCE:
        beginning = f"Unsupported {METADATA_VERSION} downgrade from {current} to {update.level}"
    if release < FEATURES_ARE_KNOWN_SINCE and update.level < _BOOTSTRAP_LEVEL_MIN:
        problem = "Unable to set a metadata.version less than 3.3-IV0"
    elif update.level >= current or not changes_metadata(update.level, current):
        return None
    elif update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        problem = "Unsafe metadata downgrade is not supported in this version."
    else:
        problem = (
            "Refusing to perform the requested downgrade because it might delete metadata"
            " information."
        )
    return Refusal(ErrorCode.INVALID_UPDATE_VERSION, f"{beginning}. {problem}")


def _dependency_problem(
    cluster: Cluster, update: FeatureUpdate, proposed: Mapping[str, int], release: Release
) -> str | None:
    name, level = update.name, update.level
    feature = FEATURES.get(name)
    if feature is None or feature.levels_in(release) is None:
        return f"Feature {name} not found."
    if name == KRAFT_VERSION and level < cluster.features.level(name):
        return "Can't downgrade the version of this feature."
    if level >= 1 and proposed.get(METADATA_VERSION, 0) < feature.metadata_min:
        return (
            f"{name} could not be set to {level} because it depends on"
            f" {METADATA_VERSION} level {feature.metadata_min}"
        )
    return None
