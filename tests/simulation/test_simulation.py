"""Two hundred worlds hold their promises, and a seed is all that a world is made of."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.world import World

SEEDS_PER_TEST = 10
ROOT = Path(__file__).parent.parent.parent
DIGESTS = """
from tests.simulation.__main__ import quieten
from tests.simulation.world import World
quieten()
for seed in range(500, 505):
    report = World(seed).run()
    print(seed, report.digest, report.event_count, report.counts)
"""


@pytest.mark.parametrize("first", range(0, 200, SEEDS_PER_TEST))
def test_worlds_hold_their_promises(first: int) -> None:
    reports = [World(seed).run() for seed in range(first, first + SEEDS_PER_TEST)]
    assert {each.seed: each.violations for each in reports if each.violations} == {}
    # A world in which nothing happens would hold every promise.
    assert sum(each.counts["delivered"] for each in reports) > 100
    assert sum(each.counts["consumed"] for each in reports) > 50


def test_a_seed_replays_exactly_whatever_the_hash_seed() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(told) == 1


def test_worlds_of_different_seeds_differ() -> None:
    assert len({World(seed).run().digest for seed in range(5)}) == 5


def test_telling_what_happens_changes_nothing() -> None:
    lines: list[str] = []
    assert World(7, lines.append).run().digest == World(7).run().digest
    assert any("Produce acks=" in line for line in lines)
