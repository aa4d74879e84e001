"""Validate a record batch before the append: pure checks, the first error wins.

`read_batch` comes first, for all batches of a request, then `check_batch` when a batch is appended.
What is behind the header is the subject of `record_check`.

Sources: Kafka's `RequestUtils.hasTransactionalRecords` and `ProduceRequest.validateRecords`; then
`UnifiedLog.analyzeAndValidateRecords`.
"""

from typing import TypeAlias

from broker.cluster.topics import Topic
from broker.produce.batch_refusal import (
    INVALID_IN_LOG,
    TOO_LARGE,
    BatchRefusal,
)
from broker.produce.record_check import check_records
from broker.produce.single_records import SHAPES, learn_single
from broker.produce.stored_batch import StoredBatch
from protocol import records
from protocol.checksum import crc32c
from protocol.compression import ZSTD
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from protocol.produce import ZSTD_VERSION_MIN
from protocol.records import (
    COMPRESSION_MASK,
    BatchHeader,
    HeaderFields,
)

_HEADER_BYTES, _LOG_OVERHEAD_BYTES, _MAGIC = (
    records.HEADER_BYTES,
    records.LOG_OVERHEAD_BYTES,
    records.MAGIC,
)
_LENGTH_MIN = 14
"""The least batch length of any format (Kafka's `LegacyRecord.RECORD_OVERHEAD_V0`)."""
_PRODUCER_ID_END = 51
"""Kafka reads up to here before it checks that a batch has a whole header."""


_CORRUPT = BatchRefusal(ErrorCode.CORRUPT_MESSAGE)
_INVALID = BatchRefusal(ErrorCode.INVALID_RECORD)
_FAILED = BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, fails_request=True)


ReadBatch: TypeAlias = tuple[int, int, int, HeaderFields | BatchRefusal | None]
"""A `PartitionBatch` of the decoder, with a refusal in place of a header that could not be read.

With a header, `frame[start:end]` is the batch.

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


def batch_end(header: HeaderFields, start: int) -> int:
    """Return where the batch with a header ends."""
    return start + _LOG_OVERHEAD_BYTES + header[1]


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
) -> BatchRefusal | StoredBatch | None:
    """Return why a batch must not be stored, or what is stored instead; None if it is stored as is.

    `covered` are the bytes that its CRC covers, which are all behind its CRC.
    """
    (
        base_offset,
        length,
        _leader_epoch,
        _magic,
        crc,
        _attributes,
        _last_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        _producer_epoch,
        base_sequence,
        _count,
    ) = header
    if base_offset or length > topic.batch_length_max:
        if base_offset:
            return INVALID_IN_LOG
        if length + _LOG_OVERHEAD_BYTES > topic.max_message_bytes:
            return TOO_LARGE
        if crc32c(covered) == crc:  # larger than a segment, which comes behind errors of records
            return check_records(header, covered, topic, partition_index, now_ms)
        return _CORRUPT
    if crc32c(covered) != crc:
        return _CORRUPT
    unpack, known = SHAPES[length]
    if (
        (unpack(covered) not in known and not learn_single(length, covered))
        or max_timestamp != base_timestamp
        or (max_timestamp > now_ms and max_timestamp > now_ms + topic.timestamp_after_max_ms)
        or topic.checks_records
        or (base_sequence < 0 and producer_id >= 0)
    ):
        return check_records(header, covered, topic, partition_index, now_ms)
    return None
