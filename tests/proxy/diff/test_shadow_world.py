"""Our broker with the configuration of a cluster."""

from broker.http_admin.recorded_parts import RecordedBroker, RecordedCluster
from broker.http_admin.snapshot_document import Snapshot
from proxy.diff.shadow_world import RealWorld, shadow_config


def test_the_configuration_is_that_of_the_cluster_without_what_belongs_to_a_machine() -> None:
    cluster = RecordedCluster(brokers=[RecordedBroker(4)], release="4.1")
    given = {
        "num.partitions": "7",
        "log.dirs": "/data",
        "listeners": "PLAINTEXT://:1",
        "authorizer.class.name": "com.example.Authorizer",
        "a.key.of.a.plugin": "1",
    }
    config = shadow_config(RealWorld(Snapshot(cluster=cluster), None, given, ()))
    assert (config["num.partitions"], config["node.id"]) == (7, 4)
    assert "listeners" not in config.overrides
    assert "log.dirs" not in config.overrides
    assert not config["journal.enable"]
