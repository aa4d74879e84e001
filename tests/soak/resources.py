"""Memory and open files of a process over time."""

from collections.abc import Sequence
from pathlib import Path
from statistics import linear_regression
from typing import NamedTuple

SETTLING_S = 60.0
BYTES_PER_MIB = 1024 * 1024


class Sample(NamedTuple):
    """One measurement, seconds after the start."""

    time_s: float
    memory_bytes: int
    open_files: int


def sample(pid: int, time_s: float) -> Sample:
    """Measure a process: resident memory without mapped files, and open files."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return Sample(time_s, int(line.split()[1]) * 1024, len(list(Path(f"/proc/{pid}/fd").iterdir())))


class Growth(NamedTuple):
    """Slopes of the straight lines through the samples after the first minute."""

    mib_per_10_min: float
    open_files_per_10_min: float
    measured_s: float


def growth(samples: Sequence[Sample]) -> Growth:
    """Return the growth after the first minute; 0 if there are fewer than two samples."""
    settled = [measured for measured in samples if measured.time_s >= SETTLING_S]
    if len(settled) < 2:
        return Growth(0.0, 0.0, 0.0)
    times = [measured.time_s / 600 for measured in settled]
    memory_mib = [measured.memory_bytes / BYTES_PER_MIB for measured in settled]
    memory = linear_regression(times, memory_mib)
    files = linear_regression(times, [measured.open_files for measured in settled])
    return Growth(memory.slope, files.slope, settled[-1].time_s - settled[0].time_s)
