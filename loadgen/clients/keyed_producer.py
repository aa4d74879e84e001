"""A producer of records with keys and headers, compressed: each batch has one key.

The key chooses the partition, as in Kafka's producers. With `key_skew` few keys get most of the
batches, and so do their partitions.
"""

from array import array
from bisect import bisect
from functools import partial
from itertools import accumulate

from loadgen.clients.load_client import Event, Run
from loadgen.clients.partition_producer import PartitionProducer
from loadgen.clients.produce_frames import (
    CORRELATION,
    CORRELATION_POSITION,
    EVENT,
    ProduceResponses,
    request_frame,
)
from loadgen.plan.plan import Tenant
from protocol.batch_builder import BatchBuilder, stamp_producer
from protocol.partition_hash import partition_for_key

_SALT_SPAN = 2**62
_HEADER = b"0123456789abcdef"
_WORDS = b"order customer 4711 amount 19.99 EUR shipped to Berlin at 2026-01-31T12:00:00Z; "
"""The values, which compress about as well as JSON."""


class KeyShares:
    """The keys of a tenant: the share of key number k is proportional to (k + 1) ** -skew."""

    def __init__(self, keys: int, skew: float) -> None:
        self._ends = array("d", accumulate((number + 1) ** -skew for number in range(keys)))

    def key_of(self, salt: int) -> int:
        """Return the number of the key that 62 random bits choose."""
        found = bisect(self._ends, salt / _SALT_SPAN * self._ends[-1])
        return min(found, len(self._ends) - 1)


class KeyedFrames(ProduceResponses):
    """Builds the request of one event; unlike those of `ProduceFrames` each batch differs."""

    def __init__(
        self, tenant: Tenant, partition: int, key: bytes, timestamp_ms: int, version: int
    ) -> None:
        super().__init__(version, tenant.topic, partition)
        self._tenant, self._partition = tenant, partition
        self._key, self._timestamp_ms = key, timestamp_ms

    def frame(
        self, correlation_id: int, producer_id: int, epoch: int, sequence: int, event_id: int
    ) -> bytes:
        """Return the request; producer id, epoch and sequence are -1 without idempotence."""
        tenant = self._tenant
        batch = stamp_producer(self.batch(event_id), producer_id, epoch, sequence)
        frame = request_frame(
            batch,
            version=self.version,
            client_id=tenant.client_id,
            topic=tenant.topic,
            partition=self._partition,
            acks=tenant.required_acks,
            timeout_ms=tenant.request_timeout_ms,
        )
        CORRELATION.pack_into(frame, CORRELATION_POSITION, correlation_id)
        return bytes(frame)

    def batch(self, event_id: int) -> bytes:
        """Return the batch of an event; its id is the beginning of every value."""
        tenant = self._tenant
        size = tenant.record_sizes[0]
        builder = BatchBuilder(tenant.compression, 2**31 - 1)
        headers = [(f"header-{number}", _HEADER) for number in range(tenant.headers)]
        value = EVENT.pack(event_id) + _text(size - EVENT.size, event_id)
        for _ in range(tenant.records):
            builder.append(self._timestamp_ms, self._key, value, headers)
        return builder.build()


class KeyedProducer(PartitionProducer):
    """Sends one batch after the other, each with the key that its event has chosen."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._keys = KeyShares(tenant.keys, tenant.key_skew)
        self._partitions = len(run.topology.leaders.get(tenant.topic, [-1]))

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        key = b"key-%d" % self._keys.key_of(event.salt)
        partition = partition_for_key(key, self._partitions)
        frames_of = partial(KeyedFrames, self.tenant, partition, key, self.run.timestamp_ms)
        await self.deliver(event, self.tenant.topic, partition, self.tenant.records, frames_of)


def _text(size: int, seed: int) -> bytes:
    start = seed % len(_WORDS)
    return (_WORDS * (size // len(_WORDS) + 2))[start : start + size]
