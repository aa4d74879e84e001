"""Descriptions of groups whose topics are hidden from the client."""

from types import SimpleNamespace
from typing import Any

from broker.administration.described_groups import assigned_topics, refuse_hidden_topics
from protocol.api_keys import ApiKey
from tests.broker.acl_cluster import make_acl_cluster, noted
from tests.broker.cluster_builder import make_cluster, make_context

GROUPS = [("a", ["t", "u"]), ("b", ["u"]), ("c", ["t"]), ("d", [])]


def refused(group: tuple[str, list[str]]) -> tuple[str, list[str]]:
    return group[0], ["hidden"]


def test_groups_with_a_topic_that_may_not_be_described_are_refused() -> None:
    cluster = make_acl_cluster("DESCRIBE TOPIC u")
    context = make_context(ApiKey.CONSUMER_GROUP_DESCRIBE, 1)
    found = refuse_hidden_topics(context, cluster, GROUPS, lambda group: group[1], refused)
    assert found == [("a", ["hidden"]), ("b", ["u"]), ("c", ["hidden"]), ("d", [])]
    # Each topic is asked about once, whatever the number of groups.
    assert noted(context) == ["DESCRIBE TOPIC t"]


def test_without_an_authorizer_no_group_is_looked_at() -> None:
    def topic_names(_group: Any) -> list[str]:
        raise AssertionError

    context = make_context(ApiKey.CONSUMER_GROUP_DESCRIBE, 1)
    found = refuse_hidden_topics(context, make_cluster(1), GROUPS, topic_names, refused)
    assert found is GROUPS


def test_the_topics_of_a_group_are_those_of_current_and_target_assignments() -> None:
    def assignment(*names: str) -> Any:
        topics = [SimpleNamespace(topic_name=name) for name in names]
        return SimpleNamespace(topic_partitions=topics)

    consumer = SimpleNamespace(assignment=assignment("a"), target_assignment=assignment("a", "b"))
    share = SimpleNamespace(assignment=assignment("c"))
    group = SimpleNamespace(members=[consumer, share])
    assert list(assigned_topics(group)) == ["a", "a", "b", "c"]
