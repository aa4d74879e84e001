"""Worlds have no violations, and a seed determines everything in a world."""

import pytest

from tests.simulation.client_link import known_versions
from tests.simulation.replay import digests_under_hash_seeds
from tests.simulation.world import World

SEEDS_PER_TEST = 10
FAST_SEEDS = 10
"""Worlds of lower seeds run in the fast tier too."""


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.slow if first >= FAST_SEEDS else ())
        for first in range(0, 50, SEEDS_PER_TEST)
    ],
)
def test_worlds_have_no_violations(first: int) -> None:
    run_worlds(first)


@pytest.mark.long
@pytest.mark.parametrize("first", [*range(50, 100, 10), *range(1000, 1250, SEEDS_PER_TEST)])
def test_a_thousand_more_worlds_have_no_violations(first: int) -> None:
    run_worlds(first)


def run_worlds(first: int) -> None:
    """Run some worlds; they violate nothing, and clients deliver and consume records in them."""
    reports = [World(seed).run() for seed in range(first, first + SEEDS_PER_TEST)]
    violations = {report.seed: report.violations for report in reports if report.violations}
    assert violations == {}
    # A world in which nothing happens would violate nothing.
    assert sum(report.counts["delivered"] for report in reports) > 100
    assert sum(report.counts["consumed"] for report in reports) > 50


@pytest.mark.slow
def test_a_seed_replays_exactly_under_any_hash_seed() -> None:
    assert len(digests_under_hash_seeds(World)) == 1


def test_the_first_world_of_a_process_runs_like_the_same_seed_later() -> None:
    later = World(605728).run().digest
    known_versions.cache_clear()  # which the first world of a process fills
    assert World(605728).run().digest == later


def test_worlds_of_different_seeds_differ() -> None:
    assert len({World(seed).run().digest for seed in range(5)}) == 5


def test_tracing_changes_nothing() -> None:
    lines: list[str] = []
    assert World(7, lines.append).run().digest == World(7).run().digest
    assert any("Produce acks=" in line for line in lines)
