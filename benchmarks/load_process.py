"""Run a load program in its own process and read the figures from its last line."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.server_process import PROJECT, pinned

LOAD_SECONDS_MAX = 300


class LoadProcessError(Exception):
    """The load program failed; the message contains its last output."""


def run(words: Sequence[str], cpu: int | None = None) -> dict[str, Any]:
    """Run `python -m <words>`, pinned to one CPU when `cpu` is given.

    Raises:
        LoadProcessError: it did not end with status 0.
    """
    with pinned(cpu):
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    try:
        out, error = process.communicate(timeout=LOAD_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise LoadProcessError(f"{words[0]} took longer than {LOAD_SECONDS_MAX} s") from None
    if process.returncode:
        raise LoadProcessError(f"{' '.join(words)}: {error[-2000:].strip()}")
    figures = json.loads(out.splitlines()[-1])
    assert isinstance(figures, dict)
    return figures
