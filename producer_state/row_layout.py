"""The bytes of a producer's row after its id: epoch, batches, and KIP-758's floor.

The fields of a producer are 38 bytes under KIP-758's rule (id 8, epoch 2, sequences 4 + 4, offset
8, timestamp 8, floor 4). Under Kafka's they are 130: 24 per further batch, no floor. A million of
them in 100 partitions take 49 and 149 bytes each of resident memory: 12 rows share the head of a
bucket, and the allocator rounds buckets up (`benchmarks`, producer-state). Transactional state is
kept separately (`transactions`), for the producers that have it.
"""

from functools import cache
from struct import Struct

from producer_state.row_table import ID_BYTES, RowTable
from producer_state.rules import (
    NO_OFFSET,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    WINDOW_MAX,
    Batch,
    Entry,
    RuleSet,
    floor_after,
)

# After the id: epoch, then the batches as in `Batch`, newest first, then KIP-758's floor.
BATCH = Struct("<iiqq")
EPOCH = Struct("<h")
EPOCH_AND_NEWEST = Struct("<hiiqq")
LAST_SEQUENCE = Struct("<h4xi")
FLOOR = Struct("<i")
BATCHES_AT = ID_BYTES + EPOCH.size
TIMESTAMP_AT = BATCHES_AT + 16
FLOOR_AT = ID_BYTES + EPOCH_AND_NEWEST.size
# Only a batch that contains a multiple of 2^29 updates the floor: doing so every time would cost a
# tenth of `apply`. In between, the floor is at most 3/4 of all sequence numbers before the newest
# one, so it never seems to be after it. An epoch begins with 0, a multiple.
FLOOR_PERIOD_MASK = 2**29 - 1
_NO_SEQUENCE_BYTES = FLOOR.pack(NO_SEQUENCE)
_NO_BATCH = BATCH.pack(NO_SEQUENCE, NO_SEQUENCE, NO_OFFSET, NO_TIMESTAMP)


class Layout:
    """The layout of a row under a rule set; one object for all partitions of that rule set.

    `pack` and `pack_into` take the fields after the id: epoch, newest batch, bytes of the tail. A
    new row has the tail `first_tail`. Under Kafka's rule the tail has the older batches;
    `unpack_moved` returns the epoch and the bytes of all batches but the oldest. Under KIP-758's it
    is the floor. `timestamps` unpacks the newest timestamp of each of several rows.
    """

    __slots__ = (
        "batches_end",
        "first_tail",
        "has_floor",
        "pack",
        "pack_into",
        "row_bytes",
        "rules",
        "timestamps",
        "unpack_moved",
    )

    def __init__(self, batches: int, window: int) -> None:
        self.rules = RuleSet(batches, window)
        self.has_floor = batches == 1
        self.first_tail = FLOOR.pack(0) if self.has_floor else _NO_BATCH * (batches - 1)
        tail_bytes = len(self.first_tail)
        fields = Struct(f"<hiiqq{tail_bytes}s")
        self.row_bytes = ID_BYTES + fields.size
        self.batches_end = BATCHES_AT + batches * BATCH.size
        self.pack = fields.pack
        self.pack_into = fields.pack_into
        self.unpack_moved = Struct(f"<h{tail_bytes}s").unpack_from
        self.timestamps = Struct(f"<{TIMESTAMP_AT}xq{tail_bytes}x")


layout_of = cache(Layout)


def with_floor(row: bytes) -> bytes:
    """Convert a row of Kafka's rule to one of KIP-758's."""
    newest = row[:FLOOR_AT]
    for batch_at in range(len(row) - BATCH.size, BATCHES_AT - 1, -BATCH.size):
        if row[batch_at + 4 : batch_at + 8] != _NO_SEQUENCE_BYTES:
            return newest + row[batch_at : batch_at + 4]
    return newest + FLOOR.pack(0)


def row_of(layout: Layout, entry: Entry) -> bytes:
    """Return the fields of a saved entry, perhaps of the other rule, as `with_floor` has them."""
    batches = entry.batches
    newest = batches[0] if batches else Batch(NO_SEQUENCE, NO_SEQUENCE, NO_OFFSET, NO_TIMESTAMP)
    if layout.has_floor:
        oldest_sequence = batches[-1].first_sequence if batches else 0
        tail = FLOOR.pack(oldest_sequence if entry.floor == NO_SEQUENCE else entry.floor)
    else:
        older = b"".join(BATCH.pack(*batch) for batch in batches[1:])
        tail = (older + layout.first_tail)[: len(layout.first_tail)]
    timestamp = newest.timestamp if batches else entry.last_timestamp
    return layout.pack(entry.producer_epoch, *newest[:3], timestamp, tail)


def epoch_at(table: RowTable, position: int) -> int:
    """Return the epoch in the row at this position of the bucket that was found last."""
    epoch: int = EPOCH.unpack_from(table.bucket, position + ID_BYTES)[0]
    return epoch


def batches_at(table: RowTable, position: int, layout: Layout) -> tuple[Batch, ...]:
    """Return the batches in the row at this position of the bucket that was found last."""
    rows = table.bucket[position + BATCHES_AT : position + layout.batches_end]
    batches = map(Batch._make, BATCH.iter_unpack(rows))
    return tuple(batch for batch in batches if batch.last_sequence != NO_SEQUENCE)


def floor_at(table: RowTable, position: int, layout: Layout) -> int:
    """Return the floor in that row; NO_SEQUENCE under Kafka's rule, which has none."""
    floor: int = NO_SEQUENCE
    if layout.has_floor:
        floor = FLOOR.unpack_from(table.bucket, position + FLOOR_AT)[0]
    return floor


def set_floor(
    table: RowTable,
    position: int,
    producer_epoch: int,
    base_sequence: int,
    last_offset_delta: int,
) -> None:
    """Write the floor after a batch; the row still has the previous batch."""
    floor = base_sequence
    if epoch_at(table, position) == producer_epoch:
        floor = FLOOR.unpack_from(table.bucket, position + FLOOR_AT)[0]
        if floor == base_sequence and last_offset_delta < WINDOW_MAX:
            return  # as for the first batch after a marker
    floor = floor_after(floor, base_sequence, last_offset_delta)
    FLOOR.pack_into(table.bucket, position + FLOOR_AT, floor)
