"""The host of a run, and the CPU time of its processes."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("mock-kafka", "pyspark", "pyarrow", "kafka-python", "uvloop")


def cpu_us_of(pid: int | None) -> int | None:
    """Return the CPU time of a process so far; None if /proc does not have it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return None
    # The name, in parentheses, may contain spaces; the times are fields 14 and 15.
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000 // os.sysconf("SC_CLK_TCK")


def age_us() -> int:
    """Return how long ago this process started; 0 if /proc does not have it."""
    try:
        stat = Path("/proc/self/stat").read_text(encoding="ascii")
        uptime = Path("/proc/uptime").read_text(encoding="ascii")
    except OSError:
        return 0
    started = int(stat.rpartition(")")[2].split()[19])  # field 22
    seconds = float(uptime.split()[0]) - started / os.sysconf("SC_CLK_TCK")
    return max(0, round(seconds * 1e6))


def memory_max_bytes() -> int:
    """Return the most memory that this process has used so far; 0 if the system does not say."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def describe() -> dict[str, Any]:
    """Return the CPUs, the platform and the versions of the packages."""
    return {
        "cpus": os.cpu_count() or 1,
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
    }


def percent(cpu_us: int | None, wall_us: int, cpus: int) -> float | None:
    """Return CPU time as a percentage of all CPUs."""
    return None if cpu_us is None or not wall_us else round(cpu_us / wall_us / cpus * 100, 1)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
