"""Dead letters."""

import pytest

from broker.share_groups.dead_letters import DELIVERED_TOO_OFTEN, REJECTED, DeadLetters


@pytest.mark.parametrize(
    ("other", "is_continued"),
    [
        (DeadLetters(5, 6, 2, REJECTED), True),
        (DeadLetters(6, 6, 2, REJECTED), False),
        (DeadLetters(5, 6, 3, REJECTED), False),
        (DeadLetters(5, 6, 2, DELIVERED_TOO_OFTEN), False),
    ],
)
def test_neighbours_that_differ_in_nothing_else_are_together(
    other: DeadLetters, is_continued: bool
) -> None:
    assert DeadLetters(3, 4, 2, REJECTED).is_continued_by(other) == is_continued
