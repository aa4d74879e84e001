"""Measure a thousand clients that connect at once: how many are served, and how fast."""

from collections.abc import Mapping

from benchmarks import load_process
from benchmarks.report import Bar, Measurement
from benchmarks.server_process import ServerName, ServerProcess, serve

CLIENTS = 1000
LIMIT_S = 20.0


def run(server_name: ServerName) -> Mapping[str, float]:
    """Connect all clients at once; `seconds` is the limit if some were not served.

    One client comes before, so that the start of the server is not part of it.
    """
    with serve(server_name) as server:
        _storm(server, 1)
        before_bytes = server.resident_bytes()
        figures = _storm(server, CLIENTS)
        grown_bytes = server.peak_resident_bytes() - before_bytes
        return figures | {"resident_kb_each": grown_bytes / CLIENTS / 1e3}


def _storm(server: ServerProcess, clients: int) -> dict[str, float]:
    host, port = server.address
    words = ["benchmarks.storm_load", host, port, server.pid]
    words += ["--clients", clients, "--limit-s", LIMIT_S]
    return load_process.run([str(word) for word in words])


MEASUREMENTS = (
    Measurement(
        "storm",
        f"{CLIENTS} connections at once",
        run,
        bars=(
            Bar("done", "at least", CLIENTS),
            Bar("kept_open", "at least", CLIENTS),
            Bar("resident_kb_each", "at most", 8),
        ),
    ),
)
