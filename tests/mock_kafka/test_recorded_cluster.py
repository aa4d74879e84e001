"""A cluster starts like the one that was recorded."""

from typing import Any

from mock_kafka import MockKafka, open_admin
from mock_kafka.recorded_cluster import broker_count, loadable, recorded_config

RECORDED: dict[str, Any] = {
    "cluster": {
        "cluster_id": "recorded",
        "brokers": [{"node_id": 4, "rack": "east"}, {"node_id": 5}],
        "release": "3.9",
        "features": {"metadata.version": 20, "kraft.version": 1},
    },
    "acls": [{"principal": "User:ann"}],
}


def test_the_configuration_is_that_of_the_recorded_cluster() -> None:
    assert broker_count(RECORDED) == 2
    assert recorded_config(RECORDED) == {
        "broker.4.broker.rack": "east",
        "node.id": "4",
        "cluster.id": "recorded",
        "broker.api.versions": "3.9",
        "cluster.features": "metadata.version=20",
    }


def test_a_cluster_of_an_unknown_release_has_the_features_of_ours() -> None:
    unknown = {"cluster": {**RECORDED["cluster"], "release": None, "brokers": []}}
    assert recorded_config(unknown) == {"cluster.id": "recorded"}
    assert broker_count(unknown) == 1


def test_another_snapshot_changes_nothing() -> None:
    for snapshot in ({}, {"cluster": None, "acls": [1]}):
        assert (broker_count(snapshot), recorded_config(snapshot)) == (1, {})
        assert loadable(snapshot, has_authorizer=False) == snapshot


def test_access_control_lists_of_a_recording_need_an_authorizer() -> None:
    assert loadable(RECORDED, has_authorizer=True) == RECORDED
    assert loadable(RECORDED, has_authorizer=False) == {**RECORDED, "acls": []}


def test_a_cluster_starts_with_the_recorded_brokers() -> None:
    snapshot = {
        "cluster": RECORDED["cluster"],
        "topics": [{"name": "t", "partitions": [{"replicas": [5, 4]}]}],
    }
    with MockKafka(snapshot=snapshot, config={"cluster.id": "mine"}, in_process=True) as kafka:
        assert kafka.brokers == 2
        assert kafka.topic("t").partitions[0].replicas == (5, 4)
        with open_admin(kafka.bootstrap_servers) as admin:
            found = admin.describe_cluster()
            assert found.cluster_id == "mine"
            assert sorted(found.brokers) == [4, 5]
