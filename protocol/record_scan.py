"""Walk over the records of a batch without decoding them: are they sound, and what do they have?

One pass reads the lengths and numbers of each record, and skips keys, values and headers. There are
three ways, each with the same result: many records of equal lengths at once, column by column; one
after another in a flat loop; and byte by byte, for records that are unusual or cut into pieces.

Sources: Kafka's `DefaultRecord.readFrom` and `readPartiallyFrom`, `DefaultRecordBatch`'s iterators
and `ByteUtils`.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from protocol.pacing import may_pause
from protocol.record_columns import equal_records, plain_varint
from protocol.records import RECORD_BYTES_MAX, OversizedRecordError

SCANNED_AT_ONCE: Final = 2000
"""Records of one step of a scan: that takes about a millisecond."""

_SCANNED_BETWEEN: Final = 64
"""Records that are scanned one by one before it is tried to scan many at once."""
_INT_RANGE, _LONG_RANGE = 1 << 32, 1 << 64
_INT_BYTES_MAX, _LONG_BYTES_MAX = 5, 10


class InvalidRecordsError(ValueError):
    """The records do not match the header of their batch, or themselves."""


class ScannedRecord(NamedTuple):
    """What a scan reads of a record: lengths are negative for null, and deltas as in its bytes."""

    timestamp_delta: int
    offset_delta: int
    key_bytes: int
    value_bytes: int


class RecordScan:
    """The records of one batch, or what is known of them so far.

    After all `steps` the attributes are those of all records; timestamps are relative to the base
    timestamp of the batch.
    """

    __slots__ = (
        "_before",
        "_bytes_max",
        "_data",
        "_index",
        "_is_exact_needed",
        "_pieces",
        "_position",
        "_record_count",
        "first_delta",
        "has_consecutive_offsets",
        "has_record_without_key",
        "is_canonical",
        "max_delta",
        "min_delta",
    )

    @may_pause
    def __init__(
        self,
        pieces: Iterator[bytes],
        record_count: int,
        record_bytes_max: int = RECORD_BYTES_MAX,
        *,
        checks_sizes: bool,
    ) -> None:
        """`pieces` are the records, cut anywhere; to get the next one may pause.

        `checks_sizes`: a record must have as many bytes as it announces. Kafka does not look where
        it keeps a compressed batch as it is.
        """
        self._pieces = pieces
        self._data = next(pieces, b"")
        self._position = 0
        self._before = 0
        """Bytes of the pieces before this one."""
        self._index = 0
        self._record_count = record_count
        self._bytes_max = record_bytes_max
        self._is_exact_needed = checks_sizes
        self.first_delta = 0
        self.min_delta = 0
        self.max_delta = 0
        self.has_record_without_key = False
        self.has_consecutive_offsets = True
        """Whether the first offset is 0, and each other one the next."""
        self.is_canonical = True
        """Whether Kafka would write the records with the same bytes."""

    def steps(self) -> Iterator[None]:
        """Scan the records; yield before each part of at most `SCANNED_AT_ONCE` of them.

        Raises:
            InvalidRecordsError: a record is not sound, or bytes follow the last one.
            OversizedRecordError: a record announces more bytes than it may have.
            Exception: what decompresses the records failed.
        """
        while self._index < self._record_count:
            yield
            end = min(self._index + SCANNED_AT_ONCE, self._record_count)
            while self._index < end:
                if self._scan_equal(end):
                    continue
                until = min(self._index + _SCANNED_BETWEEN, end)
                while self._index < until:
                    self._scan_plain(until)
                    if self._index < until:
                        self._scan_any()
        if self._position < len(self._data) or self._next_piece():
            raise InvalidRecordsError("bytes follow the last record")

    def each(self) -> Iterator[ScannedRecord]:
        """Yield what there is to say of each record, instead of `steps`; slower.

        Raises:
            the errors of `steps`.
        """
        while self._index < self._record_count:
            yield self._scan_any()

    def _scan_equal(self, end: int) -> bool:
        """Scan the next records before `end` that have the lengths of the first one, if many."""
        if self._bytes_max < RECORD_BYTES_MAX:
            return False
        index = self._index
        found = equal_records(self._data, self._position, index, end - index)
        if found is None:
            return False
        if index == 0:
            self.first_delta = self.min_delta = self.max_delta = found.first_delta
        self.min_delta = min(self.min_delta, found.min_delta)
        self.max_delta = max(self.max_delta, found.max_delta)
        self.has_record_without_key |= found.is_keyless
        self._position, self._index = found.stop, index + found.record_count
        return True

    # Hot path: inlined on purpose.
    def _scan_plain(self, end: int) -> None:  # noqa: C901, PLR0912, PLR0915
        """Scan the records before `end` up to one that is unusual, or is cut off by the piece."""
        data, position, index = self._data, self._position, self._index
        begin, last_delta, size_max = position, -1, 2 * self._bytes_max
        try:
            for index in range(index, end):  # noqa: B020 - the next one to scan
                begin = position
                size = data[position]
                if size < 128:
                    position += 1
                else:
                    high = data[position + 1]
                    if 0 < high < 128:
                        size += (high << 7) - 128
                        position += 2
                    else:
                        size, position = plain_varint(data, position)
                if size & 1 or size > size_max:
                    break
                stop = position + (size >> 1)
                delta = data[position + 1]
                if delta < 128:
                    position += 2
                else:
                    high = data[position + 2]
                    if 0 < high < 128:
                        delta += (high << 7) - 128
                        position += 3
                    else:
                        delta, position = plain_varint(data, position + 1)
                if delta != last_delta:
                    last_delta = delta
                    delta = (delta >> 1) ^ -(delta & 1)
                    if index == 0:
                        self.first_delta = self.min_delta = self.max_delta = delta
                    elif delta > self.max_delta:
                        self.max_delta = delta
                    elif delta < self.min_delta:
                        self.min_delta = delta
                offset = data[position]
                if offset < 128:
                    position += 1
                else:
                    high = data[position + 1]
                    if 0 < high < 128:
                        offset += (high << 7) - 128
                        position += 2
                    else:
                        offset, position = plain_varint(data, position)
                if offset != index + index:
                    break
                size = data[position]
                if size < 128:
                    position += 1
                else:
                    size, position = plain_varint(data, position)
                if not size & 1:
                    position += size >> 1
                elif size == 1:
                    self.has_record_without_key = True
                else:
                    break
                size = data[position]
                if size < 128:
                    position += 1
                else:
                    high = data[position + 1]
                    if 0 < high < 128:
                        size += (high << 7) - 128
                        position += 2
                    else:
                        size, position = plain_varint(data, position)
                if not size & 1:
                    position += size >> 1
                elif size != 1:
                    break
                count = data[position]
                position += 1
                if count:
                    position = _headers_end(data, position, count)
                if position != stop:
                    break
            else:
                index += 1
                begin = position
        except IndexError:
            pass
        self._position, self._index = begin, index

    def _scan_any(self) -> ScannedRecord:
        """Scan one record, whatever it looks like; it may end in another piece."""
        size = self._varint()
        if size < 0:
            raise InvalidRecordsError(f"a record of {size} bytes")
        if size > self._bytes_max:
            message = f"a record of {size} bytes, but at most {self._bytes_max}"
            raise OversizedRecordError(message)
        begin = self._consumed()
        self._byte()  # the attributes, of which none is in use
        delta = self._varlong()
        if self._index == 0:
            self.first_delta = self.min_delta = self.max_delta = delta
        self.min_delta = min(self.min_delta, delta)
        self.max_delta = max(self.max_delta, delta)
        offset_delta = self._varint()
        if offset_delta != self._index:
            self.has_consecutive_offsets = self.is_canonical = False
        key_bytes = self._skip_field()
        if key_bytes < 0:
            self.has_record_without_key = True
        value_bytes = self._skip_field()
        header_count = self._varint()
        if header_count < 0:
            raise InvalidRecordsError(f"{header_count} headers")
        for _ in range(header_count):
            if self._skip_field() < 0:
                raise InvalidRecordsError("the key of a header is null")
            self._skip_field()
        read_bytes = self._consumed() - begin
        if read_bytes != size:
            if self._is_exact_needed:
                raise InvalidRecordsError(f"a record has {read_bytes} bytes and announces {size}")
            self.is_canonical = False
        self._index += 1
        return ScannedRecord(delta, offset_delta, key_bytes, value_bytes)

    def _consumed(self) -> int:
        return self._before + self._position

    def _byte(self) -> int:
        """Return the next byte.

        Raises:
            InvalidRecordsError: there is none.
        """
        while self._position >= len(self._data):
            if not self._next_piece():
                raise InvalidRecordsError("the records end before the last one")
        byte = self._data[self._position]
        self._position += 1
        return byte

    def _next_piece(self) -> bool:
        """Go on with the next piece that has bytes; return whether there is one."""
        for piece in self._pieces:
            if piece:
                self._before += len(self._data)
                self._position -= len(self._data)
                self._data = piece
                return True
        return False

    def _skip_field(self) -> int:
        """Skip a key or a value with its length; return the length, which is negative for null."""
        size = self._varint()
        if size < 0:
            self.is_canonical = self.is_canonical and size == -1
            return size
        self._position += size
        # What follows in any record is at least one byte, which `_byte` looks for.
        while self._position > len(self._data):
            if not self._next_piece():
                raise InvalidRecordsError("the records end before the last one")
        return size

    def _varint(self) -> int:
        raw = self._unsigned(_INT_BYTES_MAX) % _INT_RANGE
        return (raw >> 1) ^ -(raw & 1)

    def _varlong(self) -> int:
        raw = self._unsigned(_LONG_BYTES_MAX) % _LONG_RANGE
        return (raw >> 1) ^ -(raw & 1)

    def _unsigned(self, bytes_max: int) -> int:
        value = 0
        for number in range(bytes_max):
            byte = self._byte()
            value |= (byte & 0x7F) << 7 * number
            if byte < 0x80:
                if number and not byte:
                    self.is_canonical = False
                return value
        raise InvalidRecordsError(f"a number of more than {bytes_max} bytes")


def _headers_end(data: bytes, position: int, raw_count: int) -> int:
    """Return where the headers of a record end; `raw_count` has the zigzag encoding.

    Raises:
        IndexError: they are cut off, or are for the slow path.
    """
    if raw_count & 1 or raw_count > 127:
        raise IndexError
    for number in range(raw_count):  # a key and a value for each
        size = data[position]
        position += 1
        if size > 127:
            size, position = plain_varint(data, position - 1)
        if not size & 1:
            position += size >> 1
        elif size != 1 or not number & 1:
            raise IndexError
    if position > len(data):
        raise IndexError
    return position
