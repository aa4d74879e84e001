"""Check the records of a batch, and say in which form it is stored.

A batch is decompressed piece by piece, so that no batch takes much memory, and one pass goes over
the lengths and numbers of its records. Single records are looked at only for the errors about them.

Source: Kafka's `LogValidator`.
"""

from collections.abc import Iterator

from broker.cluster.topics import Topic
from broker.produce.batch_refusal import (
    FAILED_IN_LOG,
    INVALID_IN_LOG,
    LARGER_THAN_SEGMENT,
    TOO_LARGE,
    BatchRefusal,
)
from broker.produce.stored_batch import StoredBatch, rebuilt, with_max_timestamp
from protocol.batch_builder import BatchBuilder
from protocol.compression import ZSTD, TooLargeError, decompressed_pieces, too_large
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_stream
from protocol.produce import RecordError
from protocol.record_scan import InvalidRecordsError, RecordScan, ScannedRecord
from protocol.records import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    CRC_START,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD_BYTES,
    RECORD_BYTES_MAX,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    HeaderFields,
    OversizedRecordError,
    pack_header,
    read_records,
)

DECOMPRESSION_FACTOR = 16
"""A batch may take 16 times `max.message.bytes` after decompression in any case."""
DECOMPRESSION_RATIO_MAX = 256
"""Unless it is compressed again, it may take 256 times its size: more than LZ4 or snappy reach."""
RECORD_ERRORS_MAX = 1000
"""Records of a refused batch whose errors are in the response; a batch may have 100,000."""

_NO_TIMESTAMP = -1
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_RECORDS_AT = HEADER_BYTES - CRC_START


class _UndecodableError(Exception):
    """The payload of a batch is not in the format of its codec."""


@may_pause
def check_records(
    fields: HeaderFields,
    covered: bytes | bytearray | memoryview,
    topic: Topic,
    partition_index: int,
    now_ms: int,
) -> BatchRefusal | StoredBatch | None:
    """Return why a batch must not be stored, or what is stored instead; None if it is stored as is.

    Its size and its CRC have been checked. `covered` are the bytes behind its CRC.
    """
    header = BatchHeader._make(fields)
    codec = header.attributes & COMPRESSION_MASK
    if codec > ZSTD:
        return FAILED_IN_LOG
    if not _is_header_sound(header):
        return INVALID_IN_LOG
    check = _RecordCheck(header, covered, topic, now_ms)
    try:
        found = check.check(partition_index)
    except (InvalidRecordsError, OversizedRecordError):
        return INVALID_IN_LOG
    except TooLargeError as error:
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, str(error))
    except _UndecodableError:
        return FAILED_IN_LOG
    if isinstance(found, BatchRefusal):
        return found
    size_bytes = header.batch_length + LOG_OVERHEAD_BYTES if found is None else found.size_bytes
    if size_bytes > topic.max_message_bytes:
        return TOO_LARGE
    return LARGER_THAN_SEGMENT if size_bytes > topic.segment_bytes else found


def _is_header_sound(header: BatchHeader) -> bool:
    has_count = 0 < header.records_count == header.last_offset_delta + 1
    has_sequence = header.producer_id < 0 or header.base_sequence >= 0
    return has_count and has_sequence and not header.attributes & CONTROL_FLAG


class _RecordCheck:
    """The check of one batch whose header is sound."""

    def __init__(
        self,
        header: BatchHeader,
        covered: bytes | bytearray | memoryview,
        topic: Topic,
        now_ms: int,
    ) -> None:
        self._header = header
        self._covered = covered
        self._topic = topic
        self._codec = header.attributes & COMPRESSION_MASK
        self._rebuilds = topic.target_codec not in (None, self._codec)
        self._is_log_append_time = bool(header.attributes & LOG_APPEND_TIME_FLAG)
        self._earliest_ms = now_ms - topic.timestamp_before_max_ms
        self._latest_ms = now_ms + topic.timestamp_after_max_ms

    @may_pause
    def check(self, partition_index: int) -> BatchRefusal | StoredBatch | None:
        """Raise an error for records that are not sound; else return what `check_records` does."""
        pieces: list[bytes] = []
        scan = self._scan(pieces if self._rebuilds else None)
        for _ in paced_stream(scan.steps(), 1):
            pass
        header, topic = self._header, self._topic
        if self._is_log_append_time:
            least = most = first = header.max_timestamp
        else:
            base = header.base_timestamp
            least, most, first = (
                base + delta for delta in (scan.min_delta, scan.max_delta, scan.first_delta)
            )
        if least < _LONG_MIN or most > _LONG_MAX:
            timestamps = [self._timestamp(record) for record in paced_stream(self._each())]
            least, most, first = min(timestamps), max(timestamps), timestamps[0]
        if (topic.is_compacted and scan.has_record_without_key) or self._is_out_of_range(
            least, most
        ):
            refusal = self._refusal(partition_index)
            if refusal is not None:
                return refusal
        most = max(most, _NO_TIMESTAMP)
        if self._rebuilds:
            if least < _NO_TIMESTAMP or not self._has_valid_producer():
                return FAILED_IN_LOG
            return self._rebuilt(scan, pieces, first, most)
        if self._codec and not scan.has_consecutive_offsets:
            return FAILED_IN_LOG
        if topic.is_log_append_time or (
            most == header.max_timestamp and not self._is_log_append_time
        ):
            return None
        return with_max_timestamp(header, self._covered, most)

    @may_pause
    def _scan(self, kept: list[bytes] | None = None) -> RecordScan:
        """Return a new scan of the records; `kept` gets their bytes."""
        payload = bytes(self._covered[_RECORDS_AT:])
        record_bytes_max = self._topic.record_bytes_max if self._codec else RECORD_BYTES_MAX
        pieces = iter((payload,))
        if self._codec:
            bytes_max = self._topic.max_message_bytes * DECOMPRESSION_FACTOR
            if not self._rebuilds:
                bytes_max = max(bytes_max, len(payload) * DECOMPRESSION_RATIO_MAX)
            pieces = iter(paced_stream(_pieces(payload, self._codec, bytes_max), 1))
        if kept is not None:
            pieces = _kept(pieces, kept)
        return RecordScan(
            pieces,
            self._header.records_count,
            record_bytes_max,
            checks_sizes=self._rebuilds or not self._codec,
        )

    @may_pause
    def _each(self) -> Iterator[ScannedRecord]:
        return self._scan().each()

    def _timestamp(self, record: ScannedRecord) -> int:
        """Return the timestamp of a record; as in Java a sum of 64 bits may begin again."""
        if self._is_log_append_time:
            return self._header.max_timestamp
        timestamp = self._header.base_timestamp + record.timestamp_delta
        return (timestamp - _LONG_MIN) % (1 << 64) + _LONG_MIN

    def _is_out_of_range(self, least: int, most: int) -> bool:
        """Whether a record may have a timestamp that is refused."""
        if self._topic.is_log_append_time:
            return self._is_log_append_time
        is_within = self._earliest_ms <= least and most <= self._latest_ms
        return not is_within or (self._is_log_append_time and least == _NO_TIMESTAMP)

    @may_pause
    def _refusal(self, partition_index: int) -> BatchRefusal | None:
        """Refuse a batch for its records; each gets one error, about its key or its timestamp."""
        topic = self._topic
        no_key = (
            "Compacted topic cannot accept message without key in topic partition"
            f" {topic.name}-{partition_index}"
        )
        errors: list[RecordError] = []
        error_count = 0
        is_timestamp_invalid = False
        for index, record in enumerate(paced_stream(self._each())):
            if topic.is_compacted and record.key_bytes < 0:
                message: str | None = no_key
            else:
                message = self._timestamp_problem(record)
                is_timestamp_invalid |= message is not None
            if message is not None:
                error_count += 1
                if error_count <= RECORD_ERRORS_MAX:
                    errors.append(RecordError(index, message))
        return (
            _refused_for(errors, error_count)
            if not is_timestamp_invalid
            else BatchRefusal(
                ErrorCode.INVALID_TIMESTAMP,
                "One or more records have been rejected due to invalid timestamp",
                tuple(errors),
                has_log_start_offset=True,
            )
        )

    def _timestamp_problem(self, record: ScannedRecord) -> str | None:
        timestamp = self._timestamp(record)
        if not self._topic.is_log_append_time and timestamp != _NO_TIMESTAMP:
            if self._earliest_ms <= timestamp <= self._latest_ms:
                return None
            return (
                f"Timestamp {timestamp} of message with offset {record.offset_delta} is out of"
                f" range. The timestamp should be within [{self._earliest_ms},"
                f" {_as_long(self._latest_ms)}]"
            )
        if not self._is_log_append_time:
            return None
        # Kafka does not read the keys and values of a batch that it keeps compressed as it is.
        if self._codec and not self._rebuilds:
            kind, key_bytes, value_bytes = (
                "PartialDefaultRecord",
                record.key_bytes,
                record.value_bytes,
            )
        else:
            kind = "DefaultRecord"
            key_bytes, value_bytes = max(record.key_bytes, 0), max(record.value_bytes, 0)
        return (
            f"Invalid timestamp type in message {kind}(offset={record.offset_delta},"
            f" timestamp={timestamp}, key={key_bytes} bytes, value={value_bytes} bytes)."
            " Producer should not set timestamp type to LogAppendTime."
        )

    def _has_valid_producer(self) -> bool:
        """Whether Kafka can write the batch again."""
        header = self._header
        if header.producer_id == -1:
            return not header.attributes & TRANSACTIONAL_FLAG
        return header.producer_epoch != -1 and header.base_sequence >= 0

    @may_pause
    def _rebuilt(
        self, scan: RecordScan, pieces: list[bytes], first: int, most: int
    ) -> BatchRefusal | StoredBatch:
        header, topic = self._header, self._topic
        payload = b"".join(pieces)
        if not scan.is_canonical or self._is_log_append_time or first != header.base_timestamp:
            payload = self._written_again(payload, first)
        assert topic.target_codec is not None
        return rebuilt(header, payload, topic.target_codec, topic.compression_level, first, most)

    @may_pause
    def _written_again(self, payload: bytes, base_timestamp: int) -> bytes:
        """Return the records with offsets from 0 on, and timestamps relative to another one."""
        bytes_max = HEADER_BYTES + 2 * len(payload) + 64 * self._header.records_count
        builder = BatchBuilder("none", bytes_max, base_timestamp)
        attributes = self._header.attributes & ~COMPRESSION_MASK
        length = HEADER_BYTES - LOG_OVERHEAD_BYTES + len(payload)
        header = self._header._replace(batch_length=length, attributes=attributes)
        try:
            for record in paced_stream(read_records(pack_header(*header) + payload)):
                builder.append(record.timestamp, record.key, record.value, record.headers)
        except ValueError as error:
            raise _UndecodableError from error
        return builder.build()[HEADER_BYTES:]


def _pieces(payload: bytes, codec: int, bytes_max: int) -> Iterator[bytes]:
    """Yield what is decompressed; raise TooLargeError behind `bytes_max` bytes."""
    left = bytes_max
    pieces = decompressed_pieces(payload, codec)
    while True:
        try:
            piece = next(pieces, None)
        except Exception as error:  # each codec has its own errors
            raise _UndecodableError from error
        if piece is None:
            return
        left -= len(piece)
        if left < 0:
            if left + len(piece):
                yield piece[:left]  # a record that announces too much comes first
            raise too_large(bytes_max)
        yield piece


@may_pause
def _kept(pieces: Iterator[bytes], kept: list[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        kept.append(piece)
        yield piece


def _as_long(number: int) -> int:
    """Return a number as Java's arithmetic with 64 bits has it."""
    return (number - _LONG_MIN) % (1 << 64) + _LONG_MIN


def _refused_for(errors: list[RecordError], error_count: int) -> BatchRefusal | None:
    if not errors:
        return None
    first_errors = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:3]
    )
    message = (
        f"One or more records have been rejected due to {error_count} record errors in total, and"
        f" only showing the first three errors at most: [{first_errors}]"
    )
    return BatchRefusal(ErrorCode.INVALID_RECORD, message, tuple(errors), has_log_start_offset=True)
