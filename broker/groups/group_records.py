"""The records of a group in `__consumer_offsets`: its members, and its committed offsets.

Source: Kafka's `GroupCoordinatorRecordHelpers`, with the versions that it writes.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
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
_NO_TAGS = b"\0"
_TOPIC_ID_TAG = b"\x01\x00\x10"
"""One tagged field: tag 0, with a size of 16 bytes."""


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


@cache
def _short_value(metadata_bytes: int) -> Struct:
    """Return version, offset, leader epoch, size plus one, metadata, and time of the commit."""
    return Struct(f">hqib{metadata_bytes}sq")


def offset_value(committed: CommittedOffset) -> bytes:
    """Return the value of a committed offset.

    Most commits do not expire and have little metadata. They are encoded here, several times as
    fast as from the schema.
    """
    offset, leader_epoch, text, committed_ms, expires_ms, topic_id = committed
    metadata = text.encode()
    if expires_ms is None and len(metadata) <= _SHORT_METADATA_BYTES:
        tags = _NO_TAGS if topic_id is None else _TOPIC_ID_TAG + topic_id.bytes
        size = len(metadata)
        return (
            _short_value(size).pack(
                OFFSET_COMMIT_VERSION, offset, leader_epoch, size + 1, metadata, committed_ms
            )
            + tags
        )
    does_expire = expires_ms is not None
    value = schema.OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=text,
        commit_timestamp=committed_ms,
        expire_timestamp=expires_ms,
        topic_id=topic_id,
    )
    return encode_data(
        value, EXPIRING_OFFSET_COMMIT_VERSION if does_expire else OFFSET_COMMIT_VERSION
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
