"""The assignor `uniform`."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from broker.groups.consumer.assignment import partitions_of
from broker.groups.consumer.group_spec import GroupSpec
from broker.groups.consumer.uniform_assignor import assign_uniformly
from tests.broker.groups.consumer.assignor_groups import (
    check_complete,
    group_spec,
    group_specs,
    sizes,
    topic,
    with_targets,
)


def test_a_group_without_members_or_topics_has_no_targets() -> None:
    assert assign_uniformly(GroupSpec({}, {}, is_homogeneous=True)) == {}
    assert assign_uniformly(group_spec({}, {"a": []})) == {}


def test_a_member_that_comes_gets_only_what_others_have_too_much() -> None:
    before = {"a": {topic(1): frozenset(range(3))}, "b": {topic(1): frozenset(range(3, 6))}}
    group = group_spec({1: 6}, {"a": [1], "b": [1], "c": [1]}, before)
    targets = assign_uniformly(group)
    assert targets["a"] == {topic(1): frozenset({0, 1})}
    assert targets["b"] == {topic(1): frozenset({3, 4})}
    assert targets["c"] == {topic(1): frozenset({2, 5})}


def test_topics_that_nobody_subscribes_to_any_more_are_taken_away() -> None:
    before = {"a": {topic(1): frozenset({0}), topic(2): frozenset({0})}}
    assert assign_uniformly(group_spec({1: 1}, {"a": [1]}, before)) == {
        "a": {topic(1): frozenset({0})}
    }


def test_members_with_different_topics_are_balanced_too() -> None:
    targets = assign_uniformly(group_spec({1: 4, 2: 2}, {"a": [1], "b": [1, 2]}))
    assert sizes(targets) == {"a": 3, "b": 3}


@given(group=group_specs(is_homogeneous=True), leavers=st.sets(st.sampled_from("abcdefg")))
def test_numbers_differ_by_one_at_most_and_members_that_stay_lose_nothing_they_could_keep(
    group: GroupSpec, leavers: set[str]
) -> None:
    targets = assign_uniformly(group)
    if any(member.topic_ids for member in group.members.values()):
        check_complete(group, targets)
        assert max(sizes(targets).values()) - min(sizes(targets).values()) <= 1
    again = assign_uniformly(with_targets(group, targets))
    assert again == targets

    staying = {name: spec for name, spec in group.members.items() if name not in leavers}
    smaller = with_targets(replace(group, members=staying), targets)
    after = assign_uniformly(smaller)
    for name, member in smaller.members.items():
        assert set(partitions_of(member.target)) <= set(partitions_of(after.get(name, {})))
