"""The records of groups have the bytes of Kafka's schemas."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from broker.groups.group_records import (
    discard_records,
    group_key,
    group_value,
    offset_key,
    offset_value,
)
from broker.groups.results import CommittedOffset
from protocol.coordinator_records import (
    GROUP_RECORDS,
    GroupMetadataKey,
    OffsetCommitValue,
    decode_key,
    decode_value,
)
from protocol.data_messages import encode_data, read_prefix
from protocol.errors import ErrorCode

INT64 = st.integers(0, 2**63 - 1)


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=150),
    INT64,
    st.integers(-1, 2**31 - 1),
    INT64,
    st.none() | st.uuids(),
)
def test_the_value_of_an_offset_has_the_bytes_of_the_schema(
    metadata: str, offset: int, leader_epoch: int, committed_ms: int, topic_id: UUID | None
) -> None:
    committed = CommittedOffset(offset, leader_epoch, metadata, committed_ms, None, topic_id)
    value = OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_timestamp=committed_ms,
        topic_id=topic_id,
    )
    assert offset_value(committed) == encode_data(value, 4)


def test_an_offset_that_expires_has_version_1() -> None:
    encoded = offset_value(CommittedOffset(7, 3, "note", 10, expires_ms=20))
    assert read_prefix(encoded) == 1
    key = decode_key(GROUP_RECORDS, offset_key("g", "t", 4))
    assert (key.group, key.topic, key.partition) == ("g", "t", 4)
    value = decode_value(GROUP_RECORDS, key, encoded)
    assert (value.offset, value.metadata) == (7, "note")
    assert (value.commit_timestamp, value.expire_timestamp) == (10, 20)


def test_a_group_without_members_has_version_3() -> None:
    encoded = group_value(
        protocol_type=None,
        generation_id=2,
        protocol_name=None,
        leader_id=None,
        state_since_ms=9,
        members=(),
    )
    assert read_prefix(encoded) == 3
    key = decode_key(GROUP_RECORDS, group_key("g"))
    assert isinstance(key, GroupMetadataKey)
    value = decode_value(GROUP_RECORDS, key, encoded)
    assert (value.protocol_type, value.generation, value.current_state_timestamp) == ("", 2, 9)
    assert (value.protocol, value.leader, value.members) == (None, None, [])


def test_records_without_a_log_are_discarded() -> None:
    assert discard_records("g", [(b"k", None)], 0) is ErrorCode.NONE
