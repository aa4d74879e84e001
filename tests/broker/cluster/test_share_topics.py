"""The topics as share groups see them."""

from broker.cluster.share_topics import ShareGroupTopics
from tests.broker.cluster_builder import make_cluster


def test_the_hash_of_topics_changes_with_them() -> None:
    cluster = make_cluster(1)
    topics = ShareGroupTopics(cluster.topics)
    assert topics.metadata_hash(["t"]) == 0
    topic = cluster.create_topic("t", [(1,)], {})

    one = topics.metadata_hash(["t", "missing"])
    cluster.add_partitions(topic, [(1,)])

    assert topics.metadata_hash(["t"]) not in {0, one}
    found = topics.get("t")
    assert found is not None
    assert (found.topic_id, found.partition_count) == (topic.topic_id, 2)
    assert topics.name_of(topic.topic_id) == "t"
    cluster.delete_topic(topic, 0)
    assert topics.get("t") is None
    assert topics.name_of(topic.topic_id) is None
