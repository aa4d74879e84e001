"""Validate a record batch before the append: pure checks, the first error wins.

`read_batch` comes first, for all batches of a request, then `check_batch` when a batch is appended.
Only the header is read, unless a rule checks single records.

Sources: Kafka's `RequestUtils.hasTransactionalRecords` and `ProduceRequest.validateRecords`; then
`UnifiedLog.analyzeAndValidateRecords` and `LogValidator`.
"""

from typing import NamedTuple, TypeAlias

from broker.cluster.topics import Topic
from protocol import records
from protocol.checksum import crc32c
from protocol.compression import ZSTD, TooLargeError
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_stream
from protocol.produce import ZSTD_VERSION_MIN, RecordError
from protocol.records import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    BatchHeader,
    HeaderFields,
    OversizedRecordError,
    Record,
)

DECOMPRESSION_FACTOR = 16
"""A batch whose records are checked may take 16 times `max.message.bytes` after decompression."""

_HEADER_BYTES, _LOG_OVERHEAD_BYTES, _MAGIC = (
    records.HEADER_BYTES,
    records.LOG_OVERHEAD_BYTES,
    records.MAGIC,
)
_LENGTH_MIN = 14
"""The least batch length of any format (Kafka's `LegacyRecord.RECORD_OVERHEAD_V0`)."""
_PRODUCER_ID_END = 51
"""Kafka reads up to here before it checks that a batch has a whole header."""


class BatchRefusal(NamedTuple):
    """The reason why a batch is refused, for the response."""

    error_code: ErrorCode
    error_message: str | None = None
    record_errors: tuple[RecordError, ...] = ()
    fails_request: bool = False
    """Whether no batch of the request is stored, and all partitions get this error."""
    has_log_start_offset: bool = False
    """Whether the response says where the log begins."""


# Kafka explains only the refusal of single records, and of a request.
_CORRUPT = BatchRefusal(ErrorCode.CORRUPT_MESSAGE)
_INVALID = BatchRefusal(ErrorCode.INVALID_RECORD)
_INVALID_IN_LOG = BatchRefusal(ErrorCode.INVALID_RECORD, has_log_start_offset=True)
# Kafka's IllegalArgumentException.
_UNKNOWN_COMPRESSION = BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, has_log_start_offset=True)
_FAILED = BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, fails_request=True)


ReadBatch: TypeAlias = tuple[int, int, int, HeaderFields | BatchRefusal | None]
"""A `PartitionBatch` of the decoder, with a refusal in place of a header that could not be read.

It is None where the decoder found no header: `read_batches` takes care of these.
"""


def read_batch(
    buffer: bytes | bytearray, start: int, end: int, api_version: int
) -> BatchHeader | BatchRefusal:
    """Return the header of the one batch in `buffer[start:end]`; `start` is -1 for null.

    Up to 16 bytes behind the batch are ignored, as in Kafka, unless they look like another one.
    """
    size = end - start
    if start >= 0 and size >= _HEADER_BYTES:
        header = records.read_header(buffer, start)
        is_whole = header.batch_length + _LOG_OVERHEAD_BYTES == size and header.magic == _MAGIC
        if is_whole and (
            api_version >= ZSTD_VERSION_MIN or header.attributes & COMPRESSION_MASK < ZSTD
        ):
            return header
    return _read_unusual(buffer, start, end, api_version)


def _read_unusual(
    buffer: bytes | bytearray, start: int, end: int, api_version: int
) -> BatchHeader | BatchRefusal:
    """Return the header, or the refusal, of what is not exactly one batch of format 2."""
    size = _complete_size(buffer, start, end)
    if isinstance(size, BatchRefusal):
        return size
    if size == 0 or buffer[start + records.MAGIC_AT] != records.MAGIC:
        return _INVALID
    compression = buffer[start + records.CRC_POSITION + 5] & COMPRESSION_MASK
    if api_version < ZSTD_VERSION_MIN and compression >= ZSTD:
        if compression > ZSTD:
            return _FAILED
        return BatchRefusal(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    next_size = _complete_size(buffer, start + size, end)
    if isinstance(next_size, BatchRefusal):
        return _CORRUPT
    if next_size:
        return _INVALID
    if size < records.HEADER_BYTES:
        return _FAILED if size < _PRODUCER_ID_END else _CORRUPT
    return records.read_header(buffer, start)


def _complete_size(buffer: bytes | bytearray, start: int, end: int) -> int | BatchRefusal:
    """Return the size of the batch at `start`, of any format; 0 if it is not complete.

    Kafka's `ByteBufferLogInputStream.nextBatch`.
    """
    remaining = end - start
    if start < 0 or remaining < records.LOG_OVERHEAD_BYTES:
        return 0
    batch_length = int.from_bytes(buffer[start + 8 : start + 12], "big", signed=True)
    if batch_length < _LENGTH_MIN:
        message = (
            f"Record size {batch_length} is less than the minimum record overhead ({_LENGTH_MIN})"
        )
        return BatchRefusal(ErrorCode.CORRUPT_MESSAGE, message, fails_request=True)
    if remaining <= records.MAGIC_AT:
        return 0
    magic = int.from_bytes(
        buffer[start + records.MAGIC_AT : start + records.MAGIC_AT + 1], "big", signed=True
    )
    if not 0 <= magic <= records.MAGIC:
        message = f"Invalid magic found in record: {magic}"
        return BatchRefusal(ErrorCode.CORRUPT_MESSAGE, message, fails_request=True)
    size = batch_length + records.LOG_OVERHEAD_BYTES
    return size if size <= remaining else 0


def is_transactional(buffer: bytes | bytearray, start: int, end: int) -> bool:
    """Return whether the first batch is complete and transactional, also where it is refused."""
    size = _complete_size(buffer, start, end)
    if isinstance(size, BatchRefusal) or size == 0:
        return False
    flags = buffer[start + records.CRC_POSITION + 5]
    is_current = buffer[start + records.MAGIC_AT] == records.MAGIC
    return is_current and bool(flags & records.TRANSACTIONAL_FLAG)


# Hot path: inlined on purpose.
@may_pause
def check_batch(
    header: HeaderFields,
    covered: bytes | bytearray | memoryview,
    topic: Topic,
    partition_index: int,
    now_ms: int,
) -> BatchRefusal | None:
    """Return why a batch must not be stored; None if it may be.

    `covered` are the bytes that its CRC covers, which are all behind its CRC.
    """
    (
        base_offset,
        length,
        _leader_epoch,
        _magic,
        crc,
        attributes,
        last_delta,
        _base_timestamp,
        max_timestamp,
        producer_id,
        _producer_epoch,
        base_sequence,
        count,
    ) = header
    size = length + _LOG_OVERHEAD_BYTES
    if base_offset != 0:
        return _INVALID_IN_LOG
    if size > topic.max_message_bytes:
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE)
    if crc32c(covered) != crc:
        return _CORRUPT
    if attributes & COMPRESSION_MASK > ZSTD:
        return _UNKNOWN_COMPRESSION
    if count <= 0 or last_delta + 1 != count or attributes & CONTROL_FLAG:
        return _INVALID_IN_LOG
    if producer_id >= 0 and base_sequence < 0:
        return _INVALID_IN_LOG
    if (
        topic.checks_records
        or attributes & LOG_APPEND_TIME_FLAG
        or (max_timestamp > now_ms + topic.timestamp_after_max_ms and not topic.is_log_append_time)
    ):
        batch = records.pack_stored_header(0, length, 0, _MAGIC, crc) + covered
        refusal = _check_records(batch, attributes, topic, partition_index, now_ms)
        if refusal is not None:
            return refusal
    if size > topic.segment_bytes:
        return BatchRefusal(ErrorCode.RECORD_LIST_TOO_LARGE)
    return None


RECORD_ERRORS_MAX = 1000
"""Records of a refused batch whose errors are in the response; a batch may have 100,000."""


@may_pause
def _check_records(
    batch: bytes | bytearray, attributes: int, topic: Topic, partition_index: int, now_ms: int
) -> BatchRefusal | None:
    """Refuse a batch for its records; each gets one error, about its key or its timestamp."""
    errors: list[RecordError] = []
    error_count = 0
    is_timestamp_invalid = False
    try:
        bytes_max = topic.max_message_bytes * DECOMPRESSION_FACTOR
        read = records.read_records(batch, bytes_max, topic.record_bytes_max)
        for index, record in enumerate(paced_stream(read)):
            if topic.is_compacted and record.key is None:
                message: str | None = (
                    "Compacted topic cannot accept message without key in topic partition"
                    f" {topic.name}-{partition_index}"
                )
            else:
                message = _timestamp_problem(record, attributes, topic, now_ms)
                is_timestamp_invalid |= message is not None
            if message is not None:
                error_count += 1
                if error_count <= RECORD_ERRORS_MAX:
                    errors.append(RecordError(index, message))
    except OversizedRecordError:
        return _INVALID_IN_LOG
    except TooLargeError as error:
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, str(error))
    except ValueError:
        return _CORRUPT
    if not errors:
        return None
    if is_timestamp_invalid:
        message = "One or more records have been rejected due to invalid timestamp"
        return BatchRefusal(
            ErrorCode.INVALID_TIMESTAMP, message, tuple(errors), has_log_start_offset=True
        )
    first_errors = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:3]
    )
    message = (
        f"One or more records have been rejected due to {error_count} record errors in total, and"
        f" only showing the first three errors at most: [{first_errors}]"
    )
    return BatchRefusal(ErrorCode.INVALID_RECORD, message, tuple(errors), has_log_start_offset=True)


def _timestamp_problem(record: Record, attributes: int, topic: Topic, now_ms: int) -> str | None:
    if attributes & LOG_APPEND_TIME_FLAG:
        key_bytes, value_bytes = (len(field or b"") for field in (record.key, record.value))
        return (
            f"Invalid timestamp type in message DefaultRecord(offset={record.offset},"
            f" timestamp={record.timestamp}, key={key_bytes} bytes, value={value_bytes} bytes)."
            " Producer should not set timestamp type to LogAppendTime."
        )
    earliest = now_ms - topic.timestamp_before_max_ms
    latest = now_ms + topic.timestamp_after_max_ms
    is_exempt = topic.is_log_append_time or record.timestamp == -1
    if is_exempt or earliest <= record.timestamp <= latest:
        return None
    return (
        f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. The"
        f" timestamp should be within [{earliest}, {latest}]"
    )
