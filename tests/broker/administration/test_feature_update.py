"""Changes of features, with the messages that Apache Kafka 4.4.0, 4.1.0 and 3.9.1 sent."""

from dataclasses import replace

import pytest

from broker.administration.feature_update import FeatureUpdate, UpgradeType, update_features
from broker.cluster.cluster import Cluster
from broker.config.api_versions import features_release_of, release_of
from broker.config.features import FEATURES
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import make_cluster
from tests.broker.interleaving import at_pause, run_with_pauses

_, UPGRADE, SAFE, UNSAFE = UpgradeType
NEEDS_DOWNGRADE = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or"
    " unsafe downgrade."
)
REFUSING = (
    "Refusing to perform the requested downgrade because it might delete metadata information."
)
NOT_SUPPORTED = "Local controller 1 does not support this feature."


@pytest.fixture(autouse=True)
def all_are_implemented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Implement every level, so that all of Kafka's checks can be seen."""
    for name, feature in list(FEATURES.items()):
        monkeypatch.setitem(FEATURES, name, replace(feature, implemented_max=99))


def update(
    cluster: Cluster, *updates: tuple[str, int, int], validate_only: bool = False
) -> dict[str, str | None]:
    """Return the error messages by feature."""
    results = update_features(
        cluster,
        [FeatureUpdate(*u) for u in updates],
        release_of(cluster.config),
        validate_only=validate_only,
    )
    for refusal in results.values():
        assert refusal is None or refusal.error_code is ErrorCode.INVALID_UPDATE_VERSION
    return {name: refusal.message if refusal else None for name, refusal in results.items()}


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type", "problem"),
    [
        ("nope", 1, UPGRADE, NOT_SUPPORTED),
        ("nope", 0, SAFE, "Feature nope not found."),
        ("nope", -1, UPGRADE, "A feature version cannot be less than 0."),
        ("group.version", 0, UPGRADE, NEEDS_DOWNGRADE),
        ("group.version", 2, UPGRADE, "Local controller 1 only supports versions 0-1"),
        ("group.version", 0, 0, "The controller does not support the given upgrade type."),
        ("group.version", 0, 9, "The controller does not support the given upgrade type."),
        ("kraft.version", 1, SAFE, "Can't downgrade to a newer version."),
        ("metadata.version", 6, UNSAFE, "Local controller 1 only supports versions 7-33"),
        ("metadata.version", 34, UPGRADE, "Local controller 1 only supports versions 7-33"),
        ("streams.version", 2, UPGRADE, "Local controller 1 only supports versions 0-1"),
    ],
)
def test_an_impossible_level_is_refused_with_its_reason(
    name: str, level: int, upgrade_type: int, problem: str
) -> None:
    cluster = make_cluster(1)
    before = dict(cluster.features.levels)
    found = update(cluster, (name, level, upgrade_type))
    assert found == {name: f"Invalid update version {level} for feature {name}. {problem}"}
    assert cluster.features.levels == before


@pytest.mark.parametrize(
    ("upgrade_type", "problem"),
    [
        (SAFE, REFUSING),
        (UNSAFE, "Unsafe metadata downgrade is not supported in this version."),
    ],
)
def test_a_downgrade_that_would_lose_metadata_is_refused(upgrade_type: int, problem: str) -> None:
    found = update(make_cluster(1), ("metadata.version", 32, upgrade_type))
    assert found == {
        "metadata.version": f"Unsupported metadata.version downgrade from 33 to 32. {problem}"
    }
    before_4_2 = make_cluster(1, **{"broker.api.versions": "4.1"})
    found = update(before_4_2, ("metadata.version", 22, upgrade_type))
    assert found == {"metadata.version": f"Invalid metadata.version 22. {problem}"}


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type", "after"),
    [
        ("metadata.version", 23, SAFE, 23),
        ("metadata.version", 33, UPGRADE, 33),
        ("group.version", 0, SAFE, 0),
        ("group.version", 1, SAFE, 1),
        ("transaction.version", 1, UNSAFE, 1),
        ("share.version", 1, SAFE, 1),
        ("streams.version", 1, UPGRADE, 1),
        ("kraft.version", 1, UPGRADE, 1),
    ],
)
def test_a_possible_level_is_finalized(
    name: str, level: int, upgrade_type: int, after: int
) -> None:
    cluster = make_cluster(1, **{"cluster.features": "metadata.version=27"})
    epoch = cluster.features.epoch
    assert update(cluster, (name, level, upgrade_type), validate_only=True) == {name: None}
    assert cluster.features.epoch == epoch
    assert update(cluster, (name, level, upgrade_type)) == {name: None}
    assert (cluster.features.level(name), cluster.features.epoch) == (after, epoch + 1)


def test_kraft_version_cannot_be_downgraded() -> None:
    cluster = make_cluster(1)
    update(cluster, ("kraft.version", 1, UPGRADE))
    assert (update(cluster, ("kraft.version", 0, UNSAFE))["kraft.version"] or "").endswith(
        "Can't downgrade the version of this feature."
    )


def test_a_feature_needs_its_metadata_version() -> None:
    cluster = make_cluster(1, **{"cluster.features": "metadata.version=22"})
    name = "eligible.leader.replicas.version"
    cluster.features.apply({name: 0})
    problem = f"{name} could not be set to 1 because it depends on metadata.version level 23"
    assert (update(cluster, (name, 1, UPGRADE))[name] or "").endswith(problem)
    both = update(cluster, (name, 1, UPGRADE), ("metadata.version", 23, UPGRADE))
    assert set(both.values()) == {None}


def test_one_refusal_refuses_all_and_is_that_of_the_first_in_kafkas_order() -> None:
    cluster = make_cluster(1)
    before = dict(cluster.features.levels)
    updates = [("eligible.leader.replicas.version", 2, UPGRADE), ("group.version", 3, UPGRADE)]
    found = update(cluster, *updates, ("metadata.version", 23, SAFE))
    assert list(found) == ["group.version"]
    assert cluster.features.levels == before


def test_the_last_update_of_a_feature_counts() -> None:
    cluster = make_cluster(1)
    update(cluster, ("group.version", 0, SAFE), ("group.version", 1, UPGRADE))
    assert cluster.features.level("group.version") == 1


def test_a_level_must_be_supported_by_every_broker() -> None:
    cluster = make_cluster(2, **{"broker.2.broker.api.versions": "3.9"})
    assert update(cluster, ("metadata.version", 25, UPGRADE)) == {
        "metadata.version": (
            "Invalid update version 25 for feature metadata.version."
            " Broker 2 only supports versions 1-21"
        )
    }


def test_before_4_0_each_feature_succeeds_or_fails_alone() -> None:
    cluster = make_cluster(1, **{"broker.api.versions": "3.9"})
    updates = [("transaction.version", 1, SAFE), ("nope", 0, UPGRADE)]
    found = update(cluster, *updates, ("metadata.version", 20, SAFE))
    assert found == {
        "nope": None,
        "metadata.version": None,
        "transaction.version": (
            f"Invalid update version 1 for feature transaction.version. {NOT_SUPPORTED}"
        ),
    }
    assert cluster.features.level("metadata.version") == 20
    assert update(cluster, ("metadata.version", 3, UNSAFE)) == {
        "metadata.version": (
            "Invalid metadata.version 3. Unable to set a metadata.version less than 3.3-IV0"
        )
    }


def test_a_level_that_is_not_implemented_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "share.version"
    monkeypatch.setitem(FEATURES, name, replace(FEATURES[name], implemented_max=0))
    found = update(make_cluster(1), (name, 1, UPGRADE))
    assert found == {name: f"Invalid update version 1 for feature {name}. {NOT_SUPPORTED}"}


def test_eligible_leader_replicas_take_min_insync_replicas_from_single_brokers() -> None:
    key = "min.insync.replicas"
    off = {"cluster.features": "eligible.leader.replicas.version=0", key: "2"}
    cluster = make_cluster(**off)
    cluster.set_config(cluster.config.with_dynamic(1, {key: "3", "log.cleaner.threads": "2"}))

    assert update(cluster, ("eligible.leader.replicas.version", 1, UPGRADE)) == {
        "eligible.leader.replicas.version": None
    }

    assert cluster.config.dynamic_layer(None) == {key: "2"}
    assert cluster.config.dynamic_layer(1) == {"log.cleaner.threads": "2"}


def test_levels_are_checked_and_changed_without_a_pause_between() -> None:
    cluster = make_cluster(1, **{"broker.api.versions": "3.9"})
    updates = [("kraft.version", 0, UPGRADE), *((f"u-{number}", 0, SAFE) for number in range(9))]
    pauses: list[None] = []
    run_with_pauses(lambda: update(cluster, *updates), lambda: pauses.append(None))

    results = run_with_pauses(
        lambda: update(cluster, *updates),
        at_pause(len(pauses), lambda: update(cluster, ("kraft.version", 1, UPGRADE))),
    )

    assert results["kraft.version"] is not None
    assert cluster.features.level("kraft.version") == 1


def test_every_node_has_to_know_an_unstable_level() -> None:
    key = "unstable.feature.versions.enable"
    upgrade = FeatureUpdate("metadata.version", 34, UPGRADE)
    for overrides, problem in (
        ({key: "true", "cluster.features": "metadata.version=33"}, None),
        ({f"broker.1.{key}": "true"}, "Broker 2 only supports versions 7-33"),
    ):
        cluster = make_cluster(2, **overrides)
        release = features_release_of(cluster.config.for_broker(1))
        (refusal,) = update_features(cluster, [upgrade], release, validate_only=False).values()
        assert (refusal is None) == (problem is None)
        assert refusal is None or (refusal.message or "").endswith(problem or "")
        assert cluster.features.level("metadata.version") == (33 if refusal else 34)
