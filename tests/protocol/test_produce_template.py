"""Requests without their batches, and responses that differ in a few integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, produce
from protocol.api_keys import ApiKey
from protocol.produce import PartitionResult, ProduceRequest, TopicResult
from protocol.produce_template import SuccessResponse, correlation_id_of, request_pieces
from tests.batches import make_batch
from tests.broker.connection_driver import request_frame
from tests.produce_requests import produce_request

VERSIONS = range(3, 14)
INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)


def decoded(frame: bytes, version: int) -> ProduceRequest:
    position = codec.decode_header(frame, 4, len(frame)).end
    if version >= produce.FLEXIBLE_VERSION_MIN:
        position += 1
    return produce.decode_request(version, frame, position, len(frame))


@given(
    st.sampled_from(VERSIONS),
    st.lists(st.binary(max_size=20_000), min_size=1, max_size=3),
    INT32,
)
def test_the_pieces_and_the_batches_are_the_request(
    version: int, values: list[bytes], correlation_id: int
) -> None:
    batches = [make_batch(value) for value in values]
    request = produce_request(enumerate(batches), version=version)
    frame = request_frame(request, version, correlation_id)

    pieces = request_pieces(version, frame, 4, len(frame), decoded(frame, version))

    assert pieces is not None
    rest = frame[12:]
    for piece, batch in zip(pieces, [*batches, b""], strict=True):
        between, found, rest = (*rest.partition(batch),) if batch else (rest, b"", b"")
        assert found == batch
        assert between[: len(piece)] == piece
        # What is left is the size of the batch.
        assert len(between) - len(piece) <= (4 if batch else 0)
    assert correlation_id_of(frame, 4) == correlation_id


@pytest.mark.parametrize("version", [8, 9])
def test_a_request_without_a_batch_has_no_pieces(version: int) -> None:
    frame = request_frame(produce_request([(0, None)], version=version), version, 1)

    assert request_pieces(version, frame, 4, len(frame), decoded(frame, version)) is None


def test_a_size_in_more_bytes_than_needed_gives_no_pieces() -> None:
    batch = make_batch(b"x")
    frame = request_frame(produce_request([(0, batch)], version=9), 9, 1)
    at = frame.index(batch)
    longer = frame[: at - 1] + bytes((frame[at - 1] | 0x80, 0)) + frame[at:]
    request = decoded(longer, 9)

    assert request.topics[0].partitions[0].end - request.topics[0].partitions[0].start == len(batch)
    assert request_pieces(9, longer, 4, len(longer), request) is None


@given(st.sampled_from(VERSIONS), INT32, st.lists(st.tuples(INT64, INT64), min_size=1), INT32)
def test_a_response_is_that_of_the_codec(
    version: int, correlation_id: int, offsets: list[tuple[int, int]], throttle_time_ms: int
) -> None:
    batches = [(index, make_batch(b"x")) for index in range(len(offsets))]
    frame = request_frame(produce_request(batches, version=version), version, 1)
    request = decoded(frame, version)
    [topic] = request.topics
    results = [
        PartitionResult(index, 0, base_offset, -1, start)
        for index, (base_offset, start) in enumerate(offsets)
    ]

    response = SuccessResponse(version, request)

    expected = codec.encode_response(
        correlation_id,
        ApiKey.PRODUCE,
        version,
        produce.encode_response(
            version, [TopicResult(topic.name, topic.topic_id, results)], throttle_time_ms
        ),
    )
    base_offsets, start_offsets = zip(*offsets, strict=True)
    encoded = response.encode(correlation_id, base_offsets, start_offsets, throttle_time_ms)
    assert encoded == expected


@pytest.mark.parametrize("version", VERSIONS)
@given(correlation_id=INT32, base_offset=INT64, log_start_offset=INT64)
def test_the_parts_of_a_response_are_around_its_numbers(
    version: int, correlation_id: int, base_offset: int, log_start_offset: int
) -> None:
    request = decoded(
        request_frame(produce_request([(0, make_batch(b"x"))], version=version), version, 1),
        version,
    )
    response = SuccessResponse(version, request)

    before, between, after = response.parts(log_start_offset)

    numbers = correlation_id.to_bytes(4, signed=True), base_offset.to_bytes(8, signed=True)
    assert before + numbers[0] + between + numbers[1] + after == response.encode(
        correlation_id, (base_offset,), (log_start_offset,), 0
    )
