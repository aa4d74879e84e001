"""The codec of Fetch agrees with the schema's codec."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import fetch, messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.fetch import (
    PARTITIONS_MAX,
    encode_middle,
    encode_response,
    encode_topic,
    read_fetch,
    read_long_fetch,
    session_epoch_at,
)
from protocol.short_fields import COUNT_MAX, write_count
from tests.protocol.fetch_requests import INT32, INT64, request_of
from tests.protocol.short_requests import (
    Reader,
    assert_same,
    check_arbitrary_bytes,
    read_both,
)

VERSIONS = range(5, 19)
TEXTS = st.text(max_size=20)

_TopicResponse = messages.FetchResponse.FetchableTopicResponse
_PartitionData = _TopicResponse.PartitionData


PARTITIONS = st.lists(st.tuples(INT32, INT32, INT64, INT32, INT64, INT32), max_size=4)


@given(
    st.sampled_from(VERSIONS),
    st.lists(st.tuples(TEXTS, st.uuids(), PARTITIONS), max_size=4),
    TEXTS,
    st.binary(max_size=9),
    st.sampled_from([read_fetch, read_long_fetch]),
)
def test_a_request_is_read(
    version: int, topics: list[Any], rack_id: str, before: bytes, read: Reader
) -> None:
    request = request_of(version, topics, rack_id=rack_id)

    found, decoded = read_both(read, request, version, before)

    assert found.replica_id == -1
    assert (found.session_id, found.session_epoch) == ((5, 6) if version >= 7 else (0, -1))
    assert found.rack_id == (rack_id if version >= 11 else "")
    for topic, expected_topic in zip(found.topics, decoded.topics, strict=True):
        for partition, expected in zip(topic.partitions, expected_topic.partitions, strict=True):
            assert partition.current_leader_epoch == (
                expected.current_leader_epoch if version >= 9 else -1
            )
            assert partition.last_fetched_epoch == (
                expected.last_fetched_epoch if version >= 12 else -1
            )
        assert topic.topic == (expected_topic.topic if version < 13 else "")
        assert topic.topic_id == (expected_topic.topic_id if version >= 13 else UUID(int=0))
        fields = [
            (p.partition, p.fetch_offset, p.log_start_offset, p.partition_max_bytes)
            for p in topic.partitions
        ]
        assert fields == [
            (p.partition, p.fetch_offset, p.log_start_offset, p.partition_max_bytes)
            for p in expected_topic.partitions
        ]
    limits = (found.max_wait_ms, found.min_bytes, found.max_bytes, found.isolation_level)
    assert limits == (500, 1, 1 << 20, 1)
    if version >= 7:
        body = encode_message(request, version)
        epoch_at = session_epoch_at(version)
        assert body[epoch_at : epoch_at + 4] == (6).to_bytes(4)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_with_many_partitions_and_topics_is_read(version: int) -> None:
    many = [(index, 1, 2 * index, 3, 4, 5) for index in range(1_500)]
    few = [(f"t{number}", UUID(int=number), many[:2]) for number in range(300)]
    topics = [("many", UUID(int=1000), many), *few]

    found, decoded = read_both(read_long_fetch, request_of(version, topics), version)

    if version >= 12:
        assert_same(found, decoded)
    assert [len(topic.partitions) for topic in found.topics] == [1_500] + [2] * 300
    assert [partition.fetch_offset for partition in found.topics[0].partitions] == [
        partition.fetch_offset for partition in decoded.topics[0].partitions
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_count_of_more_than_there_are_bytes_is_left_to_the_schema(version: int) -> None:
    body = encode_message(request_of(version, [("t", UUID(int=1), [])]), version)
    for position in range(len(body)):
        for wrong in (b"\x7f", b"\xff\xff\xff\xff\x07"):
            changed = body[:position] + wrong + body[position + 1 :]
            check_arbitrary_bytes(read_long_fetch, ApiKey.FETCH, version, changed)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_that_is_cut_or_long_or_rare_is_left_to_the_schema(version: int) -> None:
    one = (0, 1, 2, 3, 4, 5)
    body = encode_message(request_of(version, [("t", UUID(int=1), [one])]), version)
    for end in range(len(body)):
        assert read_fetch(version, body, 0, end) is None
        assert read_long_fetch(version, body, 0, end) is None
    topics = [("t", UUID(int=number), [one] * 51) for number in (1, 2)]
    assert sum(len(partitions) for *_topic, partitions in topics) > PARTITIONS_MAX
    long = encode_message(request_of(version, topics), version)
    assert read_fetch(version, long, 0, len(long)) is None
    if version >= 7:
        gone = encode_message(request_of(version, [], forgotten=(1,)), version)
        assert read_fetch(version, gone, 0, len(gone)) is None


def test_version_4_and_tagged_fields_are_left_to_the_schema() -> None:
    old = encode_message(request_of(4, []), 4)
    assert read_fetch(4, old, 0, len(old)) is None
    follower = request_of(17, [])
    follower.replica_state = messages.FetchRequest.ReplicaState(replica_id=1, replica_epoch=2)
    body = encode_message(follower, 17)
    assert read_fetch(17, body, 0, len(body)) is None


@given(st.sampled_from(range(4, 19)), st.binary(max_size=80))
def test_arbitrary_bytes_are_read_as_by_the_schema_or_not_at_all(version: int, body: bytes) -> None:
    check_arbitrary_bytes(read_fetch, ApiKey.FETCH, version, body)
    check_arbitrary_bytes(read_long_fetch, ApiKey.FETCH, version, body)


ABORTED = st.none() | st.lists(st.tuples(INT64, INT64), max_size=3)
DATA = st.tuples(
    INT32, st.integers(-1, 130), INT64, INT64, INT64, ABORTED, INT32, st.binary(max_size=300)
)


@given(
    st.sampled_from(VERSIONS),
    st.integers(-1, 130),
    INT32,
    st.lists(st.tuples(TEXTS, st.uuids(), st.lists(DATA, max_size=3)), max_size=3),
)
def test_the_response_is_that_of_the_schema(
    version: int, error_code: int, session_id: int, topics: list[Any]
) -> None:
    response: Any = messages.FetchResponse(
        version=version, error_code=error_code, session_id=session_id, responses=[]
    )
    encoded_topics = []
    for name, topic_id, partitions in topics:
        topic = _TopicResponse(version=version, topic=name, topic_id=topic_id, partitions=[])
        parts: list[bytes] = []
        for index, error, high, stable, start, aborted, preferred, records in partitions:
            entry = _PartitionData(
                version=version,
                partition_index=index,
                error_code=error,
                high_watermark=high,
                last_stable_offset=stable,
                log_start_offset=start,
                aborted_transactions=aborted
                and [
                    _PartitionData.AbortedTransaction(
                        version=version, producer_id=producer_id, first_offset=first_offset
                    )
                    for producer_id, first_offset in aborted
                ],
                preferred_read_replica=preferred,
                records=records,
            )
            topic.partitions.append(entry)
            middle = encode_middle(version, aborted, preferred)
            assert middle is not None
            parts += [fetch.DATA.pack(index, error, high, stable, start), middle]
            parts += [write_count(len(records), is_flexible=version >= 12), records]
            parts.append(b"\0" if version >= 12 else b"")
        response.responses.append(topic)
        beginning = encode_topic(version, name, topic_id)
        assert beginning is not None
        encoded_topics.append((beginning, len(partitions), parts))

    array = b"".join(array_of(version, encoded_topics))
    body = encode_response(version, error_code, session_id, array)

    assert body == encode_message(response, version)


def array_of(version: int, topics: list[tuple[bytes, int, list[bytes]]]) -> list[bytes]:
    """Return the parts of the array of topics: begin, number of partitions, and their parts."""
    is_flexible = version >= 12
    tags = [b"\0"] if is_flexible else []
    found = [write_count(len(topics), is_flexible=is_flexible)]
    for beginning, count, parts in topics:
        found += [beginning, write_count(count, is_flexible=is_flexible), *parts, *tags]
    return found + tags


def test_a_long_response_is_left_to_the_schema() -> None:
    many = [(1, 1)] * (COUNT_MAX + 1)
    assert encode_middle(12, many, -1) is None
    assert encode_topic(12, "t" * (COUNT_MAX + 1), None) is None
