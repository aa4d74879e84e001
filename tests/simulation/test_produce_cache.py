"""Worlds go on the same way whether or not Produce requests are cached."""

import pytest

from tests.broker.dispatch.produce_runs import counted_hits, ordinary_path
from tests.simulation.world import World


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(4), id="few"),
        pytest.param(range(4, 40), id="some", marks=pytest.mark.slow),
        pytest.param(range(1000, 1200), id="many", marks=pytest.mark.long),
    ],
)
def test_the_cache_changes_nothing_in_a_world(seeds: range) -> None:
    with counted_hits() as hits:
        cached = [World(seed).run() for seed in seeds]
    with ordinary_path():
        ordinary = [World(seed).run() for seed in seeds]

    assert cached == ordinary
    assert len(hits) > len(seeds)
