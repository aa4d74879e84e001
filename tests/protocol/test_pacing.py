"""Loops pause when a request takes turns, and are plain loops otherwise."""

import pytest

from protocol.pacing import (
    LOOK_EVERY,
    PauseError,
    may_pause,
    no_pause,
    paced,
    paced_elements,
    paced_range,
    paced_stream,
)
from tests.protocol.counting_turn import pauses_of


def test_every_loop_gives_all_items_in_order_with_and_without_turns() -> None:
    for count in (0, 1, LOOK_EVERY, LOOK_EVERY + 1, 1000):
        items = list(range(count))

        def check(items: list[int] = items) -> None:
            assert list(paced(items)) == items
            assert list(paced(iter(items))) == items
            assert list(paced_elements(items)) == items
            assert list(paced_stream(iter(items))) == items
            assert list(paced_range(len(items))) == items

        check()
        pauses_of(check)


def test_paced_looks_before_each_item_and_the_others_now_and_then() -> None:
    items = list(range(1000))
    looks = -(-1000 // LOOK_EVERY)
    assert pauses_of(lambda: list(paced(items))) == 1000
    assert pauses_of(lambda: list(paced_elements(items))) == looks
    assert pauses_of(lambda: list(paced_stream(iter(items)))) == looks
    assert pauses_of(lambda: list(paced_range(1000))) == looks


def test_a_collection_may_change_while_a_paced_loop_pauses() -> None:
    names = {"a": 1, "b": 2}

    def loop() -> None:
        for name in paced(names):
            names[name + "2"] = 0

    pauses_of(loop)
    assert set(names) == {"a", "b", "a2", "b2"}


def test_a_pause_within_no_pause_is_an_error() -> None:
    def loop() -> None:
        with no_pause():
            with no_pause():
                pass
            with pytest.raises(PauseError):
                list(paced("ab"))
        assert list(paced("ab")) == ["a", "b"]

    assert pauses_of(loop) == 2
    with no_pause():
        assert list(paced("ab")) == ["a", "b"]  # nothing takes turns here


def test_the_marker_returns_the_function_itself() -> None:
    def function() -> None:
        pass

    assert may_pause(function) is function
