"""The codec of OffsetCommit agrees with the schema's codec."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages, offset_commit
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.offset_commit import SHORT_VERSION_MIN, encode_response, read_offset_commit
from protocol.short_fields import COUNT_MAX
from tests.protocol.short_requests import assert_same, check_arbitrary_bytes, read_both

VERSIONS = range(SHORT_VERSION_MIN, 11)
TEXTS = st.text(max_size=20)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)

_Topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic
_TopicResponse = messages.OffsetCommitResponse.OffsetCommitResponseTopic


def request_of(version: int, topics: list[tuple[str, UUID, list[tuple[Any, ...]]]]) -> Any:
    encoded = []
    for name, topic_id, partitions in topics:
        topic = _Topic(
            version=version,
            partitions=[
                _Topic.OffsetCommitRequestPartition(
                    version=version,
                    partition_index=index,
                    committed_offset=offset,
                    committed_leader_epoch=epoch,
                    committed_metadata=metadata,
                )
                for index, offset, epoch, metadata in partitions
            ],
        )
        if version >= 10:
            topic.topic_id = topic_id
        else:
            topic.name = name
        encoded.append(topic)
    return messages.OffsetCommitRequest(
        version=version,
        group_id="g",
        generation_id_or_member_epoch=3,
        member_id="m",
        group_instance_id="i",
        topics=encoded,
    )


PARTITIONS = st.lists(st.tuples(INT32, INT64, INT32, st.none() | TEXTS), max_size=4)


@given(
    st.sampled_from(VERSIONS),
    st.lists(st.tuples(TEXTS, st.uuids(), PARTITIONS), max_size=4),
    st.binary(max_size=9),
)
def test_a_request_is_read(version: int, topics: list[Any], before: bytes) -> None:
    request = request_of(version, topics)

    found, decoded = read_both(read_offset_commit, request, version, before)

    assert_same(found, decoded)
    assert found.group_instance_id == "i"
    assert found.retention_time_ms == -1


@given(
    st.lists(st.tuples(INT32, INT64, INT32, st.sampled_from(["", "m", None])), min_size=2),
    st.sampled_from(["a", "b"]),
    st.booleans(),
)
def test_requests_for_one_partition_are_read_whatever_was_read_before(
    partitions: list[Any], name: str, has_more: bool
) -> None:
    for version in VERSIONS:
        for number, partition in enumerate(partitions):
            topics = [(name, UUID(int=ord(name)), [partition])]
            if has_more and number % 2:
                topics.append(("c", UUID(int=1), [partitions[0]]))
            assert_same(*read_both(read_offset_commit, request_of(version, topics), version, b""))


def test_few_beginnings_of_requests_are_remembered() -> None:
    for number in range(2000):
        body = encode_message(request_of(9, [(f"t{number}", UUID(int=1), [(0, 1, 2, "")])]), 9)
        assert read_offset_commit(9, body, 0, len(body)) is not None
    assert 0 < len(offset_commit._STARTS) <= offset_commit._STARTS_MAX


@pytest.mark.parametrize("version", range(2, SHORT_VERSION_MIN))
def test_an_old_version_is_left_to_the_schema(version: int) -> None:
    request = messages.OffsetCommitRequest(
        version=version, group_id="g", generation_id_or_member_epoch=3, member_id="m", topics=[]
    )
    body = encode_message(request, version)
    assert read_offset_commit(version, body, 0, len(body)) is None
    assert encode_response(version, []) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_that_is_cut_or_long_is_left_to_the_schema(version: int) -> None:
    body = encode_message(request_of(version, [("t", UUID(int=1), [(0, 1, 2, "m")])]), version)
    for end in range(len(body)):
        assert read_offset_commit(version, body, 0, end) is None
    many = [(index, 1, -1, "") for index in range(COUNT_MAX + 1)]
    long = encode_message(request_of(version, [("t", UUID(int=1), many)]), version)
    assert read_offset_commit(version, long, 0, len(long)) is None


@given(st.sampled_from(VERSIONS), st.binary(max_size=60))
def test_arbitrary_bytes_are_read_as_by_the_schema_or_not_at_all(version: int, body: bytes) -> None:
    check_arbitrary_bytes(read_offset_commit, ApiKey.OFFSET_COMMIT, version, body)


@given(
    st.sampled_from(VERSIONS),
    st.lists(
        st.tuples(TEXTS, st.uuids(), st.lists(st.tuples(INT32, st.integers(-1, 130)), max_size=4)),
        max_size=4,
    ),
)
def test_the_response_is_that_of_the_schema(version: int, topics: list[Any]) -> None:
    response = messages.OffsetCommitResponse(version=version, topics=[])
    for name, topic_id, errors in topics:
        topic: Any = _TopicResponse(
            version=version,
            partitions=[
                _TopicResponse.OffsetCommitResponsePartition(
                    version=version, partition_index=index, error_code=error_code
                )
                for index, error_code in errors
            ],
        )
        if version >= 10:
            topic.topic_id = topic_id
        else:
            topic.name = name
        response.topics.append(topic)
    keys = [(topic_id if version >= 10 else name, errors) for name, topic_id, errors in topics]

    assert encode_response(version, keys) == encode_message(response, version)


def test_a_long_response_is_left_to_the_schema() -> None:
    many = [(index, 0) for index in range(COUNT_MAX + 1)]
    assert encode_response(9, [("t", many)]) is None
    assert encode_response(9, [("t" * (COUNT_MAX + 1), [(0, 0)])]) is None
    assert encode_response(9, [("t", [(0, 0)])] * (COUNT_MAX + 1)) is None
