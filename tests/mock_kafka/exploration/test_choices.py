"""Choices of a seed are the same everywhere."""

import pytest

from mock_kafka.exploration.choices import SeededChoices


@pytest.mark.parametrize("seed", range(20))
def test_equal_seeds_choose_alike(seed: int) -> None:
    first, second = SeededChoices(seed), SeededChoices(seed)
    assert [first.between(1, 9) for _ in range(50)] == [second.between(1, 9) for _ in range(50)]


def test_every_number_and_option_can_be_chosen() -> None:
    choices = SeededChoices(1)
    assert {choices.between(3, 5) for _ in range(100)} == {3, 4, 5}
    assert {choices.pick("abc") for _ in range(100)} == set("abc")


def test_the_choices_of_a_seed_never_change() -> None:
    choices = SeededChoices(42)
    assert [choices.between(0, 99) for _ in range(5)] == [63, 2, 27, 22, 73]
