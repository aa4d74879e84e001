"""The run of the connections to a cluster whose Produce requests equal each other."""

from collections.abc import Callable

from broker.audit.acknowledgements import Acknowledgements
from broker.cluster.cluster import Cluster
from broker.dispatch.produce_charge import ProduceCharge
from broker.faults.table import FaultTable
from broker.journal.journal import Journal
from broker.produce.batch_layout import IsKnownProducer
from broker.produce.request_run import RequestRun
from broker.produce.request_shape import RequestShape
from broker.request.client_charge import TIME_MAX_NS
from protocol.framing import SIZE_BYTES


class SharedRun(RequestRun):
    """A run that knows what else may take part in a request, which all connections share.

    These have the same principal. A request that needs nothing but this touches less memory of its
    connection. With thousands of connections none of that is in the processor's cache.
    """

    __slots__ = (
        "_acknowledgements",
        "_cluster",
        "_faults",
        "_journal",
        "_now_ns",
        "charge",
    )

    def __init__(
        self,
        shape: RequestShape,
        charge: ProduceCharge,
        cluster: Cluster,
        faults: FaultTable,
        journal: Journal,
        acknowledgements: Acknowledgements,
        now_ns: Callable[[], int],
    ) -> None:
        super().__init__(shape)
        self.charge = charge
        self._cluster = cluster
        self._faults = faults
        self._journal = journal
        self._acknowledgements = acknowledgements
        self._now_ns = now_ns

    # Hot path: `ProduceCharge`, inlined on purpose.
    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read that is one request of this run; None changes nothing.

        The caller makes sure that the session of the connection has not ended, or has no end. What
        the ordinary path looks at and this does not changes `produce_version`. Requests for the
        journal, and of producers whose ids a quota counts, are left to `AccountedRun`.
        """
        cluster, charge = self._cluster, self.charge
        if (
            self._journal.is_enabled
            or self.can_free
            or self.produce_version != cluster.produce_version
            or self._acknowledgements.is_enabled
            or self._faults.is_enabled
        ):
            return None
        rate, time_rate = charge.rate, charge.time_rate
        if rate is None and time_rate is None:
            return self.respond_to_one(cluster, data, now_ms, charge.is_known_producer)
        size_bytes = len(data) - SIZE_BYTES
        if rate is not None and (now_ms >= rate.ends_ms or size_bytes > rate.left):
            return None
        started_ns = 0
        if time_rate is not None:
            if now_ms >= time_rate.ends_ms or time_rate.left < TIME_MAX_NS or not self.shape.acks:
                return None  # no quota throttles for the time of requests without responses
            started_ns = self._now_ns()
        response = self.respond_to_one(cluster, data, now_ms, charge.is_known_producer)
        if response is None:
            return None
        if rate is not None:
            rate.record(size_bytes, now_ms)
        if time_rate is not None:
            time_rate.record(self._now_ns() - started_ns, now_ms)
        return response

    def append_charged(
        self,
        data: bytes,
        now_ms: int,
        responses: list[bytes],
        is_known_producer: IsKnownProducer | None,
    ) -> int:
        """Handle requests as `append`, and charge quotas, which allow all of `data`."""
        charge = self.charge
        if charge.rate is None and charge.time_rate is None:
            return self.append(self._cluster, data, now_ms, responses, is_known_producer)
        if not self.shape.acks:
            return 0  # their number is unknown, and with it that of their sizes
        started_ns = self._now_ns()
        end = self.append(self._cluster, data, now_ms, responses, is_known_producer)
        if end:
            # All values of one time count as their sum.
            charge.record(end - len(responses) * SIZE_BYTES, now_ms)
            charge.record_time(self._now_ns() - started_ns, now_ms)
        return end
