"""The hand-written Produce codec agrees with kafka-python's schemas, byte for byte."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages, produce
from protocol.codec import DecodeError

VERSIONS = range(3, 14)

topic_names = st.text(min_size=1, max_size=200)
partition_records = st.lists(
    st.tuples(st.integers(0, 2**31 - 1), st.none() | st.binary(max_size=300)), max_size=4
)
requests = st.fixed_dictionaries(
    {
        "transactional_id": st.none() | st.text(max_size=20),
        "acks": st.integers(-2, 2),
        "timeout_ms": st.integers(0, 2**31 - 1),
        "topics": st.lists(st.tuples(topic_names, st.uuids(), partition_records), max_size=3),
    }
)


def encode_with_schema(version: int, request: dict[str, Any]) -> bytes:
    topic_class = messages.ProduceRequest.TopicProduceData
    message: Any = messages.ProduceRequest(
        version=version,
        transactional_id=request["transactional_id"],
        acks=request["acks"],
        timeout_ms=request["timeout_ms"],
        topic_data=[
            topic_class(
                version=version,
                name=name,
                topic_id=topic_id,
                partition_data=[
                    topic_class.PartitionProduceData(version=version, index=index, records=records)
                    for index, records in partitions
                ],
            )
            for name, topic_id, partitions in request["topics"]
        ],
    )
    return bytes(message.encode(version=version))


@given(st.sampled_from(VERSIONS), requests, st.binary(max_size=9))
def test_requests_encoded_by_the_schema_are_decoded_equally(
    version: int, request: dict[str, Any], prefix: bytes
) -> None:
    body = encode_with_schema(version, request)
    frame = prefix + body

    decoded = produce.decode_request(version, frame, len(prefix), len(frame))

    assert decoded.transactional_id == request["transactional_id"]
    assert (decoded.acks, decoded.timeout_ms) == (request["acks"], request["timeout_ms"])
    assert [
        (
            topic.topic_id if version >= 13 else topic.name,
            [
                (part.partition_index, None if part.start < 0 else frame[part.start : part.end])
                for part in topic.partitions
            ],
        )
        for topic in decoded.topics
    ] == [
        (topic_id if version >= 13 else name, partitions)
        for name, topic_id, partitions in request["topics"]
    ]


@given(st.sampled_from(VERSIONS), requests, st.data())
def test_a_damaged_body_is_a_decode_error_or_another_valid_request(
    version: int, request: dict[str, Any], data: st.DataObject
) -> None:
    body = bytearray(encode_with_schema(version, request))
    position = data.draw(st.integers(0, len(body) - 1))
    body[position] = data.draw(st.integers(0, 255))
    body = body[: data.draw(st.integers(0, len(body)))]
    try:
        decoded = produce.decode_request(version, body, 0, len(body))
    except DecodeError:
        return
    for topic in decoded.topics:
        for part in topic.partitions:
            assert part.start <= part.end <= len(body)


results = st.builds(
    produce.PartitionResult,
    partition_index=st.integers(0, 2**31 - 1),
    error_code=st.just(0) | st.integers(-1, 120),
    base_offset=st.integers(-1, 2**62),
    log_append_time_ms=st.integers(-1, 2**62),
    log_start_offset=st.integers(-1, 2**62),
    error_message=st.none() | st.text(max_size=20),
    record_errors=st.lists(
        st.builds(produce.RecordError, st.integers(0, 99), st.none() | st.text(max_size=9)),
        max_size=2,
    ).map(tuple),
    current_leader=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
).map(
    # Details are for errors only: success has nothing to explain.
    lambda result: (
        result
        if result.error_code
        else result._replace(error_message=None, record_errors=(), current_leader=None)
    )
)


@given(
    st.sampled_from(VERSIONS),
    st.lists(
        st.builds(produce.TopicResult, topic_names, st.uuids(), st.lists(results, max_size=3))
    ),
    st.integers(0, 2**31 - 1),
)
def test_encoded_responses_are_decoded_equally_by_the_schema(
    version: int, topics: list[produce.TopicResult], throttle_time_ms: int
) -> None:
    body = produce.encode_response(version, topics, throttle_time_ms)

    response: Any = messages.ProduceResponse.decode(bytes(body), version=version)

    assert response.throttle_time_ms == throttle_time_ms
    for sent, read in zip(topics, response.responses, strict=True):
        assert (read.topic_id == sent.topic_id) if version >= 13 else (read.name == sent.name)
        for result, partition in zip(sent.partitions, read.partition_responses, strict=True):
            assert partition.index == result.partition_index
            assert partition.error_code == result.error_code
            assert partition.base_offset == result.base_offset
            assert partition.log_append_time_ms == result.log_append_time_ms
            if version >= 5:
                assert partition.log_start_offset == result.log_start_offset
            if version >= 8:
                assert partition.error_message == result.error_message
                assert len(partition.record_errors) == len(result.record_errors)
            if version >= 10 and result.current_leader is not None:
                leader = partition.current_leader
                assert (leader.leader_id, leader.leader_epoch) == result.current_leader


@pytest.mark.parametrize("version", [10, 13])
def test_node_endpoints_are_a_tagged_field(version: int) -> None:
    endpoint = produce.NodeEndpoint(2, "localhost", 9094, None)
    body = produce.encode_response(
        version, [produce.TopicResult("t", UUID(int=1), [])], node_endpoints=[endpoint]
    )

    response: Any = messages.ProduceResponse.decode(bytes(body), version=version)

    assert [(node.node_id, node.host, node.port) for node in response.node_endpoints] == [
        (2, "localhost", 9094)
    ]


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (3, b"\xff\xff" + bytes(6) + b"\x00\x00\x00\x01" + b"\xff\xff" + bytes(4)),
        (9, b"\x00" + bytes(6) + b"\x02" + b"\x00" + b"\x01\x00\x00"),
    ],
)
def test_a_null_topic_name_is_refused(version: int, body: bytes) -> None:
    with pytest.raises(DecodeError, match="name must not be null"):
        produce.decode_request(version, body, 0, len(body))
