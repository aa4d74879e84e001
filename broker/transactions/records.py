"""The records of transactional ids in `__transaction_state`.

Source: Kafka's `TransactionLog`, with the fields that it writes: previous and next producer ids are
not among them.
"""

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import Protocol

from broker.transactions.transaction import TopicPartition, Transaction, TransactionState
from protocol import coordinator_records as schema
from protocol.coordinator_records import CoordinatorRecord, encode_key
from protocol.data_messages import encode_data
from protocol.errors import ErrorCode

TRANSACTION_STATUS = {state: number for number, state in enumerate(TransactionState)}
"""The number of each state in a record."""

FLEXIBLE_TRANSACTION_VERSION_MIN = 1
"""The first level of `transaction.version` at which records have tagged fields (KIP-890)."""

_FLEXIBLE_VERSION = 1
_INFLEXIBLE_VERSION = 0
_SHORT_PARTITIONS_MAX = 16
_BEFORE_PARTITIONS = Struct(">hqhib")
"""Version of the value, producer id, producer epoch, timeout, state."""
_TIMES = Struct(">qq")
"""Times of the last update and of the begin."""
_NO_TAGS = b"\x00"
_CLIENT_VERSION_TAG = Struct(">BBBh")
"""Number of tagged fields, tag, size, transaction version of the client."""
_CLIENT_VERSION_TAG_NUMBER = 2
_NULL = b"\x00"


class TransactionLog(Protocol):
    """Where the coordinator stores its state."""

    def check(self, transactional_id: str, /) -> ErrorCode:
        """Return NONE if a record can be appended now, or the error for the client."""
        ...

    def append(self, transactional_id: str, record: CoordinatorRecord, now_ms: int, /) -> None:
        """Append the record of a transactional id."""
        ...


class NoTransactionLog:
    """A log that stores nothing."""

    def check(self, _transactional_id: str, /) -> ErrorCode:
        """Return NONE."""
        return ErrorCode.NONE

    def append(self, _transactional_id: str, _record: CoordinatorRecord, _now_ms: int, /) -> None:
        """Append nothing."""


@lru_cache(maxsize=4096)
def transaction_key(transactional_id: str) -> bytes:
    """Return the key of a transactional id."""
    return encode_key(schema.TransactionLogKey(transactional_id=transactional_id))


def transaction_value(transaction: Transaction, log_transaction_version: int) -> bytes:
    """Return the value of a transactional id with its transaction.

    `log_transaction_version` is the finalized level of `transaction.version`, which decides about
    the version of the value. The usual value is encoded here, several times as fast as from the
    schema.
    """
    partitions = tuple(transaction.partitions)
    if (
        log_transaction_version < FLEXIBLE_TRANSACTION_VERSION_MIN
        or len(partitions) > _SHORT_PARTITIONS_MAX
    ):
        return _encode(transaction, partitions, log_transaction_version)
    is_empty = transaction.state is TransactionState.EMPTY
    client_version = transaction.transaction_version
    head = _BEFORE_PARTITIONS.pack(
        _FLEXIBLE_VERSION,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.timeout_ms,
        TRANSACTION_STATUS[transaction.state],
    )
    tags = (
        _CLIENT_VERSION_TAG.pack(1, _CLIENT_VERSION_TAG_NUMBER, 2, client_version)
        if client_version
        else _NO_TAGS
    )
    return (
        head
        + (_NULL if is_empty else _flexible_partitions(partitions))
        + _TIMES.pack(transaction.last_update_ms, transaction.start_ms)
        + tags
    )


def _encode(
    transaction: Transaction, partitions: tuple[TopicPartition, ...], log_transaction_version: int
) -> bytes:
    """Encode the value from its schema."""
    is_flexible = log_transaction_version >= FLEXIBLE_TRANSACTION_VERSION_MIN
    value = schema.TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        client_transaction_version=transaction.transaction_version if is_flexible else 0,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=TRANSACTION_STATUS[transaction.state],
        transaction_partitions=None
        if transaction.state is TransactionState.EMPTY
        else [
            schema.TransactionLogValue.PartitionsSchema(topic=topic, partition_ids=indexes)
            for topic, indexes in _by_topic(partitions).items()
        ],
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
    )
    return encode_data(value, _FLEXIBLE_VERSION if is_flexible else _INFLEXIBLE_VERSION)


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
