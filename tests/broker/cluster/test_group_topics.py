"""What groups know about topics."""

from broker.cluster.cluster import Cluster
from broker.cluster.group_topics import GroupTopics
from tests.broker.groups.group_cluster import GroupCluster


def topics_of(cluster: Cluster) -> GroupTopics:
    return GroupTopics(cluster.topics, lambda: cluster.brokers)


def test_a_topic_has_its_id_partitions_and_name() -> None:
    cluster = GroupCluster()
    topics = topics_of(cluster.cluster)
    metadata = topics.get("t")
    assert metadata is not None
    assert (metadata.topic_id, metadata.partition_count) == (cluster.topic.topic_id, 2)
    assert topics.name_of(metadata.topic_id) == "t"
    assert topics.get("missing") is None
    assert topics.name_of(cluster.cluster.new_uuid()) is None
    assert "t" in topics.names()


def test_a_topic_is_read_again_after_it_has_changed() -> None:
    cluster = GroupCluster()
    topics = topics_of(cluster.cluster)
    before = topics.get("t")
    cluster.cluster.brokers[1].rack = "r"
    assert topics.get("t") is before
    topics.forget("t")
    after = topics.get("t")
    assert before is not None
    assert after is not None
    assert after.metadata_hash != before.metadata_hash
