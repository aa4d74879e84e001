"""The run of a connection while the journal records it, or a quota counts its producer ids."""

from broker.dispatch.produce_services import ProduceServices
from broker.dispatch.shared_run import SharedRun
from broker.produce.batch_layout import IsKnownProducer
from broker.request.client_charge import TIME_MAX_NS
from broker.request.context import Sender
from broker.request.session import ProducerIds
from protocol.framing import SIZE_BYTES


class AccountedRun:
    """A shared run with what only one connection has: its number, and the producer ids it used."""

    __slots__ = (
        "_acknowledgements",
        "_cluster",
        "_faults",
        "_is_known_producer",
        "_journal",
        "_now_ns",
        "producer_ids",
        "run",
        "sender",
    )

    def __init__(
        self,
        run: SharedRun,
        sender: Sender,
        producer_ids: ProducerIds | None,
        services: ProduceServices,
    ) -> None:
        self.run = run
        self.sender = sender
        self.producer_ids = producer_ids
        self._is_known_producer = None if producer_ids is None else producer_ids.is_known
        self._cluster = services.cluster
        self._faults = services.faults
        self._journal = services.journal
        self._acknowledgements = services.acknowledgements
        self._now_ns = services.now_ns

    # Hot path: inlined on purpose.
    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read as `SharedRun.respond_at_once`, and account for it."""
        journal, run, cluster = self._journal, self.run, self._cluster
        charge, is_recorded = run.charge, journal.is_enabled
        if (
            run.can_free
            or run.produce_version != cluster.produce_version
            or self._acknowledgements.is_enabled
            or self._faults.is_enabled
            or (is_recorded and len(data) > journal.run_bytes_max)
        ):
            return None
        rate, time_rate, size_bytes = charge.rate, charge.time_rate, len(data) - SIZE_BYTES
        if rate is not None and (now_ms >= rate.ends_ms or size_bytes > rate.left):
            return None
        if time_rate is not None and (
            now_ms >= time_rate.ends_ms or time_rate.left < TIME_MAX_NS or not run.shape.acks
        ):
            return None  # no quota throttles for the time of requests without responses
        started_ns = self._now_ns() if is_recorded or time_rate is not None else 0
        is_known_producer = self._is_known_producer or charge.is_known_producer
        response = run.respond_to_one(cluster, data, now_ms, is_known_producer)
        if response is None:
            return None
        if rate is not None:
            rate.record(size_bytes, now_ms)
        if time_rate is not None:
            time_rate.record(self._now_ns() - started_ns, now_ms)
        if is_recorded:
            journal.add_one(self.sender, data, response, now_ms, started_ns, self._now_ns())
        return response

    def append(self, data: bytes, now_ms: int, responses: list[bytes]) -> int:
        """Handle requests as `RequestRun.append`, and account for them."""
        journal, run = self._journal, self.run
        is_recorded = journal.is_enabled
        if is_recorded and len(data) > journal.run_bytes_max:
            return 0
        started_ns = self._now_ns() if is_recorded else 0
        end = run.append_charged(data, now_ms, responses, self._is_known())
        if end and is_recorded:
            handled = self.sender, data[:end], tuple(responses), now_ms, started_ns
            journal.add_run(*handled, self._now_ns())
        return end

    def _is_known(self) -> IsKnownProducer | None:
        return self._is_known_producer or self.run.charge.is_known_producer
