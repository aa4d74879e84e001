"""Validate a record batch before the append: pure checks, the first error wins.

The order is Kafka's (`ProduceRequest.validateRecords`, `UnifiedLog.analyzeAndValidateRecords`,
`LogValidator`). Only the header is read, unless a rule checks single records.
"""

from typing import NamedTuple

from broker.cluster.topics import Topic
from protocol import records
from protocol.errors import ErrorCode
from protocol.produce import RecordError
from protocol.records import BatchHeader

ZSTD_PRODUCE_VERSION_MIN = 7
_TIMESTAMP_MAX = 2**63 - 1


class BatchRefusal(NamedTuple):
    """The reason why a batch is refused, for the response."""

    error_code: ErrorCode
    error_message: str | None = None
    record_errors: tuple[RecordError, ...] = ()


_CORRUPT = BatchRefusal(ErrorCode.CORRUPT_MESSAGE)


def _invalid(message: str) -> BatchRefusal:
    return BatchRefusal(ErrorCode.INVALID_RECORD, message)


def _old_format(magic: int) -> BatchRefusal:
    return _invalid(f"Produce requests with magic {magic} are not allowed")


def check_batch(
    buffer: bytes | bytearray, start: int, end: int, api_version: int, topic: Topic, now_ms: int
) -> BatchHeader | BatchRefusal:
    """Return the header of the one batch in `buffer[start:end]` if it is valid."""
    header = _read_only_batch(buffer, start, end)
    if isinstance(header, BatchRefusal):
        return header
    size = end - start
    attributes = header.attributes
    if (
        attributes & records.COMPRESSION_MASK == records.ZSTD
        and api_version < ZSTD_PRODUCE_VERSION_MIN
    ):
        return BatchRefusal(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if header.base_offset != 0:
        return _invalid(f"The base offset of the record batch is {header.base_offset}, not 0")
    if size > topic.max_message_bytes:
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE)
    if not records.has_valid_crc(buffer, start, end, header.crc):
        return _CORRUPT
    if size > topic.segment_bytes:
        return BatchRefusal(ErrorCode.RECORD_LIST_TOO_LARGE)
    refusal = _check_fields(header)
    if refusal is None and _needs_timestamp_check(header, topic, now_ms):
        refusal = _check_timestamps(buffer, start, end, header, topic, now_ms)
    if refusal is None and topic.is_compacted:
        refusal = _check_keys(buffer, start, end)
    return header if refusal is None else refusal


def _read_only_batch(buffer: bytes | bytearray, start: int, end: int) -> BatchHeader | BatchRefusal:
    """Return the header if exactly one batch of format 2 fills the range."""
    size = end - start
    if start < 0 or size == 0:
        return _invalid("Produce requests must have a record batch per partition")
    if size < records.HEADER_BYTES:
        # A message of an older format can be this short.
        magic = buffer[start + records.MAGIC_AT] if size > records.MAGIC_AT else records.MAGIC
        return _CORRUPT if magic == records.MAGIC else _old_format(magic)
    header = records.read_header(buffer, start)
    if header.magic != records.MAGIC:
        return _old_format(header.magic)
    batch_bytes = header.batch_length + records.LOG_OVERHEAD_BYTES
    if batch_bytes != size:
        if records.HEADER_BYTES <= batch_bytes < size:
            return _invalid("Produce requests must have exactly one record batch per partition")
        return _CORRUPT
    return header


def _check_fields(header: BatchHeader) -> BatchRefusal | None:
    count = header.records_count
    if count <= 0 or header.last_offset_delta + 1 != count:
        return _invalid(
            f"Record count {count} does not fit the last offset delta {header.last_offset_delta}"
        )
    if header.attributes & records.CONTROL_FLAG:
        return _invalid("Clients are not allowed to write control records")
    if header.attributes & records.COMPRESSION_MASK > records.ZSTD:
        return _CORRUPT
    if header.producer_id >= 0 and header.base_sequence < 0:
        return _invalid(
            f"Invalid sequence number {header.base_sequence} in record batch"
            f" with producerId {header.producer_id}"
        )
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


def _check_timestamps(
    buffer: bytes | bytearray,
    start: int,
    end: int,
    header: BatchHeader,
    topic: Topic,
    now_ms: int,
) -> BatchRefusal | None:
    if header.attributes & records.LOG_APPEND_TIME_FLAG:
        return BatchRefusal(
            ErrorCode.INVALID_TIMESTAMP,
            "Invalid timestamp type in message: a producer must not claim LogAppendTime",
        )
    earliest = now_ms - topic.timestamp_before_max_ms
    latest = now_ms + topic.timestamp_after_max_ms
    try:
        bad = [
            RecordError(
                index,
                f"Timestamp {record.timestamp} of message with offset {record.offset} is out of"
                f" range. The timestamp should be within [{earliest}, {latest}]",
            )
            for index, record in enumerate(records.read_records(buffer[start:end]))
            if record.timestamp != -1 and not earliest <= record.timestamp <= latest
        ]
    except ValueError:
        return _CORRUPT
    if not bad:
        return None
    return BatchRefusal(
        ErrorCode.INVALID_TIMESTAMP,
        "One or more records have been rejected due to invalid timestamp",
        tuple(bad),
    )


def _check_keys(buffer: bytes | bytearray, start: int, end: int) -> BatchRefusal | None:
    try:
        bad = [
            RecordError(index, "Compacted topic cannot accept message without key")
            for index, record in enumerate(records.read_records(buffer[start:end]))
            if record.key is None
        ]
    except ValueError:
        return _CORRUPT
    if not bad:
        return None
    return BatchRefusal(
        ErrorCode.INVALID_RECORD,
        "One or more records have been rejected due to 'Compacted topic cannot accept message"
        " without key'",
        tuple(bad),
    )
