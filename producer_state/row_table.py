"""Rows of bytes by producer id: a hash table whose entries cost little more than their fields.

A dict of objects takes 400 bytes and more per entry (slot, int, object and values), and a dict of
packed bytes 125 bytes for a row of 34. Here rows are stored end to end in buckets of about
`ROWS_PER_BUCKET`, and a row is found by searching the bucket's bytes for its key. The only overhead
is a bytearray per bucket.

Buckets are split one at a time (linear hashing, Litwin 1980), so growth moves the rows of only one
bucket at a time, at any size.
"""

import heapq
import sys
from collections.abc import Callable, Iterator
from struct import Struct

from protocol.pacing import may_pause, paced, paced_stream

ROWS_PER_BUCKET = 12
"""Maximum on average. More cost time to search; fewer cost a bytearray's 57 bytes per bucket.

From Python 3.15 those are 97 bytes.

With 12 rows of 38 bytes nearly all buckets have at most 512 bytes, which Python's own allocator
serves: it rounds less than malloc, and the pages that small buckets leave serve other buckets.
"""
ROWS_PER_BUCKET_MIN = 4
"""Below this average, buckets are merged."""
SORTED_TOGETHER = 4096
"""Producer ids that one call sorts, in less than a millisecond."""
ID_BYTES = 8

_ID = Struct("<q")
_pack_id = _ID.pack
_unpack_id = _ID.unpack_from

# Ids are stored XORed with this mask: otherwise the zero bytes of a small id would be found in
# every offset and sequence number. A match that is not an id is recognised by its position.
_ID_MASK = 0x35A9C3E7915D2BF1

# Not a 64-bit number, so no caller looks it up.
_NO_ID = -(2**64)
_ABSENT = -1
# The buckets of a table without rows; never changed.
_NO_BUCKETS = [bytearray()]


class RowTable:
    """Protocol: call `find` first; its position is valid in `bucket` until the next call.

    Rows have `row_bytes` bytes; the first `ID_BYTES` are the masked producer id. `find` sets
    `bucket` and returns the position of the row in it; the fields after the id are read and written
    there in place. `found_id` and `found_position` are the last result of `find`, until rows are
    added or removed: a caller that needs the same row again can skip the call.
    """

    __slots__ = (
        "_buckets",
        "_low_mask",
        "_row_count",
        "_split",
        "bucket",
        "found_id",
        "found_position",
        "row_bytes",
    )

    def __init__(self, row_bytes: int) -> None:
        self.row_bytes = row_bytes
        self.bucket = _NO_BUCKETS[0]
        # Buckets before `_split`, and those split off them, use one more bit of the hash.
        self._buckets = _NO_BUCKETS
        self._low_mask = 0
        self._split = 0
        self._row_count = 0
        # Each batch is looked up twice: by `check` and by `apply`.
        self.found_id = _NO_ID
        self.found_position = _ABSENT

    def __len__(self) -> int:
        return self._row_count

    @property
    def bucket_count(self) -> int:
        """Number of buckets, for `rows_of` and `keep`; 0 if there was never a row."""
        return 0 if self._buckets is _NO_BUCKETS else len(self._buckets)

    def find(self, producer_id: int) -> int:
        """Set `self.bucket`; return the position of the row in it, negative if absent."""
        if producer_id == self.found_id:
            return self.found_position
        key = _pack_id(producer_id ^ _ID_MASK)
        key_hash = hash(key)
        index = key_hash & self._low_mask
        if index < self._split:
            index = key_hash & (2 * self._low_mask + 1)
        self.bucket = bucket = self._buckets[index]
        position = bucket.rfind(key)
        while position % self.row_bytes and position >= 0:
            position = bucket.rfind(key, 0, position + ID_BYTES - 1)
        self.found_id = producer_id
        self.found_position = position
        return position

    def add(self, producer_id: int, fields: bytes) -> None:
        """Add the row of a producer that has none."""
        if self._buckets is _NO_BUCKETS:
            self._buckets = [bytearray()]
            self.found_id = _NO_ID
        self.find(producer_id)
        self.bucket += _pack_id(producer_id ^ _ID_MASK) + fields
        self.found_id = _NO_ID
        self._row_count += 1
        if self._row_count > ROWS_PER_BUCKET * len(self._buckets):
            self._split_one()

    def _split_one(self) -> None:
        bucket = self._buckets[self._split]
        bit = self._low_mask + 1
        staying: list[bytes] = []
        moving: list[bytes] = []
        for position in range(0, len(bucket), self.row_bytes):
            row = bytes(bucket[position : position + self.row_bytes])
            (moving if hash(row[:ID_BYTES]) & bit else staying).append(row)
        self._buckets[self._split] = bytearray(b"".join(staying))
        self._buckets.append(bytearray(b"".join(moving)))
        self._split += 1
        if self._split == bit:
            self._low_mask = 2 * self._low_mask + 1
            self._split = 0

    def merge_one(self) -> bool:
        """Undo the latest split if there are few rows; return False if there are not."""
        if self.bucket_count <= 1 or self._row_count > ROWS_PER_BUCKET_MIN * self.bucket_count:
            return False
        if self._split == 0:
            self._low_mask >>= 1
            self._split = self._low_mask + 1
        self._split -= 1
        self._buckets[self._split] += self._buckets.pop()
        self.found_id = _NO_ID
        return True

    def rows_of(self, bucket_index: int) -> bytearray:
        """Return the rows of one bucket, end to end; do not change them."""
        return self._buckets[bucket_index]

    def keep(self, bucket_index: int, positions: list[int]) -> int:
        """Remove the rows of a bucket except those at `positions`; return how many."""
        bucket = self._buckets[bucket_index]
        kept = b"".join(bucket[position : position + self.row_bytes] for position in positions)
        removed = (len(bucket) - len(kept)) // self.row_bytes
        self._buckets[bucket_index] = bytearray(kept)
        self._row_count -= removed
        self.found_id = _NO_ID
        return removed

    def rewrite(self, row_bytes: int, convert: Callable[[bytes], bytes]) -> None:
        """Change the size of all rows: `convert` returns a row's new bytes, with the same id first.

        Rows stay in their buckets.
        """
        for bucket in self._buckets:
            rows = [
                convert(bytes(bucket[position : position + self.row_bytes]))
                for position in range(0, len(bucket), self.row_bytes)
            ]
            bucket[:] = b"".join(rows)
        self.row_bytes = row_bytes
        self.found_id = _NO_ID

    def copied(self) -> "RowTable":
        """Return a table with copies of the rows that are there now."""
        table = RowTable(self.row_bytes)
        table._buckets = list(map(bytearray, self._buckets))
        table._low_mask, table._split = self._low_mask, self._split
        table._row_count = self._row_count
        return table

    def producer_ids(self) -> Iterator[int]:
        """Return the producer ids of all rows that are there now, unordered."""
        row = Struct(f"{_ID.format}{self.row_bytes - ID_BYTES}x")
        return (masked ^ _ID_MASK for (masked,) in row.iter_unpack(b"".join(self._buckets)))

    @may_pause
    def sorted_producer_ids(self) -> Iterator[int]:
        """Return the producer ids of all rows that are there now, ascending; may pause."""
        producer_ids = list(paced_stream(self.producer_ids()))
        # Sorted in parts: one call of `sorted` cannot pause.
        parts = [
            sorted(producer_ids[start : start + SORTED_TOGETHER])
            for start in paced(range(0, len(producer_ids), SORTED_TOGETHER))
        ]
        return heapq.merge(*parts)

    def bytes_held(self) -> int:
        """Return the size of the table and its buckets by `sys.getsizeof`, in bytes."""
        held = sys.getsizeof(self)
        if self._buckets is not _NO_BUCKETS:
            held += sys.getsizeof(self._buckets) + sum(map(sys.getsizeof, self._buckets))
        return held


def id_at(rows: bytearray, position: int) -> int:
    """Return the producer id of the row at a position."""
    masked: int = _unpack_id(rows, position)[0]
    return masked ^ _ID_MASK
