"""Measure wall time, and CPU time of the server, the client and all other processes."""

import time
from dataclasses import dataclass

from benchmarks.report import OTHER_CPU_SHARE
from benchmarks.server_process import cpu_seconds, machine_busy_seconds


@dataclass(frozen=True, slots=True)
class Cost:
    """All in seconds; the client is the process that held the clock."""

    wall_s: float
    server_s: float
    client_s: float
    other_s: float

    def shares(self) -> dict[str, float]:
        """Return the number of CPUs that each of them used."""
        return {
            "server_cpu_share": self.server_s / self.wall_s,
            "client_cpu_share": self.client_s / self.wall_s,
            OTHER_CPU_SHARE: self.other_s / self.wall_s,
        }


class CostClock:
    """Runs from its construction until `stop`."""

    __slots__ = ("_client_s", "_machine_s", "_server_pid", "_server_s", "_started_s")

    def __init__(self, server_pid: int) -> None:
        self._server_pid = server_pid
        self._machine_s = machine_busy_seconds()
        self._client_s = time.process_time()
        self._server_s = cpu_seconds(server_pid)
        self._started_s = time.perf_counter()

    def stop(self) -> Cost:
        """Return the cost so far."""
        wall_s = time.perf_counter() - self._started_s
        server_s = cpu_seconds(self._server_pid) - self._server_s
        client_s = time.process_time() - self._client_s
        machine_s = machine_busy_seconds() - self._machine_s
        # The machine's time has ticks of 10 ms, so a small difference may be negative.
        return Cost(wall_s, server_s, client_s, max(0.0, machine_s - server_s - client_s))
