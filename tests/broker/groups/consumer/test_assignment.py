"""Partitions by topic."""

from uuid import UUID

from broker.groups.consumer.assignment import (
    NO_PARTITIONS,
    assignment_of,
    is_subset,
    no_partitions,
    overlaps,
    partitions_of,
)

ONE, TWO = UUID(int=1), UUID(int=2)


def test_a_topic_that_occurs_twice_has_the_partitions_of_both_and_an_empty_one_is_left_out() -> (
    None
):
    assert assignment_of([(ONE, [0]), (TWO, []), (ONE, [2])]) == {ONE: frozenset({0, 2})}


def test_partitions_are_listed_one_by_one() -> None:
    listed = set(partitions_of({ONE: frozenset({0, 1}), TWO: frozenset({0})}))
    assert listed == {(ONE, 0), (ONE, 1), (TWO, 0)}


def test_nothing_is_a_subset_of_everything_and_a_partition_of_another_topic_is_none() -> None:
    some = {ONE: frozenset({0, 1})}
    assert is_subset(NO_PARTITIONS, some)
    assert is_subset({ONE: frozenset({1})}, some)
    assert not is_subset({TWO: frozenset({1})}, some)


def test_assignments_overlap_only_in_the_same_topic() -> None:
    some = {ONE: frozenset({0, 1})}
    assert overlaps(some, {ONE: frozenset({1, 2})})
    assert not overlaps(some, {TWO: frozenset({0})})
    assert not overlaps(some, no_partitions())
