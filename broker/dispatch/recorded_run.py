"""The run of a connection while the journal records requests."""

from broker.dispatch.produce_services import ProduceServices
from broker.dispatch.shared_run import SharedRun
from broker.request.context import Sender


class RecordedRun:
    """A shared run whose requests of one connection go to the journal."""

    __slots__ = ("_cluster", "_journal", "_now_ns", "run", "sender")

    def __init__(self, run: SharedRun, sender: Sender, services: ProduceServices) -> None:
        self.run = run
        self.sender = sender
        self._cluster = services.cluster
        self._journal = services.journal
        self._now_ns = services.now_ns

    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read as `SharedRun.respond_at_once`, and record it."""
        journal, run = self._journal, self.run
        if not journal.is_enabled or len(data) > journal.run_bytes_max or not run.is_alone():
            return None
        started_ns = self._now_ns()
        response = run.respond_to_one(self._cluster, data, now_ms)
        if response is not None:
            journal.add_one(self.sender, data, response, now_ms, started_ns, self._now_ns())
        return response

    def append(self, data: bytes, now_ms: int, responses: list[bytes]) -> int:
        """Handle requests as `RequestRun.append`, and record them.

        The caller has made sure that the journal takes them.
        """
        started_ns = self._now_ns()
        end = self.run.append(self._cluster, data, now_ms, responses)
        if end:
            self._journal.add_run(
                self.sender, data[:end], tuple(responses), now_ms, started_ns, self._now_ns()
            )
        return end
