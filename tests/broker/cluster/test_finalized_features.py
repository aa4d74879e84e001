"""Finalized features: where a cluster starts, and what its brokers show."""

from broker.cluster.finalized_features import FinalizedFeatures, features_at_start, supported_by
from broker.config.broker_config import BrokerConfig


def start(**overrides: str) -> FinalizedFeatures:
    config = BrokerConfig.from_overrides(
        {name.replace("__", "."): value for name, value in overrides.items()}
    )
    return features_at_start(config, map(config.for_broker, (1, 2)))


def test_a_cluster_starts_with_the_metadata_version_of_its_release() -> None:
    assert start().levels["metadata.version"] == 33
    assert start(broker__api__versions="3.9").levels == {"metadata.version": 21}
    assert start(broker__api__versions="2.8").levels == {}


def test_a_cluster_starts_with_the_levels_of_its_oldest_broker() -> None:
    assert start(**{"broker.2.broker.api.versions": "3.9"}).levels == {"metadata.version": 21}


def test_levels_at_the_start_can_be_set() -> None:
    assert start(cluster__features="metadata.version=23").levels["metadata.version"] == 23


def test_a_cluster_with_unstable_levels_starts_with_the_newest() -> None:
    assert start(unstable__feature__versions__enable="true").levels["metadata.version"] == 34
    older = start(
        unstable__feature__versions__enable="true", cluster__features="metadata.version=33"
    )
    assert older.levels["metadata.version"] == 33


def test_level_0_removes_a_feature_and_each_record_has_its_epoch() -> None:
    features = FinalizedFeatures({"metadata.version": 27, "group.version": 1, "kraft.version": 0})
    assert (features.levels, features.epoch) == ({"metadata.version": 27, "group.version": 1}, 2)
    features.apply({"group.version": 0, "metadata.version": 25})
    assert (features.levels, features.epoch) == ({"metadata.version": 25}, 4)
    assert features.level("group.version") == 0


def test_features_are_shown_in_kafkas_order() -> None:
    levels = {"metadata.version": 27, "eligible.leader.replicas.version": 1}
    levels |= {"transaction.version": 2, "group.version": 1}
    assert list(FinalizedFeatures(levels).shown_by((4, 1)).items()) == [
        ("group.version", 1),
        ("transaction.version", 2),
        ("eligible.leader.replicas.version", 1),
        ("metadata.version", 27),
    ]


def test_a_broker_shows_only_levels_that_its_release_supports() -> None:
    features = FinalizedFeatures({"metadata.version": 27, "group.version": 1})
    assert features.shown_by((3, 9)) == {"metadata.version": 21}
    assert features.shown_by((3, 5)) == {}
    assert FinalizedFeatures({}).shown_by((4, 1)) == {"metadata.version": 7}


def test_old_clients_do_not_see_features_whose_lowest_level_is_0() -> None:
    assert list(supported_by((4, 1), with_level_0=False)) == ["metadata.version"]
    assert list(supported_by((4, 0), with_level_0=True)) == [
        "group.version",
        "kraft.version",
        "metadata.version",
        "transaction.version",
        "eligible.leader.replicas.version",
    ]
