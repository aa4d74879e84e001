"""The run of a connection while the journal records requests, or quotas of clients are set."""

from typing import TypeAlias

from broker.dispatch.produce_services import ProduceServices
from broker.dispatch.shared_run import SharedRun
from broker.produce.batch_layout import IsKnownProducer
from broker.request.context import Sender
from protocol.framing import SIZE_BYTES, Frame
from quotas.sampled_rate import SampledRate


def _is_none_known(_producer_id: int, _now_ms: int) -> bool:
    """Send all idempotent producers to the ordinary path: the connection has no gate yet."""
    return False


class AccountedRun:
    """A shared run whose requests of one connection are recorded, charged to quotas, or both.

    It charges only what throttles nobody, which is known before: the sizes of requests, and
    producer ids that are not new (KIP-936). The time of handlers is left to others.
    """

    __slots__ = (
        "_acknowledgements",
        "_cluster",
        "_faults",
        "_journal",
        "_now_ns",
        "_quotas",
        "_services",
        "run",
        "sender",
    )

    def __init__(self, run: SharedRun, sender: Sender, services: ProduceServices) -> None:
        self.run = run
        self.sender = sender
        self._services = services
        self._cluster = services.cluster
        self._quotas = services.cluster.quotas.clients
        self._faults = services.faults
        self._journal = services.journal
        self._acknowledgements = services.acknowledgements
        self._now_ns = services.now_ns

    # Hot path: `note_of` and `_is_known_producer`, inlined on purpose.
    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read as `SharedRun.respond_at_once`, and account for it."""
        journal, quotas, run, cluster = self._journal, self._quotas, self.run, self._cluster
        is_recorded, is_charged = journal.is_enabled, quotas.is_enabled
        if (
            run.can_free
            or run.produce_version != cluster.produce_version
            or self._acknowledgements.is_enabled
            or self._faults.is_enabled
            or (is_recorded and len(data) > journal.run_bytes_max)
            or not (is_recorded or is_charged)
        ):
            return None
        rate = is_known_producer = None
        if is_charged:
            if quotas.request_percentage.is_enabled:
                return None
            if quotas.producer_byte_rate.is_enabled:
                sender = self.sender
                rate = cluster.quotas.brokers[sender.broker_id].produce.rate_below_limit(
                    sender.principal, run.shape.client_id, len(data) - SIZE_BYTES, now_ms
                )
                if rate is None:
                    return None
            if quotas.producer_ids_rate.is_enabled:
                producer_ids = self.sender.session.producer_ids
                is_known_producer = (
                    _is_none_known if producer_ids is None else producer_ids.is_known
                )
        started_ns = self._now_ns() if is_recorded else 0
        response = run.respond_to_one(cluster, data, now_ms, is_known_producer)
        if response is None:
            return None
        if rate is not None:
            rate.record(len(data) - SIZE_BYTES, now_ms)
        if is_recorded:
            journal.add_one(self.sender, data, response, now_ms, started_ns, self._now_ns())
        return response

    def append(self, data: bytes, now_ms: int, responses: list[bytes]) -> int:
        """Handle requests as `RequestRun.append`, and account for them."""
        services, run = self._services, self.run
        if self._quotas.is_enabled and not run.shape.acks:
            return 0
        note = note_of(services, self.sender, run.shape.client_id, len(data) - SIZE_BYTES, now_ms)
        if note is None:
            return 0
        end = run.append(self._cluster, data, now_ms, responses, self._is_known_producer())
        if not end:
            return 0
        _sender, rate, started_ns = note
        if rate is not None:
            # All values of one time count as their sum.
            rate.record(end - len(responses) * SIZE_BYTES, now_ms)
        if started_ns is not None:
            services.journal.add_run(
                self.sender, data[:end], tuple(responses), now_ms, started_ns, services.now_ns()
            )
        return end

    def _is_known_producer(self) -> IsKnownProducer | None:
        """Return the function that says whose batches may be appended; None if all may be."""
        if not self._quotas.producer_ids_rate.is_enabled:
            return None
        producer_ids = self.sender.session.producer_ids
        return _is_none_known if producer_ids is None else producer_ids.is_known


Note: TypeAlias = tuple[Sender, SampledRate | None, int | None]
"""Who sent a request, where its bytes are charged, and when it began, if it is recorded."""


def note_of(
    services: ProduceServices, sender: Sender, client_id: str | None, size_bytes: int, now_ms: int
) -> Note | None:
    """Return how to account for a request of any shape, which throttles nobody.

    None if it may throttle, or needs a context: nothing has changed then.
    """
    quotas, journal = services.cluster.quotas.clients, services.journal
    if services.acknowledgements.is_enabled or (
        journal.is_enabled and size_bytes + SIZE_BYTES > journal.run_bytes_max
    ):
        return None
    rate = None
    if quotas.is_enabled:
        if quotas.request_percentage.is_enabled:
            return None
        if quotas.producer_byte_rate.is_enabled:
            manager = services.cluster.quotas.brokers[sender.broker_id].produce
            rate = manager.rate_below_limit(sender.principal, client_id, size_bytes, now_ms)
            if rate is None:
                return None
    return sender, rate, services.now_ns() if journal.is_enabled else None


def take_note(
    services: ProduceServices, note: Note, frame: Frame, response: bytes, now_ms: int
) -> None:
    """Charge a request that was handled, and record it."""
    sender, rate, started_ns = note
    buffer, start, end = frame
    if rate is not None:
        rate.record(end - start, now_ms)
    if started_ns is not None:
        data = (end - start).to_bytes(SIZE_BYTES, "big") + buffer[start:end]
        services.journal.add_one(sender, data, response, now_ms, started_ns, services.now_ns())
