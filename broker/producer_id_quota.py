"""What bringing producer ids costs the user whose Produce requests carry them (KIP-936).

An id that is refused has its later batches refused as well, until the first one is sent again. A
producer sends several requests ahead; the second, which waited behind the mute for just the time
that a new id takes, would else be stored before the first, and that one be taken for a duplicate.
"""

from typing import TYPE_CHECKING

from protocol.errors import ErrorCode
from protocol.produce import PartitionResult

if TYPE_CHECKING:
    from broker.cluster import Cluster
    from broker.context import RequestContext
    from broker.topics import Partition
    from protocol.records import BatchHeader
    from quotas.producer_ids import ProducerIdQuotaManager

SENT_AHEAD_MAX = 4
"""Requests behind a refused one that its client sent before it heard: five may be in flight.

A producer that was told KIP-758's window may have as many in flight as the window has numbers.
"""

_MESSAGE = "The throttling quota has been exceeded."


class RefusedProducer:
    """The producer that was refused last on a connection, and what it has to send again first."""

    __slots__ = ("base_sequences", "producer_epoch", "producer_id", "requests_left")

    def __init__(self, producer_id: int, producer_epoch: int, requests_left: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequences: dict[Partition, int] = {}
        self.requests_left = requests_left

    def is_of(self, header: "BatchHeader") -> bool:
        """Whether a batch is from the same producer in the same epoch."""
        return (
            header.producer_id == self.producer_id and header.producer_epoch == self.producer_epoch
        )


class ProducerIdQuota:
    """The quota of one request: one decision for each producer id in it."""

    __slots__ = ("_cluster", "_context", "_is_admitted", "_manager")

    def __init__(
        self,
        context: "RequestContext",
        cluster: "Cluster",
        manager: "ProducerIdQuotaManager",
    ) -> None:
        self._context = context
        self._cluster = cluster
        self._manager = manager
        self._is_admitted: dict[int, bool] = {}
        refused = context.session.refused_producer
        if refused is not None:
            refused.requests_left -= 1
            if refused.requests_left < 0:
                context.session.refused_producer = None

    def refuse(self, partition: "Partition", header: "BatchHeader") -> PartitionResult | None:
        """What to answer for a batch that is otherwise fine to append; None when it may be."""
        if not self._is_ahead(partition, header):
            producer_id = header.producer_id
            is_admitted = self._is_admitted.get(producer_id)
            if is_admitted is None:
                self._is_admitted[producer_id] = is_admitted = self._track(producer_id)
            if is_admitted:
                return None
            self._remember(partition, header)
        config = self._cluster.config.for_broker(self._context.broker_id)
        error_code = ErrorCode[config["producer.id.quota.error.code"]]
        return PartitionResult(partition.partition_index, error_code, error_message=_MESSAGE)

    def _track(self, producer_id: int) -> bool:
        context, manager = self._context, self._manager
        now_ms = context.now_ms
        was_tracking = manager.is_tracking
        throttle_time_ms = manager.track(context.principal, producer_id, now_ms)
        context.throttle(throttle_time_ms, manager, now_ms)
        if manager.is_tracking and not was_tracking:
            _schedule_cleanup(self._cluster, manager, now_ms)
        return throttle_time_ms == 0

    def _is_ahead(self, partition: "Partition", header: "BatchHeader") -> bool:
        refused = self._context.session.refused_producer
        if refused is None or not refused.is_of(header):
            return False
        expected = refused.base_sequences.get(partition)
        if expected is None:
            return False
        if header.base_sequence > expected:
            return True
        del refused.base_sequences[partition]
        return False

    def _remember(self, partition: "Partition", header: "BatchHeader") -> None:
        session, config = self._context.session, self._cluster.config
        refused = session.refused_producer
        requests_left = SENT_AHEAD_MAX
        if config["producer.state.batches"] == 1:
            requests_left = config["max.in.flight.sequence.number.per.connection"]
        if refused is None or not refused.is_of(header):
            session.refused_producer = refused = RefusedProducer(
                header.producer_id, header.producer_epoch, requests_left
            )
        refused.base_sequences[partition] = header.base_sequence
        refused.requests_left = requests_left


def producer_id_quota(context: "RequestContext", cluster: "Cluster") -> ProducerIdQuota | None:
    """The quota of a request; None as long as no user was given one."""
    manager = cluster.quotas.brokers[context.broker_id].producer_ids
    return ProducerIdQuota(context, cluster, manager) if manager.is_enabled else None


def _schedule_cleanup(cluster: "Cluster", manager: "ProducerIdQuotaManager", now_ms: int) -> None:
    """Have layers past their window dropped, for as long as anything is tracked.

    At the times of a look every `...cleanup.scheduler.interval.ms`, but for the looks that would
    find nothing to do.
    """
    expiry_ms = manager.next_expiry_ms
    if expiry_ms is None:
        return

    def clean_up(now_ms: int) -> None:
        manager.expire(now_ms)
        _schedule_cleanup(cluster, manager, now_ms)

    interval_ms = cluster.config["producer.id.quota.cache.cleanup.scheduler.interval.ms"]
    looks = -((now_ms - expiry_ms) // interval_ms)
    cluster.timers.schedule(now_ms + looks * interval_ms, clean_up)
