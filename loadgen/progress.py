"""Progress of the workers: receive their datagrams and add up their counts."""

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

_WAIT_S = 0.2
_DATAGRAM_BYTES = 8192


@dataclass(slots=True)
class Progress:
    """The last report of each worker."""

    by_worker: dict[int, dict[str, Any]] = field(default_factory=dict)

    def take(self, datagram: bytes) -> None:
        """Store a worker's report; ignore anything else."""
        try:
            report = json.loads(datagram)
            self.by_worker[int(report["worker"])] = report
        except (ValueError, KeyError, TypeError):
            return

    def total(self, name: str) -> int:
        """Return the sum of a count over the workers."""
        return sum(int(report.get(name, 0)) for report in list(self.by_worker.values()))

    @property
    def t_s(self) -> float:
        """The largest time of the run that a worker has reached."""
        reports = list(self.by_worker.values())
        return max((float(report.get("t_s", 0)) for report in reports), default=0)

    @property
    def reasons(self) -> list[str]:
        """The reasons why workers aborted the run, without repetitions."""
        reports = list(self.by_worker.values())
        found = [reason for report in reports for reason in report.get("reasons", ())]
        return list(dict.fromkeys(found))


@dataclass(slots=True)
class RateMeter:
    """Requests per second over at least one second, because workers report at different times."""

    _since_s: float | None = None
    _since_requests: int = 0
    _rate: float = 0.0

    def update(self, t_s: float, requests: int) -> float:
        """Return the rate at time `t_s`; `requests` counts from the beginning of the run."""
        if self._since_s is None:
            self._since_s, self._since_requests = t_s, requests
        elif t_s - self._since_s >= 1:
            self._rate = (requests - self._since_requests) / (t_s - self._since_s)
            self._since_s, self._since_requests = t_s, requests
        return self._rate


class ProgressListener:
    """Receives the workers' datagrams in a thread; replies `stop` after `stop_workers`."""

    def __init__(self, show: Callable[[Progress], None], host: str = "127.0.0.1") -> None:
        """Listen on `host`, which the workers must reach; call `show` after each report."""
        self.progress = Progress()
        self._show = show
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self._socket.settimeout(_WAIT_S)
        self._is_closing = False
        self._is_stopping = False
        self._thread = threading.Thread(target=self._listen, name="load-progress", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """The address for the workers' reports."""
        host, port = self._socket.getsockname()
        return host, port

    def stop_workers(self) -> None:
        """Reply `stop` to the next report of each worker."""
        self._is_stopping = True

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_closing = True
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._is_closing:
            try:
                datagram, worker = self._socket.recvfrom(_DATAGRAM_BYTES)
            except OSError:  # no datagram within the timeout
                continue
            self.progress.take(datagram)
            self._show(self.progress)
            if self._is_stopping:
                self._socket.sendto(b"stop", worker)
