"""The records of a group in `__consumer_offsets`: its members, and its committed offsets.

Source: Kafka's `GroupCoordinatorRecordHelpers`, with the versions that it writes.
"""

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import Protocol

from broker.groups.members import Member
from broker.groups.results import CommittedOffset
from protocol import coordinator_records as schema
from protocol.coordinator_records import CoordinatorRecord, encode_key
from protocol.data_messages import encode_data
from protocol.errors import ErrorCode

GROUP_METADATA_VERSION = 3
OFFSET_COMMIT_VERSION = 4
EXPIRING_OFFSET_COMMIT_VERSION = 1
"""The only version that has the time at which the offset expires."""

_SHORT_METADATA_BYTES = 126
_BEFORE_METADATA = Struct(">hqib")
"""Version, offset, leader epoch, and the size of the metadata plus one in one byte."""
_AFTER_METADATA = Struct(">qb")
"""Time of the commit, and the number of tagged fields."""
_TOPIC_ID_TAG = b"\x00\x10"
"""Tag 0, with a size of 16 bytes."""


class AppendRecords(Protocol):
    """Appends records to the log of a group, in one batch if `is_atomic`.

    With a producer id and epoch they belong to their transaction.
    """

    def __call__(
        self,
        group_id: str,
        records: list[CoordinatorRecord],
        now_ms: int,
        /,
        *,
        is_atomic: bool = False,
        producer: tuple[int, int] | None = None,
    ) -> ErrorCode:
        """Return NONE, or the error for which nothing was appended."""
        ...


def discard_records(
    _group_id: str,
    _records: list[CoordinatorRecord],
    _now_ms: int,
    *,
    is_atomic: bool = False,
    producer: tuple[int, int] | None = None,
) -> ErrorCode:
    """Append nothing, for groups without a log."""
    return ErrorCode.NONE


@lru_cache(maxsize=1024)
def offset_key(group_id: str, topic_name: str, partition_index: int) -> bytes:
    """Return the key of a committed offset."""
    key = schema.OffsetCommitKey(group=group_id, topic=topic_name, partition=partition_index)
    return encode_key(key)


def offset_value(committed: CommittedOffset) -> bytes:
    """Return the value of a committed offset.

    Most commits do not expire and have little metadata. They are encoded here, several times as
    fast as from the schema.
    """
    metadata, topic_id = committed.metadata.encode(), committed.topic_id
    if committed.expires_ms is None and len(metadata) <= _SHORT_METADATA_BYTES:
        head = _BEFORE_METADATA.pack(
            OFFSET_COMMIT_VERSION, committed.offset, committed.leader_epoch, len(metadata) + 1
        )
        if topic_id is None:
            return head + metadata + _AFTER_METADATA.pack(committed.committed_ms, 0)
        tail = _AFTER_METADATA.pack(committed.committed_ms, 1) + _TOPIC_ID_TAG + topic_id.bytes
        return head + metadata + tail
    does_expire = committed.expires_ms is not None
    value = schema.OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.committed_ms,
        expire_timestamp=committed.expires_ms,
        topic_id=topic_id,
    )
    return encode_data(
        value, EXPIRING_OFFSET_COMMIT_VERSION if does_expire else OFFSET_COMMIT_VERSION
    )


OFFSET_PLACE = 2
"""Where `offset_value` has the offset and the leader epoch; see `committed_ms_place`."""


def committed_ms_place(metadata: str) -> int | None:
    """Return where `offset_value` has the time of the commit; None for long metadata."""
    metadata_bytes = len(metadata.encode())
    return (
        _BEFORE_METADATA.size + metadata_bytes if metadata_bytes <= _SHORT_METADATA_BYTES else None
    )


def group_key(group_id: str) -> bytes:
    """Return the key of a group's metadata."""
    return encode_key(schema.GroupMetadataKey(group=group_id))


def group_value(
    *,
    protocol_type: str | None,
    generation_id: int,
    protocol_name: str | None,
    leader_id: str | None,
    state_since_ms: int,
    members: Iterable[Member],
) -> bytes:
    """Return the value of a group's metadata, with the assignment of each member."""
    value = schema.GroupMetadataValue(
        protocol_type=protocol_type or "",
        generation=generation_id,
        protocol=protocol_name,
        leader=leader_id,
        current_state_timestamp=state_since_ms,
        members=[
            schema.GroupMetadataValue.MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.protocols.get(protocol_name or "", b""),
                assignment=member.assignment,
            )
            for member in members
        ],
    )
    return encode_data(value, GROUP_METADATA_VERSION)
