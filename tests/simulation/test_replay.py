"""A world is its seed: what ran before it in its process changes nothing."""

import pytest

from tests.simulation.group_world import GroupWorld
from tests.simulation.replay import replayed
from tests.simulation.transactional_world import TransactionWorld
from tests.simulation.world import World

FIRST, SECOND = 605_728, 605_731
"""Seeds of worlds whose requests pause, so that they draw many random numbers."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        World,
        *(pytest.param(kind, marks=pytest.mark.long) for kind in (GroupWorld, TransactionWorld)),
    ],
)
def test_the_first_world_of_a_process_runs_like_later_ones_and_like_those_of_other_processes(
    world: type[World],
) -> None:
    first, second, first_again = replayed(world, FIRST, SECOND, FIRST)
    (second_alone,) = replayed(world, SECOND)

    assert first_again == first
    assert second_alone == second
    assert first != second
