"""A cluster of ours can be like a recorded one."""

from broker.http_admin.recorded_parts import RecordedBroker, RecordedCluster


def test_ids_release_and_features_are_those_of_the_cluster() -> None:
    cluster = RecordedCluster(
        cluster_id="c",
        brokers=[RecordedBroker(4, "r"), RecordedBroker(5)],
        release="4.1",
        features={"group.version": 1, "kraft.version": 1},
    )
    assert cluster.config == {
        "broker.4.broker.rack": "r",
        "node.id": "4",
        "cluster.id": "c",
        "broker.api.versions": "4.1",
        "cluster.features": "group.version=1",
    }
    assert RecordedCluster().config == {}
