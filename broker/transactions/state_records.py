"""The records of transactional ids in `__transaction_state`.

Source: Kafka's `TransactionLog`, with the fields that it writes.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple, Protocol

from broker.transactions.transaction import (
    NO_PRODUCER_ID,
    TopicPartition,
    Transaction,
    TransactionLogPartition,
    TransactionState,
)
from protocol import coordinator_records as schema
from protocol.batch_builder import uncompressed_batch
from protocol.checksum import crc32c
from protocol.coordinator_records import CoordinatorRecord, encode_key
from protocol.data_messages import encode_data
from protocol.errors import ErrorCode
from protocol.records import CRC_START, LOG_OVERHEAD_BYTES, MAGIC, pack_stored_header
from protocol.releases import Release

TRANSACTION_STATUS = {state: number for number, state in enumerate(TransactionState)}
"""The number of each state in a record."""

FLEXIBLE_TRANSACTION_VERSION_MIN = 1
"""The first level of `transaction.version` at which records have tagged fields (KIP-890)."""

PRODUCER_IDS_SINCE: Release = (4, 3)
"""First release whose records have the previous and the next producer id."""

_FLEXIBLE_VERSION = 1
_INFLEXIBLE_VERSION = 0
_SHORT_PARTITIONS_MAX = 16
_SHORT_ID_LENGTH_MAX = 255
"""Together they bound what is remembered of the usual records."""
_NUMBERS = Struct(">hqhib")
"""Version of the value, producer id, producer epoch, timeout, state."""
_VERSION_BYTES = 2
_TIMES = Struct(">qq")
"""Times of the last update and of the begin."""
_TIMESTAMPS_AT, _TIMESTAMPS_END = 6, 22
"""Where the timestamps of a batch are, counted from its attributes."""
_HEADERS_BYTES = 1
_LENGTH_BEFORE_CHECKED = CRC_START - LOG_OVERHEAD_BYTES
_PREVIOUS_ID_TAG, _NEXT_ID_TAG, _CLIENT_VERSION_TAG = range(3)
_ID_FIELD = Struct(">BBq")
"""Tag, size, and a producer id."""
_CLIENT_VERSION_FIELD = Struct(">BBh")
"""Tag, size, transaction version of the client."""
_NO_TAGS = b"\x00"
_NULL = b"\x00"


class TransactionLog(Protocol):
    """Where the coordinator stores its state."""

    def partition_log(self, transactional_id: str, /) -> TransactionLogPartition | None:
        """Return where the records of a transactional id go; None while there is no such place."""
        ...


class NoTransactionLog:
    """A log that stores nothing."""

    def partition_log(self, _transactional_id: str, /) -> TransactionLogPartition:
        """Return this object."""
        return self

    def check(self) -> ErrorCode:
        """Return NONE."""
        return ErrorCode.NONE

    def append_state(
        self, _transaction: Transaction, _log_transaction_version: int, _now_ms: int, /
    ) -> None:
        """Append nothing."""

    def append(self, _record: CoordinatorRecord, _now_ms: int, /) -> None:
        """Append nothing."""


@lru_cache(maxsize=4096)
def transaction_key(transactional_id: str) -> bytes:
    """Return the key of a transactional id."""
    return encode_key(schema.TransactionLogKey(transactional_id=transactional_id))


def transaction_batch(
    transaction: Transaction,
    log_transaction_version: int,
    base_offset: int,
    leader_epoch: int,
    timestamp_ms: int,
    *,
    has_producer_ids: bool,
) -> bytes:
    """Return the batch with the record of a transactional id, as `uncompressed_batch` builds it.

    `log_transaction_version` is the finalized level of `transaction.version`, which decides about
    the version of the value. With `has_producer_ids` a value of the later version has the previous
    and the next producer id. The usual record differs from an earlier one of its id in a few
    numbers, and is built in a fraction of the time.
    """
    transactional_id, partitions = transaction.transactional_id, tuple(transaction.partitions)
    is_usual = (
        log_transaction_version >= FLEXIBLE_TRANSACTION_VERSION_MIN
        and len(partitions) <= _SHORT_PARTITIONS_MAX
        and len(transactional_id) <= _SHORT_ID_LENGTH_MAX
    )
    if not is_usual:
        value = transaction_value(
            transaction, log_transaction_version, has_producer_ids=has_producer_ids
        )
        record = transaction_key(transactional_id), value
        return uncompressed_batch((record,), base_offset, leader_epoch, timestamp_ms)
    state = transaction.state
    pack, batch_length, until_timestamps, until_value, partitions_field, end = _layout(
        transactional_id,
        None if state is TransactionState.EMPTY else partitions,
        transaction.transaction_version,
        transaction.previous_producer_id if has_producer_ids else NO_PRODUCER_ID,
        transaction.next_producer_id if has_producer_ids else NO_PRODUCER_ID,
    )
    # fmt: off
    checked = pack(
        until_timestamps, timestamp_ms, timestamp_ms, until_value, transaction.producer_id,
        transaction.producer_epoch, transaction.timeout_ms, TRANSACTION_STATUS[state],
        partitions_field, transaction.last_update_ms, transaction.start_ms, end,
    )
    # fmt: on
    crc = crc32c(checked)
    return pack_stored_header(base_offset, batch_length, leader_epoch, MAGIC, crc) + checked


class _Layout(NamedTuple):
    """What the batches of records of the same size have in common, from the attributes on."""

    pack: Callable[..., bytes]
    """Takes the bytes below with the numbers between them."""
    batch_length: int
    """The field of the batch's header."""
    until_timestamps: bytes
    until_value: bytes
    """All between the timestamps of the batch and the producer id in the value."""
    partitions: bytes
    end: bytes


@lru_cache(maxsize=1024)
def _layout(
    transactional_id: str,
    partitions: tuple[TopicPartition, ...] | None,
    client_version: int,
    previous_producer_id: int,
    next_producer_id: int,
) -> _Layout:
    """Return the layout of the batch; `partitions` is None for null."""
    partitions_field = _NULL if partitions is None else _flexible_partitions(partitions)
    tags = _tagged_fields(client_version, previous_producer_id, next_producer_id)
    numbers = _NUMBERS.pack(_FLEXIBLE_VERSION, 0, 0, 0, 0)
    value = numbers + partitions_field + _TIMES.pack(0, 0) + tags
    key = transaction_key(transactional_id)
    checked = uncompressed_batch(((key, value),), 0, 0, 0)[CRC_START:]
    value_end = len(checked) - _HEADERS_BYTES
    value_at = value_end - len(value)
    until_value = checked[_TIMESTAMPS_END : value_at + _VERSION_BYTES]
    end = checked[value_end - len(tags) :]
    return _Layout(
        _layout_struct(len(until_value), len(partitions_field), len(end)).pack,
        len(checked) + _LENGTH_BEFORE_CHECKED,
        checked[:_TIMESTAMPS_AT],
        until_value,
        partitions_field,
        end,
    )


def _tagged_fields(client_version: int, previous_producer_id: int, next_producer_id: int) -> bytes:
    """Return the tagged fields of a value; those with their default are left out."""
    fields = [
        _ID_FIELD.pack(tag, 8, producer_id)
        for tag, producer_id in (
            (_PREVIOUS_ID_TAG, previous_producer_id),
            (_NEXT_ID_TAG, next_producer_id),
        )
        if producer_id != NO_PRODUCER_ID
    ]
    if client_version:
        fields.append(_CLIENT_VERSION_FIELD.pack(_CLIENT_VERSION_TAG, 2, client_version))
    return bytes([len(fields)]) + b"".join(fields)


@lru_cache(maxsize=1024)
def _layout_struct(until_value_bytes: int, partitions_bytes: int, end_bytes: int) -> Struct:
    """Return the struct of batches whose parts have these sizes."""
    return Struct(f">{_TIMESTAMPS_AT}sqq{until_value_bytes}sqhib{partitions_bytes}sqq{end_bytes}s")


def transaction_value(
    transaction: Transaction, log_transaction_version: int, *, has_producer_ids: bool
) -> bytes:
    """Encode the value of a transactional id with its transaction, from its schema.

    The arguments are those of `transaction_batch`.
    """
    is_flexible = log_transaction_version >= FLEXIBLE_TRANSACTION_VERSION_MIN
    has_producer_ids &= is_flexible
    value = schema.TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id
        if has_producer_ids
        else NO_PRODUCER_ID,
        next_producer_id=transaction.next_producer_id if has_producer_ids else NO_PRODUCER_ID,
        producer_epoch=transaction.producer_epoch,
        client_transaction_version=transaction.transaction_version if is_flexible else 0,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=TRANSACTION_STATUS[transaction.state],
        transaction_partitions=None
        if transaction.state is TransactionState.EMPTY
        else [
            schema.TransactionLogValue.PartitionsSchema(topic=topic, partition_ids=indexes)
            for topic, indexes in _by_topic(transaction.partitions).items()
        ],
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
    )
    return encode_data(value, _FLEXIBLE_VERSION if is_flexible else _INFLEXIBLE_VERSION)


def transaction_of(transactional_id: str, value: Any) -> Transaction:
    """Return a transactional id as a coordinator loads it from the value of its record.

    Kafka's `TransactionLog.readTxnRecordValue`. A retry can't name the epoch before the last bump.
    """
    return Transaction(
        transactional_id,
        value.producer_id,
        value.transaction_timeout_ms,
        value.transaction_last_update_timestamp_ms,
        value.previous_producer_id,
        value.next_producer_id,
        value.producer_epoch,
        state=tuple(TransactionState)[value.transaction_status],
        partitions={
            (entry.topic, index): None
            for entry in value.transaction_partitions or ()
            for index in entry.partition_ids
        },
        start_ms=value.transaction_start_timestamp_ms,
        transaction_version=value.client_transaction_version,
    )


@lru_cache(maxsize=1024)
def _flexible_partitions(partitions: tuple[TopicPartition, ...]) -> bytes:
    """Return partitions as the flexible version has them; each length fits into one byte."""
    by_topic = _by_topic(partitions)
    out = bytearray([len(by_topic) + 1])
    for topic, indexes in by_topic.items():
        name = topic.encode()
        out += _compact_length(len(name))
        out += name
        out.append(len(indexes) + 1)
        for index in indexes:
            out += index.to_bytes(4, "big")
        out += _NO_TAGS
    return bytes(out)


def _compact_length(length: int) -> bytes:
    """Return a length as a compact field has it: plus one, as an unsigned varint."""
    number = length + 1
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80, number >> 7])


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, index in partitions:
        by_topic.setdefault(topic, []).append(index)
    return by_topic
