"""Records of the internal topics of Apache Kafka 4.1.0, which coordinators write.

They are in `__consumer_offsets`, `__transaction_state` and `__share_group_state`. A key is the
record type (int16) and the fields of the key. A value is its version (int16) and the fields in that
version; None deletes the key.

Sources: the CoordinatorRecordType and the RecordSerde of Kafka's group, transaction and share
coordinators.
"""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any, NamedTuple
from uuid import UUID

from protocol.codec import DecodeError, decode_body
from protocol.data_messages import data_class, decode_data, encode_fields, read_prefix

_RECORD_TYPE = Struct(">h")
_KEY_VERSION = 0


CoordinatorRecord = tuple[bytes, bytes | None]
"""An encoded key and value; a value of None deletes the key."""


class RecordClasses(NamedTuple):
    """The classes of the key and the value of a record type."""

    key: Any
    value: Any


def _record(name: str) -> RecordClasses:
    return RecordClasses(data_class(f"{name}Key"), data_class(f"{name}Value"))


def _by_type(*records: tuple[Any, Any]) -> Mapping[int, RecordClasses]:
    return {record_type(key): RecordClasses(key, value) for key, value in records}


def record_type(key: Any) -> int:
    """Return the record type of a key or of its class."""
    return int(key.json["apiKey"])


LegacyOffsetCommitKey, LegacyOffsetCommitValue = _record("LegacyOffsetCommit")
OffsetCommitKey, OffsetCommitValue = _record("OffsetCommit")
GroupMetadataKey, GroupMetadataValue = _record("GroupMetadata")
ConsumerGroupMetadataKey, ConsumerGroupMetadataValue = _record("ConsumerGroupMetadata")
ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue = _record(
    "ConsumerGroupPartitionMetadata"
)
ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue = _record(
    "ConsumerGroupMemberMetadata"
)
ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue = _record(
    "ConsumerGroupTargetAssignmentMetadata"
)
ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue = _record(
    "ConsumerGroupTargetAssignmentMember"
)
ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue = _record(
    "ConsumerGroupCurrentMemberAssignment"
)
ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue = _record("ShareGroupMemberMetadata")
ShareGroupMetadataKey, ShareGroupMetadataValue = _record("ShareGroupMetadata")
ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue = _record(
    "ShareGroupTargetAssignmentMetadata"
)
ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue = _record(
    "ShareGroupTargetAssignmentMember"
)
ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue = _record(
    "ShareGroupCurrentMemberAssignment"
)
ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue = _record(
    "ShareGroupStatePartitionMetadata"
)
ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue = _record(
    "ConsumerGroupRegularExpression"
)
StreamsGroupMetadataKey, StreamsGroupMetadataValue = _record("StreamsGroupMetadata")
StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue = _record(
    "StreamsGroupMemberMetadata"
)
StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue = _record(
    "StreamsGroupTargetAssignmentMetadata"
)
StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue = _record(
    "StreamsGroupTargetAssignmentMember"
)
StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue = _record(
    "StreamsGroupCurrentMemberAssignment"
)
StreamsGroupTopologyKey, StreamsGroupTopologyValue = _record("StreamsGroupTopology")

TransactionLogKey, TransactionLogValue = _record("TransactionLog")

ShareSnapshotKey, ShareSnapshotValue = _record("ShareSnapshot")
ShareUpdateKey, ShareUpdateValue = _record("ShareUpdate")

GROUP_RECORDS = _by_type(
    (LegacyOffsetCommitKey, LegacyOffsetCommitValue),
    (OffsetCommitKey, OffsetCommitValue),
    (GroupMetadataKey, GroupMetadataValue),
    (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    (ShareGroupMetadataKey, ShareGroupMetadataValue),
    (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
    (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
    (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    (StreamsGroupMetadataKey, StreamsGroupMetadataValue),
    (StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
    (StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue),
    (StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue),
    (StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue),
    (StreamsGroupTopologyKey, StreamsGroupTopologyValue),
)
"""The classes of the records in `__consumer_offsets`, by record type."""

TRANSACTION_RECORDS = _by_type(
    (TransactionLogKey, TransactionLogValue),
)
"""The classes of the records in `__transaction_state`, by record type."""

SHARE_RECORDS = _by_type(
    (ShareSnapshotKey, ShareSnapshotValue),
    (ShareUpdateKey, ShareUpdateValue),
)
"""The classes of the records in `__share_group_state`, by record type."""


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
