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
from protocol.records import RECORD_BYTES_MAX, OversizedRecordError

SCANNED_AT_ONCE: Final = 2000
"""Records of one step of a scan: that takes about a millisecond."""

_SCANNED_BETWEEN: Final = 64
"""Records that are scanned one by one before it is tried to scan many at once."""
_EQUAL_MIN: Final = 16
"""Fewer records are not worth the look at columns."""
_CONTINUED: Final = bytes(range(128, 256))
"""Bytes of a varint that are not its last one."""
_EVEN: Final = bytes(range(0, 256, 2))
_ONE_BYTE_OFFSETS, _TWO_BYTE_OFFSETS = 64, 8192
_OFFSETS = bytes(range(0, 128, 2))
_OFFSETS_LOW = bytes(offset << 1 & 0x7F | 0x80 for offset in range(_TWO_BYTE_OFFSETS))
_OFFSETS_HIGH = bytes(offset >> 6 for offset in range(_TWO_BYTE_OFFSETS))
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
        """Scan the next records before `end` that have the lengths of the first of them, if many.

        What is at one place of each record is a slice with the size of a record as its step.
        """
        data, begin, index = self._data, self._position, self._index
        is_short = index < _ONE_BYTE_OFFSETS
        offset_bytes = 1 if is_short else 2
        count = min(end, _ONE_BYTE_OFFSETS if is_short else _TWO_BYTE_OFFSETS) - index
        if count < _EQUAL_MIN or self._bytes_max < RECORD_BYTES_MAX:
            return False
        try:
            lengths, delta_at, offset_at, stop, is_keyless = _layout(data, begin, offset_bytes)
        except IndexError:
            return False
        size = stop - begin
        count = min(count, (len(data) - begin) // size)
        for at in lengths:
            column = data[at : begin + count * size : size]
            count -= len(column.lstrip(column[:1]))
            if count < _EQUAL_MIN:
                return False
        stop = begin + count * size
        offsets = data[offset_at:stop:size]
        if is_short:
            if offsets != _OFFSETS[index : index + count]:
                return False
        elif (
            offsets != _OFFSETS_LOW[index : index + count]
            or data[offset_at + 1 : stop : size] != _OFFSETS_HIGH[index : index + count]
        ):
            return False
        columns = [data[at:stop:size] for at in range(delta_at, offset_at)]
        if any(column.translate(None, _CONTINUED) for column in columns[:-1]) or not (
            columns[-1].isascii() and (len(columns) == 1 or 0 not in columns[-1])
        ):
            return False
        if columns[0].translate(None, _EVEN):  # some are negative
            deltas = {_delta(raw) for raw in set(zip(*columns, strict=True))}
            least, most = min(deltas), max(deltas)
        else:
            columns.reverse()
            least, most = (_delta(find(zip(*columns, strict=True))[::-1]) for find in (min, max))
            columns.reverse()
        if index == 0:
            first = _delta(tuple(column[0] for column in columns))
            self.first_delta = self.min_delta = self.max_delta = first
        self.min_delta = min(self.min_delta, least)
        self.max_delta = max(self.max_delta, most)
        self.has_record_without_key |= is_keyless
        self._position, self._index = stop, index + count
        return True

    # Hot path: inlined on purpose.
    def _scan_plain(self, end: int) -> None:  # noqa: C901, PLR0912, PLR0915
        """Scan the records before `end` up to one that is unusual, or is cut off by the piece."""
        data, position, index, size_max = (
            self._data,
            self._position,
            self._index,
            2 * self._bytes_max,
        )
        begin, last_delta = position, -1
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
                        size, position = _plain_varint(data, position)
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
                        delta, position = _plain_varint(data, position + 1)
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
                        offset, position = _plain_varint(data, position)
                if offset != index + index:
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
                        size, position = _plain_varint(data, position)
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
                        size, position = _plain_varint(data, position)
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


def _layout(data: bytes, begin: int, offset_bytes: int) -> tuple[list[int], int, int, int, bool]:
    """Return where a record has its lengths, its timestamp, its offset, its end, and has it no key.

    Raises:
        IndexError: it is cut off, or unusual.
    """
    size, position = _plain_varint(data, begin)
    lengths = list(range(begin, position))
    stop = position + (size >> 1)
    delta_at = position + 1
    _, offset_at = _plain_varint(data, delta_at)
    position = offset_at + offset_bytes
    is_keyless = data[position] == 1
    for _field in ("key", "value"):
        at = position
        size, position = _plain_varint(data, at)
        lengths += range(at, position)
        if not size & 1:
            position += size >> 1
        elif size != 1:
            raise IndexError
    lengths.append(position)
    if data[position] or position + 1 != stop:  # it has headers
        raise IndexError
    return lengths, delta_at, offset_at, stop, is_keyless


def _delta(varint: tuple[int, ...]) -> int:
    raw = 0
    for number, byte in enumerate(varint):
        raw |= (byte & 0x7F) << 7 * number
    return (raw >> 1) ^ -(raw & 1)


def _plain_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number with zigzag encoding, and where it ends.

    Raises:
        IndexError: it is cut off, or is for the slow path.
    """
    value = data[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    for shift in (7, 14, 21, 28, 35):
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if not byte or value >= _INT_RANGE:
                break
            return value, position + 1
    raise IndexError


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
            size, position = _plain_varint(data, position - 1)
        if not size & 1:
            position += size >> 1
        elif size != 1 or not number & 1:
            raise IndexError
    if position > len(data):
        raise IndexError
    return position
