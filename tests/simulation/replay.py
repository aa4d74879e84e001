"""Run the same worlds in processes with different hash seeds."""

import os
import subprocess
import sys
from pathlib import Path

from tests.simulation.world import World

ROOT = Path(__file__).parent.parent.parent
_DIGESTS = """
from tests.simulation.__main__ import quieten
from {module} import {name}
quieten()
for seed in range(500, 505):
    report = {name}(seed).run()
    print(seed, report.digest, report.event_count, report.counts)
"""


def digests_under_hash_seeds(world: type[World]) -> set[str]:
    """Return what worlds of five seeds print in each of two processes: one text if they replay."""
    code = _DIGESTS.format(module=world.__module__, name=world.__name__)
    return {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
