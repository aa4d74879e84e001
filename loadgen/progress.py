"""How far the workers are: their datagrams come in, and what is shown goes out."""

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
class Standing:
    """All workers together, by what each said last."""

    by_worker: dict[int, dict[str, Any]] = field(default_factory=dict)

    def take(self, datagram: bytes) -> None:
        """A worker's report; anything else is passed over."""
        try:
            report = json.loads(datagram)
            self.by_worker[int(report["worker"])] = report
        except (ValueError, KeyError, TypeError):
            return

    def total(self, name: str) -> int:
        """The sum of a count over the workers."""
        return sum(int(report.get(name, 0)) for report in list(self.by_worker.values()))

    @property
    def t_s(self) -> float:
        """The time of the run that the furthest worker has reached."""
        return max((float(each.get("t_s", 0)) for each in list(self.by_worker.values())), default=0)

    @property
    def reasons(self) -> list[str]:
        """Why workers gave up, each reason once."""
        found = [why for each in list(self.by_worker.values()) for why in each.get("reasons", ())]
        return list(dict.fromkeys(found))


@dataclass(slots=True)
class Speed:
    """Requests per second over the last second or more: workers report one by one."""

    _since_s: float | None = None
    _since_requests: int = 0
    _rate: float = 0.0

    def of(self, t_s: float, requests: int) -> float:
        """The rate at a time, when so many requests were made in all."""
        if self._since_s is None:
            self._since_s, self._since_requests = t_s, requests
        elif t_s - self._since_s >= 1:
            self._rate = (requests - self._since_requests) / (t_s - self._since_s)
            self._since_s, self._since_requests = t_s, requests
        return self._rate


class Listener:
    """Hears the workers' datagrams in a thread, and answers with `stop` once it is told to."""

    def __init__(self, show: Callable[[Standing], None], host: str = "127.0.0.1") -> None:
        """`host`: an address that the workers can reach; `show` is called with each report."""
        self.standing = Standing()
        self._show = show
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self._socket.settimeout(_WAIT_S)
        self._is_closing = False
        self._is_stopping = False
        self._thread = threading.Thread(target=self._listen, name="load-progress", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where the workers report to."""
        host, port = self._socket.getsockname()
        return host, port

    def stop_workers(self) -> None:
        """Have each worker told to stop, at its next report."""
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
            except OSError:  # nothing came meanwhile
                continue
            self.standing.take(datagram)
            self._show(self.standing)
            if self._is_stopping:
                self._socket.sendto(b"stop", worker)
