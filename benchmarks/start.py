"""Measure the time from the start of a server to its first Metadata response."""

import time
from collections.abc import Mapping

from benchmarks.report import Bar, Measurement
from benchmarks.request_bytes import UnmeasuredConnection, metadata_request
from benchmarks.server_process import ServerName, cpu_seconds, serve


def run(server_name: ServerName) -> Mapping[str, float]:
    """Start one broker; the client gets the port from the server's first line."""
    with serve(server_name) as server, UnmeasuredConnection(server.address) as connection:
        response = connection.ask(metadata_request())
        seconds = time.perf_counter() - server.started_at_s
        assert len(response.brokers) == 1
        return {"start_s": seconds, "server_cpu_s": cpu_seconds(server.pid)}


MEASUREMENTS = (
    Measurement(
        "start",
        "1 broker",
        run,
        bars=(
            Bar("start_s", "at most", 3, is_ratio=True, is_timing=True),
            Bar("server_cpu_s", "at most", 3, is_ratio=True, is_timing=True),
        ),
    ),
)
