"""Take Produce requests apart that differ from an earlier one in little but their records.

A producer that writes to many partitions often sends batches of the sizes that it sent before. All
that stays is then compared as bytes, and two calls of C return the rest, whatever the number of
partitions.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import add, call
from struct import Struct
from typing import NamedTuple, TypeAlias

from broker.cluster.topics import Partition
from producer_state.noted_batches import BatchColumns, NotedBatches
from producer_state.producer_batches import (
    ProducedBatch,
    ProducerBatches,
    are_next,
    requests_without_floor,
)
from protocol.checksum import crc32c
from protocol.produce_template import CONSTANT_AT
from protocol.records import (
    CRC_POSITION,
    CRC_START,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
)

_LENGTH_TO_MAGIC = Struct(">iib")

IsKnownProducer: TypeAlias = Callable[[int, int], bool]
"""Whether the quota of producer ids (KIP-936) has nothing to decide about an id at a time."""


class FittingBatches(NamedTuple):
    """What will be appended to the partitions of a request: a batch for each, in its order."""

    stored: Sequence[bytes]
    """The batches with the offsets that they will have."""
    stored_bytes: int
    """The size of all batches together."""
    base_offsets: Sequence[int]
    end_offsets: Sequence[int]
    """Where the logs will end."""
    produced: Sequence[ProducedBatch] = ()
    """What is to be known of the batches that have a producer id."""
    noted: tuple[NotedBatches, Sequence[ProducerBatches], BatchColumns] | None = None
    """Where to note the same, and the state of the partitions, if it is enough to note that."""


class BatchLayout:
    """The layout of requests like one that was accepted: what they share, and where the rest is.

    Either all batches have a producer, or none has. None belongs to a transaction.
    """

    __slots__ = (
        "_attributes",
        "_constants",
        "_counts",
        "_distinct_ids",
        "_end_offsets",
        "_epochs",
        "_has_producers",
        "_headers",
        "_ids",
        "_keeps_one_batch",
        "_last_deltas",
        "_logs",
        "_next_sequences",
        "_noted",
        "_notes_left",
        "_packers",
        "_states",
        "_stored_bytes",
        "_unpack",
        "_unpack_headers",
        "places",
    )

    def __init__(
        self, places: Sequence[tuple[int, int]], end: int, partitions: Sequence[Partition]
    ) -> None:
        """`places` are the ranges of the batches in a request that ends at `end`; `learn` follows.

        The layout is good as long as the leaders of the partitions stay.
        """
        parts = headers = f">{CONSTANT_AT}x"
        position = CONSTANT_AT
        for batch_start, batch_end in places:
            crc_at, covered_at = batch_start + CRC_POSITION, batch_start + CRC_START
            parts += f"{crc_at - position}sI{batch_end - covered_at}s"
            records_bytes = batch_end - batch_start - HEADER_BYTES
            headers += f"{covered_at - position}xHI8xqqhii{records_bytes}x"
            position = batch_end
        self.places = places
        self._stored_bytes = sum(batch_end - batch_start for batch_start, batch_end in places)
        # Returns what is before the CRC, the CRC, and what it covers, of each batch.
        self._unpack = Struct(f"{parts}{end - position}s").unpack_from
        # Returns attributes, last offset delta, largest timestamp, producer id, epoch, base
        # sequence, and number of records of each batch.
        self._unpack_headers = Struct(headers).unpack_from
        # Pack a batch as it is stored: base offset, what follows up to the CRC, CRC, and the rest.
        self._packers = tuple(
            _stored_batch(batch_end - batch_start - CRC_START).pack
            for batch_start, batch_end in places
        )
        # What is between base offset and CRC of a stored batch: length, leader epoch and magic.
        self._headers = tuple(
            _LENGTH_TO_MAGIC.pack(end - start - LOG_OVERHEAD_BYTES, partition.leader_epoch, MAGIC)
            for (start, end), partition in zip(places, partitions, strict=True)
        )
        self._logs = tuple(partition.log for partition in partitions)
        self._states = tuple(partition.producers for partition in partitions)
        self._keeps_one_batch = all(state.keeps_one_batch for state in self._states)
        self._noted = NotedBatches()
        self._notes_left = 0
        """Requests that may be noted before one has to be written."""
        # Where the logs end and which sequence numbers follow behind the latest request.
        self._end_offsets: Sequence[int] = ()
        self._next_sequences: tuple[int, ...] = ()

    def learn(self, frame: bytes | bytearray, start: int) -> None:
        """Remember a request of this layout whose batches were accepted."""
        fields = self._unpack_headers(frame, start)
        self._constants = self._unpack(frame, start)[::3]
        self._attributes, self._last_deltas, self._counts = fields[::7], fields[1::7], fields[6::7]
        self._ids, self._epochs = fields[3::7], fields[4::7]
        self._distinct_ids = tuple(set(self._ids))
        self._has_producers = self._ids[0] >= 0
        self._end_offsets = ()

    # Hot path: most loops are in C.
    def fitting_batches(
        self,
        frame: bytes | bytearray,
        start: int,
        latest_ms: int,
        now_ms: int,
        is_known_producer: IsKnownProducer | None,
        latest_end_offsets: Sequence[int],
    ) -> FittingBatches | None:
        """Return the batches of a request of this size; None if it differs or one is unusual.

        No timestamp may be after `latest_ms`. `latest_end_offsets` is the object of the batches
        that were appended last to these partitions by this connection.
        """
        parts = self._unpack(frame, start)
        fields = self._unpack_headers(frame, start)
        crcs, covered = parts[1::3], parts[2::3]
        max_timestamps = fields[2::7]
        if (
            parts[::3] != self._constants
            or fields[::7] != self._attributes
            or fields[1::7] != self._last_deltas
            or fields[3::7] != self._ids
            or fields[4::7] != self._epochs
            or fields[6::7] != self._counts
            or max(max_timestamps) > latest_ms
            or tuple(map(crc32c, covered)) != crcs
        ):
            return None
        counts = self._counts
        base_offsets = [log.log_end_offset for log in self._logs]
        end_offsets = list(map(add, base_offsets, counts))
        produced: Sequence[ProducedBatch] = ()
        noted: tuple[NotedBatches, Sequence[ProducerBatches], BatchColumns] | None = None
        if self._has_producers:
            sequences = fields[5::7]
            columns = (
                self._ids,
                self._epochs,
                sequences,
                self._last_deltas,
                base_offsets,
                max_timestamps,
            )
            # Only what is appended changes the state of a producer, until that expires.
            if (
                self._end_offsets is latest_end_offsets
                and base_offsets == latest_end_offsets
                and sequences == self._next_sequences
                and self._notes_left
            ):
                self._notes_left -= 1
                noted = self._noted, self._states, columns
            else:
                produced = list(zip(self._states, *columns, strict=True))
                if not are_next(produced):
                    return None
                self._notes_left = self._keeps_one_batch and requests_without_floor(
                    map(add, sequences, counts), counts
                )
            if is_known_producer is not None:
                for producer_id in self._distinct_ids:
                    if not is_known_producer(producer_id, now_ms):
                        return None
            self._end_offsets = end_offsets
            self._next_sequences = tuple(map(add, sequences, counts))
        stored = list(map(call, self._packers, base_offsets, self._headers, crcs, covered))
        return FittingBatches(
            stored, self._stored_bytes, base_offsets, end_offsets, produced, noted
        )


@lru_cache(maxsize=256)
def _stored_batch(covered_bytes: int) -> Struct:
    """Return the layout of a stored batch whose CRC covers so many bytes."""
    return Struct(f">q9sI{covered_bytes}s")
