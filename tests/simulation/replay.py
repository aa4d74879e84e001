"""Run the same worlds in several processes, also with different hash seeds."""

import os
import subprocess
import sys
from pathlib import Path

from tests.simulation.world import World

ROOT = Path(__file__).parent.parent.parent
_DIGESTS = """
import sys
from tests.simulation.__main__ import quieten
from {module} import {name}
quieten()
for seed in map(int, sys.argv[1:]):
    report = {name}(seed).run()
    print(seed, report.digest, report.event_count, report.counts)
"""


def replayed(world: type[World], *seeds: int, hash_seed: str = "1") -> list[str]:
    """Return what worlds of some seeds print, one after the other in another process."""
    code = _DIGESTS.format(module=world.__module__, name=world.__name__)
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, seeds)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


def digests_under_hash_seeds(world: type[World]) -> set[str]:
    """Return what worlds of five seeds print in each of two processes: one text if they replay."""
    seeds = range(500, 505)
    return {"\n".join(replayed(world, *seeds, hash_seed=hash_seed)) for hash_seed in ("1", "2")}
