"""The assignor `uniform` for members with different topics."""

from hypothesis import given

from broker.groups.consumer.assignment import partitions_of
from broker.groups.consumer.group_spec import GroupSpec
from broker.groups.consumer.heterogeneous_assignor import assign_heterogeneous
from tests.broker.groups.consumer.assignor_groups import (
    check_complete,
    group_spec,
    group_specs,
    sizes,
    topic,
    with_targets,
)


def test_topics_with_many_partitions_for_each_subscriber_are_assigned_first() -> None:
    # If topic 2 came first, b would have 2 partitions before it takes part in topic 1.
    targets = assign_heterogeneous(group_spec({1: 9, 2: 2}, {"a": [1], "b": [1, 2], "c": [1, 2]}))
    assert sizes(targets) == {"a": 3, "b": 4, "c": 4}


def test_a_target_that_is_balanced_stays() -> None:
    before = {
        "a": {topic(1): frozenset({0, 1})},
        "b": {topic(1): frozenset({2}), topic(2): frozenset({0})},
    }
    group = group_spec({1: 3, 2: 1}, {"a": [1], "b": [1, 2]}, before)
    assert assign_heterogeneous(group) == before


def test_a_member_that_owns_everything_gives_away_until_it_has_one_more_at_most() -> None:
    before = {"a": {topic(1): frozenset(range(7))}}
    group = group_spec({1: 7, 2: 1}, {"a": [1], "b": [1], "c": [2]}, before)
    targets = assign_heterogeneous(group)
    assert sizes(targets) == {"a": 4, "b": 3, "c": 1}
    assert targets["a"][topic(1)] == frozenset(range(4))


def test_members_without_topics_have_empty_targets_and_no_topics_no_targets() -> None:
    assert assign_heterogeneous(group_spec({1: 1}, {"a": [1], "b": []}))["b"] == {}
    assert assign_heterogeneous(group_spec({}, {"a": [], "b": []})) == {}


@given(group=group_specs())
def test_no_single_move_makes_the_numbers_more_equal_and_a_second_run_moves_nothing(
    group: GroupSpec,
) -> None:
    targets = assign_heterogeneous(group)
    check_complete(group, targets)
    count = sizes(targets)
    for owner, target in targets.items():
        for topic_id, _index in partitions_of(target):
            for name, member in group.members.items():
                if topic_id in member.topic_ids:
                    assert count[owner] - count[name] <= 1
    assert assign_heterogeneous(with_targets(group, targets)) == targets
