"""The run of the connections to a cluster whose Produce requests equal each other."""

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

    __slots__ = ("_acknowledgements", "_cluster", "_faults", "_journal", "_quotas")

    def __init__(
        self,
        shape: RequestShape,
        cluster: Cluster,
        faults: FaultTable,
        journal: Journal,
        acknowledgements: Acknowledgements,
    ) -> None:
        super().__init__(shape)
        self._cluster = cluster
        self._quotas = cluster.quotas.clients
        self._faults = faults
        self._journal = journal
        self._acknowledgements = acknowledgements

    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read that is one request of this run; None changes nothing.

        The caller makes sure that the session of the connection has not ended, or has no end. What
        the ordinary path looks at and this does not changes `produce_version`. Requests for the
        journal and quotas are left to others (`AccountedRun`).
        """
        cluster = self._cluster
        if (
            self._journal.is_enabled
            or self.can_free
            or self.produce_version != cluster.produce_version
            or self._quotas.is_enabled
            or self._acknowledgements.is_enabled
            or self._faults.is_enabled
        ):
            return None
        return self.respond_to_one(cluster, data, now_ms)
