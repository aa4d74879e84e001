"""Descriptions of groups, of which some or some topics are hidden from the client."""

from types import SimpleNamespace
from typing import Any

from broker.administration.described_groups import (
    HAS_HIDDEN_TOPICS,
    assigned_topics,
    described_groups,
    refuse_hidden_topics,
)
from broker.authorization.checks import DESCRIBE_GROUP
from broker.errors import Refusal
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


def test_denied_groups_come_first_and_the_others_have_the_operations_of_the_client() -> None:
    cluster = make_acl_cluster("READ GROUP a", "DESCRIBE GROUP c", "DESCRIBE TOPIC a")
    context = make_context(ApiKey.CONSUMER_GROUP_DESCRIBE, 1)
    request = SimpleNamespace(group_ids=["a", "b", "c"], include_authorized_operations=True)
    found: list[Any] = described_groups(
        context,
        cluster,
        request,
        lambda group_id: SimpleNamespace(group_id=group_id, error_code=0),
        lambda group_id, refusal: (group_id, refusal),
        lambda group: [] if isinstance(group, tuple) else [group.group_id],
    )
    assert found == [
        ("b", Refusal(DESCRIBE_GROUP.error_code, None)),
        SimpleNamespace(group_id="a", error_code=0, authorized_operations=1 << 3 | 1 << 8),
        ("c", HAS_HIDDEN_TOPICS),
    ]


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
