"""Measure the proxy beside toxiproxy, in front of the same broker, when nobody looks at requests.

python -m benchmarks.proxy [--rounds N]

The figures are the proxy's processor time, without that of the broker, and its memory.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks import load_process, raw_load, toxiproxy
from benchmarks.report import print_line, progress
from benchmarks.server_process import ServerProcess, serve, serve_program, two_cpus

REQUESTS = 100_000
CONNECTIONS = 100
MB_PER_S = 64
CPU_RATIO_MAX = 2.0
MEMORY_MB_MAX = 40
UPSTREAM_OPTIONS = ("log.memory.max.bytes=67108864",)
NAMES = ("ours", "toxiproxy")


@contextmanager
def proxied(name: str, upstream: ServerProcess, cpu: int | None) -> Iterator[ServerProcess]:
    """Run a proxy in front of a broker."""
    if name == "toxiproxy":
        with toxiproxy.serve(upstream.address, cpu) as (pid, port):
            yield ServerProcess("ours", pid, (("127.0.0.1", port),), 0.0)
        return
    with serve_program("ours", proxy_command(upstream.bootstrap_servers), cpu) as server:
        yield server


def proxy_command(upstream: str, *options: str) -> list[str]:
    """Return the command line of our proxy in front of bootstrap servers."""
    words = [sys.executable, "-m", "mock_kafka", "proxy", "--to", upstream, "--port", "0"]
    return [*words, *options]


def _singly(proxy: ServerProcess) -> list[str]:
    return raw_load.command(
        proxy,
        connection_count=CONNECTIONS,
        in_flight=1,
        requests=REQUESTS,
        is_idempotent=False,
    )


def _batches(proxy: ServerProcess) -> list[str]:
    host, port = proxy.address
    return ["benchmarks.batch_load", host, str(port), str(proxy.pid), "--mb-per-s", str(MB_PER_S)]


CASES: Mapping[str, tuple[Callable[[ServerProcess], list[str]], str]] = {
    f"{CONNECTIONS} connections x 1 in flight": (_singly, "server_us_per_request"),
    f"{MB_PER_S} MB/s of batches": (_batches, "server_ms_per_mb"),
}


def measure(name: str, words: Callable[[ServerProcess], list[str]]) -> dict[str, float]:
    """Run one load through a proxy; return its figures."""
    proxy_cpu, other_cpu = two_cpus()
    with (
        serve("ours", cpu=other_cpu, options=UPSTREAM_OPTIONS) as upstream,
        proxied(name, upstream, proxy_cpu) as proxy,
    ):
        figures = load_process.run(words(proxy), other_cpu)
        figures["peak_resident_mb"] = proxy.peak_resident_bytes() / 1e6
        return figures


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench proxy", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args(arguments).rounds
    for case, (words, cost) in CASES.items():
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
        for number in range(rounds):
            for name in NAMES:
                progress(f"proxy: {case}, {name}, round {number + 1} of {rounds}")
                found[name].append(measure(name, words))
        medians = {
            name: {
                figure: round(statistics.median(line[figure] for line in lines), 3)
                for figure in lines[0]
            }
            for name, lines in found.items()
        }
        ratio = medians["ours"][cost] / medians["toxiproxy"][cost]
        memory_mb = medians["ours"]["peak_resident_mb"]
        for name in NAMES:
            print_line({"measurement": "proxy", "case": case, "server": name, **medians[name]})
        print_line(
            {
                "measurement": "proxy",
                "case": case,
                f"{cost}_ratio_to_toxiproxy": round(ratio, 2),
                "met": ratio <= CPU_RATIO_MAX and memory_mb <= MEMORY_MB_MAX,
                "command": f"scripts/bench proxy --rounds {rounds}",
            }
        )


if __name__ == "__main__":
    main()
