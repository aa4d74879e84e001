"""The simple assignor."""

from collections.abc import Mapping
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from broker.groups.consumer.assignment import Assignment
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.simple_assignor import assign_simply

ONE, TWO = UUID(int=1), UUID(int=2)


def partitions_of(*topics: tuple[UUID, int]) -> list[TopicIdPartition]:
    return [TopicIdPartition(topic, index) for topic, count in topics for index in range(count)]


def pairs(assignment: Assignment) -> set[tuple[UUID, int]]:
    return {(topic, index) for topic, indexes in assignment.items() for index in indexes}


def covered(assigned: Mapping[str, Assignment]) -> set[tuple[UUID, int]]:
    return set().union(*map(pairs, assigned.values()))


def test_members_share_the_partition_of_a_topic_that_has_one() -> None:
    subscribed = partitions_of((ONE, 1))

    assigned = assign_simply({"a": subscribed, "b": subscribed, "c": subscribed}, {})

    assert [pairs(one) for one in assigned.values()] == [{(ONE, 0)}] * 3


def test_nothing_is_assigned_before_the_state_of_a_partition_exists() -> None:
    assert assign_simply({"a": [], "b": []}, {}) == {"a": {}, "b": {}}


MEMBERS = st.sets(st.text(min_size=1, max_size=8), min_size=1, max_size=8).map(sorted)


@given(MEMBERS, MEMBERS, st.integers(1, 12))
def test_every_partition_has_a_member_and_no_member_far_too_many(
    first: list[str], second: list[str], partition_count: int
) -> None:
    subscribed = partitions_of((ONE, partition_count))
    before = assign_simply(dict.fromkeys(first, subscribed), {})

    assigned = assign_simply(dict.fromkeys(second, subscribed), before)

    assert covered(assigned) == set(subscribed)
    fair = -(-partition_count // len(second))
    assert all(1 <= len(pairs(one)) <= fair + 1 for one in assigned.values())


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.sampled_from([1, 2, 3]), min_size=1))
def test_members_get_only_topics_that_they_subscribe_to(topics: dict[str, int]) -> None:
    every = {1: [(ONE, 3)], 2: [(TWO, 4)], 3: [(ONE, 3), (TWO, 4)]}
    subscribed = {member: partitions_of(*every[kind]) for member, kind in topics.items()}

    before = assign_simply(subscribed, {})
    assigned = assign_simply(subscribed, before)

    for member, one in assigned.items():
        assert pairs(one) <= set(subscribed[member])
    assert covered(assigned) == set().union(*map(set, subscribed.values()))


def test_a_topic_that_is_no_longer_subscribed_to_is_not_kept() -> None:
    before = assign_simply({"a": partitions_of((ONE, 2), (TWO, 2))}, {})

    assigned = assign_simply({"a": partitions_of((TWO, 2))}, before)

    assert covered(assigned) == {(TWO, 0), (TWO, 1)}
