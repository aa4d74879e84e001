"""Worlds with aiokafka keep their promises, and a seed determines every byte of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import examples
from tests.simulation.aiokafka_runs import run
from tests.simulation.aiokafka_worlds import KINDS, run_world

# Worlds kill processes, whose clients are not closed.
pytestmark = pytest.mark.filterwarnings("ignore:Unclosed AIOKafka:ResourceWarning")

ROOT = Path(__file__).parent.parent.parent
SEEDS = 20
_DIGESTS = """
import sys
from tests.simulation.aiokafka_worlds import KINDS, run_world
print(*(run_world(kind, 0).digest for kind in KINDS))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_worlds_of_aiokafka_have_no_violations(kind: str) -> None:
    violations = {
        seed: report.violations
        for seed in range(examples(SEEDS))
        if (report := run(kind, (), seed)).violations
    }
    assert violations == {}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_two_thousand_worlds_of_aiokafka_have_no_violations(kind: str) -> None:
    assert [seed for seed in range(2_000) if run(kind, (), seed).violations] == []


@pytest.mark.slow
def test_a_seed_gives_the_same_bytes_under_every_hash_seed() -> None:
    here = [run_world(kind, 0).digest for kind in KINDS]
    for hash_seed in ("1", "77"):
        there = subprocess.run(
            [sys.executable, "-c", _DIGESTS],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert there.stdout.split() == here


def test_a_released_aiokafka_breaks_a_promise() -> None:
    """The checks of a world can fail: this one finds what docs/findings.md describes."""
    report = run("transaction", ("offset_fetch_errors",), 14)
    assert report.violations[0] == "b'0' is committed 3 times"
