"""The run of a connection while the journal records it, or a quota counts its producer ids."""

from broker.dispatch.charged_run import ChargedRun
from broker.request.client_charge import TIME_MAX_NS
from broker.request.context import Sender
from broker.request.session import ProducerIds
from protocol.framing import SIZE_BYTES


class AccountedRun:
    """A charged run with what only one connection has: its number, and the producer ids it used."""

    __slots__ = ("_is_known_producer", "charged", "producer_ids", "sender")

    def __init__(
        self, charged: ChargedRun, sender: Sender, producer_ids: ProducerIds | None
    ) -> None:
        self.charged = charged
        self.sender = sender
        self.producer_ids = producer_ids
        self._is_known_producer = None if producer_ids is None else producer_ids.is_known

    # Hot path: inlined on purpose.
    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read as `ChargedRun.respond_at_once`, and account for it."""
        charge, run = self.charged.charge, self.charged.run
        journal, cluster = run.journal, run.cluster
        is_recorded = journal.is_enabled
        if (
            run.can_free
            or run.produce_version != cluster.produce_version
            or run.acknowledgements.is_enabled
            or run.faults.is_enabled
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
        started_ns = run.now_ns() if is_recorded or time_rate is not None else 0
        is_known_producer = self._is_known_producer or charge.is_known_producer
        response = run.respond_to_one(cluster, data, now_ms, is_known_producer)
        if response is None:
            return None
        if rate is not None:
            rate.record(size_bytes, now_ms)
        if time_rate is not None:
            time_rate.record(run.now_ns() - started_ns, now_ms)
        if is_recorded:
            journal.add_one(self.sender, data, response, now_ms, started_ns, run.now_ns())
        return response

    def append(self, data: bytes, now_ms: int, responses: list[bytes]) -> int:
        """Handle requests as `ChargedRun.append`, and account for them."""
        charged, run = self.charged, self.charged.run
        journal = run.journal
        is_recorded = journal.is_enabled
        if is_recorded and len(data) > journal.run_bytes_max:
            return 0
        started_ns = run.now_ns() if is_recorded else 0
        end = charged.append(data, now_ms, responses, self._is_known_producer)
        if end and is_recorded:
            handled = self.sender, data[:end], tuple(responses), now_ms, started_ns
            journal.add_run(*handled, run.now_ns())
        return end
