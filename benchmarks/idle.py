"""Measure the memory of a server after one Metadata request, without clients."""

import time
from collections.abc import Mapping

from benchmarks.report import Bar, Measurement
from benchmarks.request_bytes import UnmeasuredConnection, metadata_request
from benchmarks.server_process import ServerName, cpu_seconds, serve

SETTLE_S = 1.0


def run(server_name: ServerName) -> Mapping[str, float]:
    """Measure memory one second after the first response, and the CPU of the next second."""
    with serve(server_name) as server:
        with UnmeasuredConnection(server.address) as connection:
            connection.ask(metadata_request())
        time.sleep(SETTLE_S)
        resident_bytes = server.resident_bytes()
        cpu_s = cpu_seconds(server.pid)
        time.sleep(SETTLE_S)
        idle_s = cpu_seconds(server.pid) - cpu_s
        return {"resident_mb": resident_bytes / 1e6, "idle_cpu_ms_per_s": idle_s / SETTLE_S * 1e3}


MEASUREMENTS = (Measurement("idle", "1 broker", run, bars=(Bar("resident_mb", "at most", 40),)),)
