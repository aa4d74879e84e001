"""Topics that the broker creates for a client."""

from broker.administration.automatic_topics import create_automatically
from broker.administration.new_topic import NewTopic
from broker.errors import Refusal
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GroupCluster


def create(cluster: GroupCluster, topic: NewTopic) -> Refusal | None:
    context = cluster.context(ApiKey.METADATA, 1)
    return create_automatically(context, cluster.cluster, topic, set())


def test_a_topic_is_created_with_its_configuration() -> None:
    cluster = GroupCluster()
    topic = NewTopic("new", 3, 2, overrides={"cleanup.policy": "compact"})
    assert create(cluster, topic) is None
    created = cluster.cluster.topics.get("new")
    assert created is not None
    assert [len(partition.replicas) for partition in created.partitions] == [2, 2, 2]
    assert created.config["cleanup.policy"] == ("compact",)


def test_the_error_of_createtopics_says_why_not() -> None:
    cluster = GroupCluster()
    refusal = create(cluster, NewTopic("t"))
    assert refusal is not None
    assert refusal.error_code is ErrorCode.TOPIC_ALREADY_EXISTS


def test_the_controller_creates_it_when_its_time_has_come() -> None:
    cluster = GroupCluster(controller_mutation_time_us="1000")
    assert create(cluster, NewTopic("new", 2, 1)) is None
    assert create(cluster, NewTopic("new", 2, 1)) is None
    assert cluster.cluster.topics.get("new") is None
    cluster.cluster.timers.run_due(cluster.now_ms + 2)
    assert cluster.cluster.topics.get("new") is not None
