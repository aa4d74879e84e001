"""Which producer ids of a connection's Produce requests may be new to their user (KIP-936).

When a batch is refused, later batches of its producer id are refused too, until the first one is
retried. A producer has several requests in flight. The mute lasts until the quota admits a new id,
so the second request would be stored before the first. The retries of the first would then be out
of order until the producer gives up.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.config.quota_keys import AUTO_ERROR_CODE
from broker.request.client_software import fails_on_throttling_quota_exceeded
from broker.request.context import RequestContext
from broker.request.session import ProducerIds
from broker.request.shadow_quotas import count_if_shadow
from protocol.errors import ErrorCode
from protocol.produce import PartitionResult
from protocol.records import BatchHeader
from quotas.entities import PRODUCER_IDS_RATE
from quotas.producer_ids import ProducerIdQuotaManager

SENT_AHEAD_MAX = 4
"""Requests that a client may have in flight behind a refused one.

With KIP-758 the limit is the size of the window instead.
"""

SENT_AHEAD_MS = 1_000
"""How long after the first of these requests the others may still arrive.

After it, a producer that dropped the refused batch may continue in the same epoch.
"""

_SEQUENCES = 1 << 31

_MESSAGE = "The throttling quota has been exceeded."


class _Refused:
    """The last producer that was refused, and the batches that it must retry first."""

    __slots__ = (
        "base_sequences",
        "early_requests",
        "early_since_ms",
        "last_early",
        "producer_epoch",
        "producer_id",
    )

    def __init__(self, header: BatchHeader) -> None:
        self.producer_id = header.producer_id
        self.producer_epoch = header.producer_epoch
        self.base_sequences: dict[Partition, int] = {}
        self.early_requests = 0
        """`early_requests` counts requests with early batches; `last_early` is one of them."""
        self.early_since_ms = 0
        self.last_early: RequestContext | None = None

    def is_of(self, header: BatchHeader) -> bool:
        return (
            header.producer_id == self.producer_id and header.producer_epoch == self.producer_epoch
        )


class ProducerIdGate:
    """The producer ids that one connection uses at one broker."""

    __slots__ = (
        "_cluster",
        "_known_id",
        "_known_until_ms",
        "_limits",
        "_manager",
        "_refused",
        "_version",
    )

    def __init__(self, cluster: Cluster, manager: ProducerIdQuotaManager) -> None:
        self._cluster = cluster
        self._manager = manager
        self._limits = cluster.quotas.clients.producer_ids_rate
        # The last admitted id; it needs no check by the manager until `_known_until_ms`.
        self._known_id = -1
        self._known_until_ms = 0
        self._version = -1
        self._refused: _Refused | None = None

    def is_known(self, producer_id: int, now_ms: int) -> bool:
        """Whether the last id that was admitted is used again, so that nothing has to be asked."""
        return (
            producer_id == self._known_id
            and now_ms < self._known_until_ms
            and self._version == self._limits.version
        )

    def refuse(
        self, context: RequestContext, partition: Partition, header: BatchHeader
    ) -> PartitionResult | None:
        """Return the error for a batch that passed all other checks, or None to append it."""
        producer_id = header.producer_id
        if self.is_known(producer_id, context.now_ms):
            return None
        if not self._is_early(context, partition, header):
            if self._track(context, producer_id):
                return None
            self._remember(partition, header)
        error_code = self._error_code(context)
        return PartitionResult(partition.partition_index, error_code, error_message=_MESSAGE)

    def _error_code(self, context: RequestContext) -> ErrorCode:
        """Return the configured error; by default one that the client's library retries."""
        config = self._cluster.config.for_broker(context.broker_id)
        name: str = config["producer.id.quota.error.code"]
        if name != AUTO_ERROR_CODE:
            return ErrorCode[name]
        if fails_on_throttling_quota_exceeded(context.session.client_software, context.client_id):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return ErrorCode.THROTTLING_QUOTA_EXCEEDED

    def _track(self, context: RequestContext, producer_id: int) -> bool:
        manager, now_ms = self._manager, context.now_ms
        was_tracking = manager.is_tracking
        throttle_time_ms = manager.track(context.principal, producer_id, now_ms)
        if throttle_time_ms > 0:
            # A quota that has refused an id of this request is not in shadow mode.
            shadowed = None
            if context.throttled_by is not manager:
                shadowed = count_if_shadow(
                    context, self._cluster, PRODUCER_IDS_RATE.name, throttle_time_ms, now_ms
                )
            if shadowed is None:
                context.throttle(throttle_time_ms, manager, now_ms)
                return False
            shadowed.counter.exceed_with_id(producer_id)
            return True
        if manager.is_tracking and not was_tracking:
            _schedule_cleanup(self._cluster, manager, now_ms)
        if self._refused is None:
            self._known_id = producer_id
            self._known_until_ms = manager.known_until_ms(context.principal)
            self._version = self._limits.version
        return True

    def _is_early(self, context: RequestContext, partition: Partition, header: BatchHeader) -> bool:
        refused = self._refused
        if refused is None or not refused.is_of(header):
            return False
        expected = refused.base_sequences.get(partition)
        if expected is None:
            return False
        if 0 < (header.base_sequence - expected) % _SEQUENCES < _SEQUENCES // 2:
            if context is not refused.last_early:
                refused.last_early = context
                refused.early_requests += 1
                if refused.early_requests == 1:
                    refused.early_since_ms = context.now_ms
            is_ahead = context.now_ms < refused.early_since_ms + SENT_AHEAD_MS
            if is_ahead and refused.early_requests <= self._sent_ahead_max(context.broker_id):
                return True
        del refused.base_sequences[partition]
        if not refused.base_sequences:
            self._refused = None
        return False

    def _sent_ahead_max(self, broker_id: int) -> int:
        config = self._cluster.config.for_broker(broker_id)
        if config["producer.state.batches"] == 1:
            window: int = config["max.in.flight.sequence.number.per.connection"]
            return window
        return SENT_AHEAD_MAX

    def _remember(self, partition: Partition, header: BatchHeader) -> None:
        self._known_id = -1
        refused = self._refused
        if refused is None or not refused.is_of(header):
            self._refused = refused = _Refused(header)
        refused.base_sequences[partition] = header.base_sequence
        refused.early_requests = 0


def producer_id_gate(context: RequestContext, cluster: Cluster) -> ProducerIds | None:
    """Return the gate of a request's connection; None if no user has this quota."""
    session = context.session
    gate = session.producer_ids
    if gate is None and cluster.quotas.clients.producer_ids_rate.is_enabled:
        session.producer_ids = gate = ProducerIdGate(
            cluster, cluster.quotas.brokers[context.broker_id].producer_ids
        )
    return gate


def _schedule_cleanup(cluster: Cluster, manager: ProducerIdQuotaManager, now_ms: int) -> None:
    """Schedule the next cleanup of expired layers, while any producer id is tracked.

    Cleanups run at multiples of `...cleanup.scheduler.interval.ms`; those with no work are skipped.
    """
    expiry_ms = manager.next_expiry_ms
    if expiry_ms is None:
        return

    def clean_up(now_ms: int) -> None:
        manager.expire(now_ms)
        _schedule_cleanup(cluster, manager, now_ms)

    interval_ms = cluster.config["producer.id.quota.cache.cleanup.scheduler.interval.ms"]
    interval_count = -((now_ms - expiry_ms) // interval_ms)
    cluster.timers.schedule(now_ms + interval_count * interval_ms, clean_up)
