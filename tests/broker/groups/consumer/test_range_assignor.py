"""The assignor `range`."""

from dataclasses import replace

from hypothesis import given

from broker.groups.consumer.group_spec import GroupSpec
from broker.groups.consumer.range_assignor import assign_ranges
from tests.broker.groups.consumer.assignor_groups import (
    check_complete,
    group_spec,
    group_specs,
    topic,
)


def test_the_first_members_get_one_more_and_the_same_numbers_of_every_topic() -> None:
    targets = assign_ranges(group_spec({1: 3, 2: 3}, {"b": [1, 2], "a": [1, 2]}))
    assert targets == {
        "a": {topic(1): frozenset({0, 1}), topic(2): frozenset({0, 1})},
        "b": {topic(1): frozenset({2}), topic(2): frozenset({2})},
    }


def test_members_that_get_nothing_of_a_topic_do_not_have_it() -> None:
    targets = assign_ranges(group_spec({1: 1}, {"a": [1], "b": [1]}))
    assert targets == {"a": {topic(1): frozenset({0})}, "b": {}}


def test_static_members_come_first_by_instance_id_whatever_their_member_ids_are() -> None:
    group = group_spec({1: 2}, {"a": [1], "z": [1]})
    static = replace(group.members["z"], group_instance_id="i")
    targets = assign_ranges(replace(group, members={**group.members, "z": static}))
    assert targets["z"] == {topic(1): frozenset({0})}


@given(group=group_specs())
def test_every_partition_has_one_subscriber_and_each_owns_a_range(group: GroupSpec) -> None:
    targets = assign_ranges(group)
    check_complete(group, targets)
    for target in targets.values():
        for indexes in target.values():
            assert sorted(indexes) == list(range(min(indexes), max(indexes) + 1))
