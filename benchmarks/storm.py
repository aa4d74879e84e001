"""Measure a thousand clients that connect at once: how many are served, and how fast."""

from collections.abc import Mapping

from benchmarks import load_process
from benchmarks.report import Bar, Measurement
from benchmarks.server_process import ServerName, serve

CLIENTS = 1000
LIMIT_S = 20.0


def run(server_name: ServerName) -> Mapping[str, float]:
    """Connect all clients at once; `seconds` is the limit if some were not served."""
    with serve(server_name) as server:
        before_bytes = server.resident_bytes()
        host, port = server.address
        words = ["benchmarks.storm_load", host, port, server.pid]
        words += ["--clients", CLIENTS, "--limit-s", LIMIT_S]
        figures = load_process.run([str(word) for word in words])
        grown_bytes = server.peak_resident_bytes() - before_bytes
        return figures | {"resident_kb_each": grown_bytes / CLIENTS / 1e3}


MEASUREMENTS = (
    Measurement(
        "storm",
        f"{CLIENTS} connections at once",
        run,
        bars=(Bar("done", "at least", CLIENTS), Bar("kept_open", "at least", CLIENTS)),
    ),
)
