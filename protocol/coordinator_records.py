"""Records of the internal topics of Apache Kafka 4.1.0, which coordinators write.

They are in `__consumer_offsets`, `__transaction_state` and `__share_group_state`. A key is the
record type (int16) and the fields of the key. A value is its version (int16) and the fields in that
version; None deletes the key. The class of each is made when its name is first used.

Sources: the CoordinatorRecordType and the RecordSerde of Kafka's group, transaction and share
coordinators.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from protocol.codec import DecodeError, decode_body
from protocol.data_messages import data_class, decode_data, encode_fields, read_prefix

_THIS = sys.modules[__name__]
_RECORD_TYPE = Struct(">h")
_KEY_VERSION = 0


CoordinatorRecord = tuple[bytes, bytes | None]
"""An encoded key and value; a value of None deletes the key."""

COORDINATOR_SEQUENCE = 0
"""The base sequence of the batches of Kafka's `CoordinatorRuntime`: groups and share groups."""


class RecordClasses(NamedTuple):
    """The classes of the key and the value of a record type."""

    key: Any
    value: Any


LegacyOffsetCommitKey: Any
LegacyOffsetCommitValue: Any
OffsetCommitKey: Any
OffsetCommitValue: Any
GroupMetadataKey: Any
GroupMetadataValue: Any
ConsumerGroupMetadataKey: Any
ConsumerGroupMetadataValue: Any
ConsumerGroupPartitionMetadataKey: Any
ConsumerGroupPartitionMetadataValue: Any
ConsumerGroupMemberMetadataKey: Any
ConsumerGroupMemberMetadataValue: Any
ConsumerGroupTargetAssignmentMetadataKey: Any
ConsumerGroupTargetAssignmentMetadataValue: Any
ConsumerGroupTargetAssignmentMemberKey: Any
ConsumerGroupTargetAssignmentMemberValue: Any
ConsumerGroupCurrentMemberAssignmentKey: Any
ConsumerGroupCurrentMemberAssignmentValue: Any
ShareGroupMemberMetadataKey: Any
ShareGroupMemberMetadataValue: Any
ShareGroupMetadataKey: Any
ShareGroupMetadataValue: Any
ShareGroupTargetAssignmentMetadataKey: Any
ShareGroupTargetAssignmentMetadataValue: Any
ShareGroupTargetAssignmentMemberKey: Any
ShareGroupTargetAssignmentMemberValue: Any
ShareGroupCurrentMemberAssignmentKey: Any
ShareGroupCurrentMemberAssignmentValue: Any
ShareGroupStatePartitionMetadataKey: Any
ShareGroupStatePartitionMetadataValue: Any
ConsumerGroupRegularExpressionKey: Any
ConsumerGroupRegularExpressionValue: Any
StreamsGroupMetadataKey: Any
StreamsGroupMetadataValue: Any
StreamsGroupMemberMetadataKey: Any
StreamsGroupMemberMetadataValue: Any
StreamsGroupTargetAssignmentMetadataKey: Any
StreamsGroupTargetAssignmentMetadataValue: Any
StreamsGroupTargetAssignmentMemberKey: Any
StreamsGroupTargetAssignmentMemberValue: Any
StreamsGroupCurrentMemberAssignmentKey: Any
StreamsGroupCurrentMemberAssignmentValue: Any
StreamsGroupTopologyKey: Any
StreamsGroupTopologyValue: Any
TransactionLogKey: Any
TransactionLogValue: Any
ShareSnapshotKey: Any
ShareSnapshotValue: Any
ShareUpdateKey: Any
ShareUpdateValue: Any


class RecordsOfTopic(Mapping[int, RecordClasses]):
    """The classes of the records in an internal topic, by record type; made when first used."""

    def __init__(self, *names: str) -> None:
        self._names = names

    @cached_property
    def _by_type(self) -> dict[int, RecordClasses]:
        pairs = [(_class(f"{name}Key"), _class(f"{name}Value")) for name in self._names]
        return {record_type(key): RecordClasses(key, value) for key, value in pairs}

    def __getitem__(self, number: int) -> RecordClasses:
        return self._by_type[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_type)

    def __len__(self) -> int:
        return len(self._names)


GROUP_RECORDS = RecordsOfTopic(
    "LegacyOffsetCommit",
    "OffsetCommit",
    "GroupMetadata",
    "ConsumerGroupMetadata",
    "ConsumerGroupPartitionMetadata",
    "ConsumerGroupMemberMetadata",
    "ConsumerGroupTargetAssignmentMetadata",
    "ConsumerGroupTargetAssignmentMember",
    "ConsumerGroupCurrentMemberAssignment",
    "ShareGroupMemberMetadata",
    "ShareGroupMetadata",
    "ShareGroupTargetAssignmentMetadata",
    "ShareGroupTargetAssignmentMember",
    "ShareGroupCurrentMemberAssignment",
    "ShareGroupStatePartitionMetadata",
    "ConsumerGroupRegularExpression",
    "StreamsGroupMetadata",
    "StreamsGroupMemberMetadata",
    "StreamsGroupTargetAssignmentMetadata",
    "StreamsGroupTargetAssignmentMember",
    "StreamsGroupCurrentMemberAssignment",
    "StreamsGroupTopology",
)
"""The classes of the records in `__consumer_offsets`, by record type."""

TRANSACTION_RECORDS = RecordsOfTopic("TransactionLog")
"""The classes of the records in `__transaction_state`, by record type."""

SHARE_RECORDS = RecordsOfTopic("ShareSnapshot", "ShareUpdate")
"""The classes of the records in `__share_group_state`, by record type."""

if not TYPE_CHECKING:  # else it would allow any name

    def __getattr__(name: str) -> Any:
        """Return the class of a key or value, which from then on is an attribute of this module."""
        # From Python 3.14 on, `__annotations__` is an attribute of the module, but no name in it.
        if name not in _THIS.__annotations__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _class(name)


def _class(name: str) -> Any:
    if name not in globals():
        globals()[name] = data_class(name)
    return globals()[name]


def record_type(key: Any) -> int:
    """Return the record type of a key or of its class."""
    return int(key.json["apiKey"])


def encode_key(key: Any) -> bytes:
    """Encode the key of a record; `data_messages.encode_data` encodes values."""
    return _RECORD_TYPE.pack(record_type(key)) + encode_fields(key, _KEY_VERSION)


def tombstones(keys: Iterable[bytes]) -> list[CoordinatorRecord]:
    """Return the records that delete these keys, in their order."""
    return [(key, None) for key in keys]


def topic_partitions(entry_class: Any, assignment: Mapping[UUID, Iterable[int]]) -> list[Any]:
    """Return the entries of an assignment's topics, each with its partition indexes in order."""
    return [
        entry_class(topic_id=topic_id, partitions=sorted(indexes))
        for topic_id, indexes in assignment.items()
    ]


def decode_key(records: Mapping[int, RecordClasses], data: bytes) -> Any:
    """Decode the key of a record in the topic of these records.

    Raises:
        DecodeError: the bytes are no such key, or of an unknown record type.
    """
    number = read_prefix(data)
    if number not in records:
        raise DecodeError(f"unknown record type {number}")
    return decode_body(records[number].key, _KEY_VERSION, memoryview(data)[_RECORD_TYPE.size :])


def decode_value(records: Mapping[int, RecordClasses], key: Any, data: bytes | None) -> Any:
    """Decode the value of a record with this key; None for a record that deletes the key.

    Raises:
        DecodeError: the bytes are no such value, or of a version without a schema.
    """
    return None if data is None else decode_data(records[record_type(key)].value, data)
