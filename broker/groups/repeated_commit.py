"""Offsets that a client commits again and again: the same partitions, with other offsets."""

from collections.abc import Sequence
from struct import Struct
from uuid import UUID

from broker.groups.group_records import OFFSET_PLACE, committed_ms_place, offset_key, offset_value
from broker.groups.requests import CommitRequest
from broker.groups.results import CommittedOffset
from broker.groups.transactional_offsets import OffsetKey
from protocol.batch_builder import RepeatedBatch
from protocol.coordinator_records import COORDINATOR_SEQUENCE, CoordinatorRecord

_Planned = tuple[OffsetKey, str, UUID | None]
"""The key of an offset, its metadata, and the id of its topic in versions that have it."""

_OFFSET = Struct(">qi")
_TIME = Struct(">q")


class RepeatedCommit:
    """What such requests have in common, among it the batch with the records of their offsets."""

    __slots__ = ("_batch", "_places", "_planned", "records", "request")

    def __init__(self, request: CommitRequest, places: Sequence[int]) -> None:
        self.request = request
        self._planned: list[_Planned] = []
        records = []
        for offset in request.offsets:
            key = (request.group_id, offset.topic_name, offset.partition_index)
            committed = CommittedOffset(0, 0, offset.metadata or "", 0, None, offset.topic_id)
            self._planned.append((key, committed.metadata, offset.topic_id))
            records.append((offset_key(*key), offset_value(committed)))
        self.records: Sequence[CoordinatorRecord] = records
        """The key of each record, and a value of the right size."""
        self._batch = RepeatedBatch(records, COORDINATOR_SEQUENCE)
        self._places = [
            (value_at + OFFSET_PLACE, value_at + place)
            for value_at, place in zip(self._batch.value_places, places, strict=True)
        ]

    @staticmethod
    def of(request: CommitRequest) -> "RepeatedCommit | None":
        """Return what requests like this one have in common; None if metadata is long."""
        places = [committed_ms_place(offset.metadata or "") for offset in request.offsets]
        known = [place for place in places if place is not None]
        return RepeatedCommit(request, known) if len(known) == len(places) else None

    def batch(
        self,
        offsets: Sequence[tuple[int, int]],
        base_offset: int,
        leader_epoch: int,
        now_ms: int,
    ) -> bytes:
        """Return the batch of a request; `offsets` has each offset with its leader epoch."""
        buffer = self._batch.buffer
        for (offset, offset_epoch), (offset_at, time_at) in zip(offsets, self._places, strict=True):
            _OFFSET.pack_into(buffer, offset_at, offset, offset_epoch)
            _TIME.pack_into(buffer, time_at, now_ms)
        return self._batch.build(base_offset, leader_epoch, now_ms)

    def committed(
        self, offsets: Sequence[tuple[int, int]], now_ms: int
    ) -> list[tuple[OffsetKey, CommittedOffset]]:
        """Return what a request commits."""
        return [
            (key, CommittedOffset(offset, epoch, metadata, now_ms, None, topic_id))
            for (key, metadata, topic_id), (offset, epoch) in zip(
                self._planned, offsets, strict=True
            )
        ]
