"""Which target assignments may be set by hand."""

from uuid import UUID

from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.manual_assignment import assignment_problem
from broker.groups.consumer.member import ConsumerMember
from broker.groups.consumer.regexes import ResolvedRegex
from broker.groups.consumer.topics import NO_TOPICS, NoTopics

T, OTHER = UUID(int=1), UUID(int=2)


class Topics(NoTopics):
    def name_of(self, _topic_id: UUID) -> str | None:
        return {T: "t", OTHER: "other"}.get(_topic_id)


def problem(targets: dict[str, Assignment]) -> str | None:
    group = ConsumerGroup("g")
    group.put_member(ConsumerMember("m", subscribed_topic_names=frozenset({"t"})))
    group.put_member(ConsumerMember("n", subscribed_topic_regex="o.*"))
    group.put_regex("o.*", ResolvedRegex(frozenset({"other"}), 1, 0))
    return assignment_problem(group, targets, Topics())


def test_members_may_have_partitions_of_what_they_subscribe_to_by_name_or_expression() -> None:
    assert problem({}) is None
    assert problem({"m": {T: frozenset({0, 1})}, "n": {OTHER: frozenset({0})}}) is None


def test_a_topic_must_be_subscribed_to() -> None:
    assert problem({"m": {OTHER: frozenset({0})}}) == (
        "member 'm' does not subscribe to topic 'other'"
    )


def test_a_partition_has_one_owner_who_is_a_member() -> None:
    group = ConsumerGroup("g")
    for member_id in ("m", "n"):
        group.put_member(ConsumerMember(member_id, subscribed_topic_names=frozenset({"t"})))
    both: dict[str, Assignment] = {"m": {T: frozenset({0, 2})}, "n": {T: frozenset({1, 2})}}

    assert "both have partition 2 of topic 't'" in (assignment_problem(group, both, Topics()) or "")
    assert assignment_problem(group, {"x": {}}, NO_TOPICS) == "'x' is not a member of group 'g'"
