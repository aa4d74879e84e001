"""Ordered sets are Python's sets, in the order of their elements' arrival."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.ordered_set import OrderedFrozenSet, OrderedSet

ELEMENTS = st.lists(st.integers(0, 20), max_size=12)
OPERATORS = ("__or__", "__sub__", "__and__", "__xor__", "__ror__", "__rsub__", "__rand__")
METHODS = ("union", "difference", "intersection", "symmetric_difference")
UPDATES = ("update", "difference_update", "intersection_update", "symmetric_difference_update")
KINDS = pytest.mark.parametrize(
    ("ordered", "python_set"), [(OrderedSet, set), (OrderedFrozenSet, frozenset)]
)


@KINDS
@given(ELEMENTS, ELEMENTS)
def test_results_equal_those_of_python(
    ordered: Any, python_set: Any, first: list[int], second: list[int]
) -> None:
    for name in (*OPERATORS, *METHODS):
        result = getattr(ordered(first), name)(python_set(second))
        assert result == getattr(python_set(first), name)(python_set(second))
        assert list(result) == list(dict.fromkeys(list(result)))
    assert sorted(python_set(second) | ordered(first)) == sorted(
        python_set(second) | python_set(first)
    )


@given(ELEMENTS, ELEMENTS)
def test_changes_equal_those_of_python(first: list[int], second: list[int]) -> None:
    for name in UPDATES:
        ordered, python_set = OrderedSet(first), set(first)
        getattr(ordered, name)(second)
        getattr(python_set, name)(second)
        assert sorted(ordered) == sorted(python_set)
        assert ordered == python_set


@KINDS
@given(ELEMENTS)
def test_the_order_is_that_of_arrival(ordered: Any, python_set: Any, elements: list[int]) -> None:
    assert list(ordered(elements)) == list(dict.fromkeys(elements))
    assert list(copy.deepcopy(ordered(elements))) == list(dict.fromkeys(elements))
    assert repr(ordered()) == repr(python_set())


def test_elements_come_and_go() -> None:
    ordered = OrderedSet("cab")
    ordered.add("d")
    ordered.discard("x")
    ordered.remove("c")
    assert list(ordered) == ["a", "b", "d"]
    assert ordered.pop() == "a"
    with pytest.raises(KeyError):
        ordered.remove("a")
    ordered.clear()
    with pytest.raises(KeyError):
        ordered.pop()


def test_every_set_is_an_instance() -> None:
    assert isinstance({1}, OrderedSet)
    assert isinstance(frozenset(), OrderedFrozenSet)
    assert isinstance({1}, tuple | OrderedSet | list)
    assert not isinstance([1], OrderedSet)
