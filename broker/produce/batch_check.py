"""Validate a record batch before the append: pure checks, the first error wins.

The order is Kafka's (`ProduceRequest.validateRecords`, `UnifiedLog.analyzeAndValidateRecords`,
`LogValidator`). Only the header is read, unless a rule checks single records.
"""

from typing import NamedTuple

from broker.cluster.topics import Topic
from protocol import records
from protocol.compression import ZSTD, TooLargeError
from protocol.errors import ErrorCode
from protocol.produce import RecordError
from protocol.records import BatchHeader, Record

ZSTD_PRODUCE_VERSION_MIN = 7
DECOMPRESSION_FACTOR = 16
"""A batch whose records are checked may take 16 times `max.message.bytes` after decompression."""

_TIMESTAMP_MAX = 2**63 - 1


class BatchRefusal(NamedTuple):
    """The reason why a batch is refused, for the response."""

    error_code: ErrorCode
    error_message: str | None = None
    record_errors: tuple[RecordError, ...] = ()


# Kafka explains only the refusal of single records.
_CORRUPT = BatchRefusal(ErrorCode.CORRUPT_MESSAGE)
_INVALID = BatchRefusal(ErrorCode.INVALID_RECORD)


def check_batch(
    buffer: bytes | bytearray,
    start: int,
    end: int,
    api_version: int,
    topic: Topic,
    partition_index: int,
    now_ms: int,
) -> BatchHeader | BatchRefusal:
    """Return the header of the one batch in `buffer[start:end]` if it is valid."""
    header = _read_only_batch(buffer, start, end)
    if isinstance(header, BatchRefusal):
        return header
    size = end - start
    attributes = header.attributes
    if attributes & records.COMPRESSION_MASK == ZSTD and api_version < ZSTD_PRODUCE_VERSION_MIN:
        return BatchRefusal(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if header.base_offset != 0:
        return _INVALID
    if size > topic.max_message_bytes:
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE)
    if not records.has_valid_crc(buffer, start, end, header.crc):
        return _CORRUPT
    if size > topic.segment_bytes:
        return BatchRefusal(ErrorCode.RECORD_LIST_TOO_LARGE)
    refusal = _check_fields(header)
    if refusal is None and (topic.is_compacted or _needs_timestamp_check(header, topic, now_ms)):
        refusal = _check_records(buffer[start:end], header, topic, partition_index, now_ms)
    return header if refusal is None else refusal


def _read_only_batch(buffer: bytes | bytearray, start: int, end: int) -> BatchHeader | BatchRefusal:
    """Return the header if exactly one batch of format 2 fills the range."""
    size = end - start
    if start < 0 or size == 0:
        return _INVALID
    if size < records.HEADER_BYTES:
        # A message of an older format can be this short.
        magic = buffer[start + records.MAGIC_AT] if size > records.MAGIC_AT else records.MAGIC
        return _CORRUPT if magic == records.MAGIC else _INVALID
    header = records.read_header(buffer, start)
    if header.magic != records.MAGIC:
        return _INVALID
    batch_bytes = header.batch_length + records.LOG_OVERHEAD_BYTES
    if batch_bytes != size:
        if records.HEADER_BYTES <= batch_bytes < size:
            return _INVALID
        return _CORRUPT
    return header


def _check_fields(header: BatchHeader) -> BatchRefusal | None:
    count = header.records_count
    if count <= 0 or header.last_offset_delta + 1 != count:
        return _INVALID
    if header.attributes & records.CONTROL_FLAG:
        return _INVALID
    if header.attributes & records.COMPRESSION_MASK > ZSTD:
        return _CORRUPT
    if header.producer_id >= 0 and header.base_sequence < 0:
        return _INVALID
    return None


def _needs_timestamp_check(header: BatchHeader, topic: Topic, now_ms: int) -> bool:
    """Whether a record's timestamp may be outside the bounds of the topic.

    The header has only the largest timestamp, so a topic that bounds the past needs its records
    read.
    """
    if header.attributes & records.LOG_APPEND_TIME_FLAG:
        return True
    if topic.is_log_append_time:
        return False
    return (
        header.max_timestamp > now_ms + topic.timestamp_after_max_ms
        or topic.timestamp_before_max_ms != _TIMESTAMP_MAX
    )


def _check_records(
    batch: bytes | bytearray, header: BatchHeader, topic: Topic, partition_index: int, now_ms: int
) -> BatchRefusal | None:
    """Refuse a batch for its records; each gets one error, about its key or its timestamp."""
    errors: list[RecordError] = []
    is_timestamp_invalid = False
    try:
        bytes_max = topic.max_message_bytes * DECOMPRESSION_FACTOR
        for index, record in enumerate(records.read_records(batch, bytes_max)):
            if topic.is_compacted and record.key is None:
                message: str | None = (
                    "Compacted topic cannot accept message without key in topic partition"
                    f" {topic.name}-{partition_index}"
                )
            else:
                message = _timestamp_problem(record, header, topic, now_ms)
                is_timestamp_invalid |= message is not None
            if message is not None:
                errors.append(RecordError(index, message))
    except TooLargeError as error:
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, str(error))
    except ValueError:
        return _CORRUPT
    if not errors:
        return None
    if is_timestamp_invalid:
        message = "One or more records have been rejected due to invalid timestamp"
        return BatchRefusal(ErrorCode.INVALID_TIMESTAMP, message, tuple(errors))
    first_errors = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:3]
    )
    message = (
        f"One or more records have been rejected due to {len(errors)} record errors in total, and"
        f" only showing the first three errors at most: [{first_errors}]"
    )
    return BatchRefusal(ErrorCode.INVALID_RECORD, message, tuple(errors))


def _timestamp_problem(
    record: Record, header: BatchHeader, topic: Topic, now_ms: int
) -> str | None:
    if header.attributes & records.LOG_APPEND_TIME_FLAG:
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
