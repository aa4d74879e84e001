"""Show where the time of a Produce request goes, by system call, event loop and function.

python -m benchmarks.produce_profile [--write]

py-spy looks at the stack of a broker some hundred times per second from outside, also at the parts
in C, while the load of `scripts/bench produce` runs. A sample counts for the system call in which
the process is, or else for the innermost function of ours. `--write` puts the table and its chart
into the docs. On Linux it has to be allowed to trace processes, as root is.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import load_process, raw_load
from benchmarks.docs_page import CHARTS, markdown_table, write_part
from benchmarks.report import print_line, progress
from benchmarks.server_process import PROJECT, ServerProcess, pinned, serve, two_cpus
from scenarios.picture import require_matplotlib, save

SHAPES: Mapping[str, tuple[int, int]] = {
    "50 in flight on one connection": (1, 50),
    "100 connections, one in flight each": (100, 1),
}
"""Connections, and requests in flight on each."""
REQUESTS = 600_000
SAMPLES_PER_S = 400
DURATION_S = 4
SHARE_MIN = 0.02
"""Functions with a smaller share are added up."""
READ, WRITE = "system call: read", "system call: write"
LOOP, REST = "event loop (uvloop)", "other functions"
_SYSTEM_CALLS = (
    (re.compile(r"(__)?(libc_)?(read|recv|recvfrom)\b"), READ),
    (re.compile(r"(__)?(libc_)?(write|writev|send|sendto|sendmsg)\b"), WRITE),
)
_WAIT = "epoll_"
"""The wait for sockets, most of which is no time of the processor, and a fiftieth otherwise."""
_FRAME = re.compile(r"(?P<name>\S+) \((?P<path>\S+\.py)(?::\d+)?\)$")
_OURS = ("broker/", "protocol/", "quotas/", "producer_state/")
_OUTSIDE = ("broker/__main__.py", "broker/cli.py", "broker/serve.py")


class NoProfileError(Exception):
    """There is no py-spy, or it may not look at the process."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a request takes, and where."""

    shape: str
    server_us_per_request: float
    samples: int
    us_by_place: Mapping[str, float]
    """The largest first; the sum is `server_us_per_request`."""


def place(stack: str) -> str | None:
    """Return what a stack counts for; None if it is not of a request.

    `stack` has the frames from the outermost on, as in py-spy's raw format.
    """
    frames = stack.split(";")
    if frames[-1].startswith(_WAIT):
        return None
    if any("<module>" in frame and "__main__" not in frame for frame in frames):
        return None  # an import
    for pattern, call in _SYSTEM_CALLS:
        if pattern.match(frames[-1]):
            return call
    for frame in reversed(frames):
        found = _FRAME.match(frame)
        if found and found["path"].startswith(_OURS) and found["path"] not in _OUTSIDE:
            return f"`{found['name']}` in `{found['path']}`"
    return LOOP


def shares(lines: Iterable[str]) -> tuple[int, dict[str, float]]:
    """Return the number of samples, and each place's share of them, the largest first."""
    counts: Counter[str] = Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        where = place(stack)
        if where is not None:
            counts[where] += int(count)
    total = counts.total()
    found_shares: dict[str, float] = {}
    rest = 0
    for where, samples in counts.most_common():
        if samples < total * SHARE_MIN and where not in {READ, WRITE, LOOP}:
            rest += samples
        else:
            found_shares[where] = samples / total
    if rest:
        found_shares[REST] = rest / total
    return total, found_shares


def profile(shape: str) -> Profile:
    """Run the load against a broker, and look where it is.

    Raises:
        NoProfileError: there is no py-spy, or it may not look at the process.
    """
    connection_count, in_flight = SHAPES[shape]
    server_cpu, client_cpu = two_cpus()
    with serve("ours", cpu=server_cpu) as server, tempfile.TemporaryDirectory() as folder:
        words = raw_load.command(
            server,
            connection_count=connection_count,
            in_flight=in_flight,
            requests=REQUESTS,
            is_idempotent=False,
        )
        figures = load_process.run(words, client_cpu)
        raw = Path(folder) / "stacks"
        sampler = _start_sampler(server, raw)
        while sampler.poll() is None:
            load_process.run(words, client_cpu)
        if sampler.returncode or not raw.exists():
            assert sampler.stderr is not None
            raise NoProfileError(f"py-spy: {sampler.stderr.read()[-500:].strip()}")
        samples, found = shares(raw.read_text().splitlines())
    cost_us = figures["server_us_per_request"]
    return Profile(
        shape, cost_us, samples, {name: share * cost_us for name, share in found.items()}
    )


def _start_sampler(server: ServerProcess, raw: Path) -> "subprocess.Popen[str]":
    program = shutil.which("py-spy", path=str(Path(sys.executable).parent))
    if program is None:
        raise NoProfileError("py-spy is not installed: pip install py-spy")
    with pinned(None):
        return subprocess.Popen(
            [
                *(program, "record", "--native", "--format", "raw"),
                *("--rate", str(SAMPLES_PER_S), "--duration", str(DURATION_S)),
                *("--pid", str(server.pid), "--output", str(raw)),
            ],
            cwd=PROJECT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )


def table(profiles: Iterable[Profile]) -> str:
    """Return the Markdown table of some profiles."""
    rows = []
    for found in profiles:
        rows.append((f"**{found.shape}**", f"**{found.server_us_per_request:.1f}**", "**100 %**"))
        for where, cost_us in found.us_by_place.items():
            share = cost_us / found.server_us_per_request
            rows.append((where, f"{cost_us:.2f}", f"{share:.0%}".replace("%", " %")))
    return markdown_table(("where", "µs per request", "share"), rows)


def draw(profiles: list[Profile]) -> None:
    """Draw a bar for each shape, divided by place, into the pictures of the docs."""
    figure = require_matplotlib()(figsize=(10, 1.2 + 0.5 * len(profiles)), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(name for found in profiles for name in found.us_by_place))
    begins = [0.0] * len(profiles)
    for name in names:
        widths = [found.us_by_place.get(name, 0.0) for found in profiles]
        axes.barh(
            [found.shape for found in profiles], widths, left=begins, label=name.replace("`", "")
        )
        begins = [begin + width for begin, width in zip(begins, widths, strict=True)]
    axes.set_xlabel("server time per Produce request in µs")
    axes.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    save(figure, CHARTS, "produce-profile")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write table and chart to the docs")
    is_written = parser.parse_args().write
    profiles = []
    for shape in SHAPES:
        try:
            found = profile(shape)
        except NoProfileError as error:
            progress(f"produce-profile: {error}")
            return 1
        profiles.append(found)
        print_line(
            {
                "measurement": "produce-profile",
                "case": shape,
                "server_us_per_request": round(found.server_us_per_request, 2),
                "samples": found.samples,
                "us": {name: round(cost_us, 2) for name, cost_us in found.us_by_place.items()},
                "command": "scripts/bench produce-profile",
            }
        )
    progress(table(profiles))
    if is_written:
        write_part("produce profile", table(profiles))
        draw(profiles)
    return 0


if __name__ == "__main__":
    sys.exit(main())
