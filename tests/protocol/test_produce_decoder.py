"""The hand-written decoder of Produce requests agrees with kafka-python's schemas."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages, produce_decoder
from protocol.codec import DecodeError
from tests.batches import altered, make_batch
from tests.produce_requests import produce_request

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

    decoded = produce_decoder.decode_request(version, frame, len(prefix), len(frame))

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
        decoded = produce_decoder.decode_request(version, body, 0, len(body))
    except DecodeError:
        return
    for topic in decoded.topics:
        for part in topic.partitions:
            assert part.start <= part.end <= len(body)


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (3, b"\xff\xff" + bytes(6) + b"\x00\x00\x00\x01" + b"\xff\xff" + bytes(4)),
        (9, b"\x00" + bytes(6) + b"\x02" + b"\x00" + b"\x01\x00\x00"),
    ],
)
def test_a_null_topic_name_is_refused(version: int, body: bytes) -> None:
    with pytest.raises(DecodeError, match="name must not be null"):
        produce_decoder.decode_request(version, body, 0, len(body))


BATCH = make_batch(b"value")
TRANSACTIONAL = make_batch(
    b"value", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
)


@pytest.mark.parametrize(
    ("partitions", "transactional_id", "is_plain"),
    [
        ([(0, BATCH)], None, True),
        ([(1, BATCH), (0, BATCH)], None, True),
        ([(0, BATCH)], "id", False),
        ([(0, TRANSACTIONAL)], None, False),
        ([(0, BATCH), (0, BATCH)], None, False),
        ([(0, BATCH), (1, None)], None, False),
        ([(0, BATCH), (1, b"")], None, False),
        ([(0, BATCH + b"x")], None, False),
        ([(0, altered(BATCH, 16, ">b", 1, fix_crc=False))], None, False),
        ([], None, False),
    ],
)
@pytest.mark.parametrize("version", [7, 9, 12, 13])
def test_a_request_is_plain_if_its_batches_need_no_look_at_each_other(
    version: int, partitions: list[Any], transactional_id: str | None, is_plain: bool
) -> None:
    request = produce_request(
        partitions, version=version, topic_id=UUID(int=1), transactional_id=transactional_id
    )
    body = bytes(request.encode(version=version))
    *_, found = produce_decoder.decode_batches(version, body, 0, len(body))
    assert found == is_plain


def test_versions_before_zstd_are_never_plain() -> None:
    body = bytes(produce_request([(0, BATCH)], version=6).encode(version=6))
    *_, is_plain = produce_decoder.decode_batches(6, body, 0, len(body))
    assert not is_plain
