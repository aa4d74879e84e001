"""The run of the connections to a cluster whose Produce requests equal each other."""

from collections.abc import Callable

from broker.audit.acknowledgements import Acknowledgements
from broker.cluster.cluster import Cluster
from broker.faults.table import FaultTable
from broker.journal.journal import Journal
from broker.produce.request_run import RequestRun
from broker.produce.request_shape import RequestShape


class SharedRun(RequestRun):
    """A run that knows what else may take part in a request, which all connections share.

    A request that needs nothing but this touches less memory of its connection. With thousands of
    connections none of that is in the processor's cache.
    """

    __slots__ = ("acknowledgements", "cluster", "faults", "journal", "now_ns")

    def __init__(
        self,
        shape: RequestShape,
        cluster: Cluster,
        faults: FaultTable,
        journal: Journal,
        acknowledgements: Acknowledgements,
        now_ns: Callable[[], int],
    ) -> None:
        super().__init__(shape)
        self.cluster = cluster
        self.faults = faults
        self.journal = journal
        self.acknowledgements = acknowledgements
        self.now_ns = now_ns

    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read that is one request of this run; None changes nothing.

        The caller makes sure that the session of the connection has not ended, or has no end. What
        the ordinary path looks at and this does not changes `produce_version`. Requests that quotas
        charge are left to `ChargedRun`, and those for the journal to `AccountedRun`.
        """
        cluster = self.cluster
        if (
            self.journal.is_enabled
            or self.can_free
            or self.produce_version != cluster.produce_version
            or self.acknowledgements.is_enabled
            or self.faults.is_enabled
        ):
            return None
        return self.respond_to_one(cluster, data, now_ms)
