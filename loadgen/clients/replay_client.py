"""A client that sends batches of a trace; each event has its batch in the salt."""

from functools import partial

from loadgen.clients.load_client import Event, Run
from loadgen.clients.partition_producer import PartitionProducer
from loadgen.clients.produce_frames import ProduceFrames
from loadgen.plan.plan import Tenant
from loadgen.plan.replayed_batch import ReplayedBatch, unpack

FRAMES_MAX = 16
"""Encoders that a client keeps: one for each topic, partition and size of its last batches."""


class ReplayClient(PartitionProducer):
    """Sends one batch after the other, with a new producer id where the trace has one."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._frames: dict[tuple[int, ReplayedBatch], ProduceFrames] = {}

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        batch = unpack(event.salt)
        if batch.is_first:
            self.replace_producer()
        topic = self.run.plan.topics[batch.topic].name
        frames_of = partial(self._frames_of, batch._replace(is_first=False))
        await self.deliver(event, topic, batch.partition, batch.records, frames_of)

    def _frames_of(self, batch: ReplayedBatch, version: int) -> ProduceFrames:
        frames = self._frames.get((version, batch))
        if frames is None:
            if len(self._frames) >= FRAMES_MAX:
                del self._frames[next(iter(self._frames))]
            frames = self._frames[version, batch] = ProduceFrames(
                version=version,
                client_id=self.tenant.client_id,
                topic=self.run.plan.topics[batch.topic].name,
                partition=batch.partition,
                records=batch.records,
                record_bytes=batch.record_bytes,
                timestamp_ms=self.run.timestamp_ms,
                acks=self.tenant.required_acks,
                timeout_ms=self.tenant.request_timeout_ms,
            )
        return frames
