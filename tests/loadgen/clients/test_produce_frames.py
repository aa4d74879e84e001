"""Patched requests and their responses are those of `protocol`."""

from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.clients.produce_frames import (
    VERSION_MAX,
    VERSION_MIN,
    ProduceFrames,
    event_of,
    next_sequence,
    record_batch,
)
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_header, skip_tagged_fields
from protocol.errors import ErrorCode
from protocol.produce import FLEXIBLE_VERSION_MIN, PartitionResult, TopicResult, encode_response
from protocol.produce_decoder import decode_request
from protocol.records import has_valid_crc, read_header, read_records

VERSIONS = range(VERSION_MIN, VERSION_MAX + 1)


def frames_of(version: int, records: int = 2, record_bytes: int = 20) -> ProduceFrames:
    return ProduceFrames(
        version=version,
        client_id="client",
        topic="topic",
        partition=6,
        records=records,
        record_bytes=record_bytes,
        timestamp_ms=1234,
        acks=1,
        timeout_ms=50,
    )


@given(
    version=st.sampled_from(VERSIONS),
    records=st.integers(1, 200),
    record_bytes=st.integers(8, 300),
    producer_id=st.integers(-1, 2**62),
    epoch=st.integers(-1, 2**15 - 1),
    sequence=st.integers(-1, 2**31 - 1),
    event_id=st.integers(0, 2**62),
)
def test_a_frame_is_a_valid_produce_request(
    version: int,
    records: int,
    record_bytes: int,
    producer_id: int,
    epoch: int,
    sequence: int,
    event_id: int,
) -> None:
    frames = frames_of(version, records, record_bytes)
    frames.frame(1, 5, 5, 5, 5)  # no field of another request remains
    frame = frames.frame(99, producer_id, epoch, sequence, event_id)
    assert len(frame) == frames.size
    header = decode_header(frame, 4, len(frame))
    assert header[:4] == (ApiKey.PRODUCE, version, 99, "client")
    start = header.end
    if version >= FLEXIBLE_VERSION_MIN:
        start = skip_tagged_fields(frame, start, len(frame))
    request = decode_request(version, frame, start, len(frame))
    assert (request.acks, request.timeout_ms) == (1, 50)
    [(topic, _, [partition])] = request.topics
    assert (topic, partition.partition_index) == ("topic", 6)
    batch = frame[partition.start : partition.end]
    found = read_header(batch, 0)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (
        producer_id,
        epoch,
        sequence,
    )
    assert has_valid_crc(batch, 0, len(batch), found.crc)
    values = [record.value or b"" for record in read_records(batch)]
    assert [len(value) for value in values] == [record_bytes] * records
    assert values[0][:8] == Struct(">q").pack(event_id)
    assert event_of(batch) == event_id


@given(
    version=st.sampled_from(VERSIONS),
    records=st.integers(1, 3),
    runs=st.lists(
        st.tuples(
            st.sampled_from([-1, 0, 7, 2**31 - 2]), st.lists(st.integers(0, 2**62), max_size=6)
        ),
        max_size=4,
    ),
)
def test_several_frames_are_single_frames_after_each_other(
    version: int, records: int, runs: list[tuple[int, list[int]]]
) -> None:
    together, alone = frames_of(version, records), frames_of(version, records)
    for sequence, event_ids in runs:
        following, expected = sequence, b""
        for number, event_id in enumerate(event_ids):
            expected += alone.frame(3 + number, 70, 1, following, event_id)
            following = following if sequence < 0 else next_sequence(following, records)
        assert together.frames(3, 70, 1, sequence, event_ids) == expected


def response_of(version: int, result: PartitionResult, throttle_time_ms: int) -> bytes:
    body = encode_response(version, [TopicResult("topic", None, [result])], throttle_time_ms)
    tags = b"\0" if version >= FLEXIBLE_VERSION_MIN else b""
    return Struct(">i").pack(7) + tags + bytes(body)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("error_code", [0, ErrorCode.DUPLICATE_SEQUENCE_NUMBER])
def test_a_response_is_read_by_its_positions(version: int, error_code: int) -> None:
    response = response_of(version, PartitionResult(6, error_code, 2**40), 400)
    padded = b"??" + response
    assert frames_of(version).read(padded, 2, len(padded)) == (7, error_code, 2**40, 400)


def run_of(version: int, *results: tuple[int, int, int, int]) -> bytes:
    """Return responses with their sizes; a result is correlation id, error, offset, throttle."""
    found = b""
    for correlation_id, error_code, base_offset, throttle_time_ms in results:
        result = PartitionResult(6, error_code, base_offset)
        response = (
            Struct(">i").pack(correlation_id) + response_of(version, result, throttle_time_ms)[4:]
        )
        found += Struct(">i").pack(len(response)) + response
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_successful_responses_are_read_together(version: int) -> None:
    data = b"??" + run_of(version, (7, 0, 2**40, 0), (8, 0, 5, 0), (9, 0, 6, 0))
    frames = frames_of(version)
    assert len(data) == 2 + 3 * frames.framed_response_bytes
    assert frames.read_run(data, 2, 3, 7) == (2**40, 5, 6)
    assert frames.read_run(data, 2, 1, 7) == (2**40,)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("other", [(8, 46, 5, 0), (8, 0, 5, 1), (9, 0, 5, 0), (-8, 0, 5, 0)])
def test_a_run_with_anything_else_is_not_read_together(
    version: int, other: tuple[int, int, int, int]
) -> None:
    data = run_of(version, (7, 0, 4, 0), other, (9, 0, 6, 0))
    assert frames_of(version).read_run(data, 0, 3, 7) is None


def test_a_run_with_another_size_is_not_read_together() -> None:
    data = bytearray(run_of(9, (7, 0, 4, 0), (8, 0, 5, 0)))
    data[3] += 1
    assert frames_of(9).read_run(bytes(data), 0, 2, 7) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_response_with_an_error_message_is_decoded(version: int) -> None:
    result = PartitionResult(6, 89, -1, error_message="no more ids", current_leader=(3, 4))
    response = response_of(version, result, 400)
    assert frames_of(version).read(response, 0, len(response)) == (7, 89, -1, 400)


@pytest.mark.parametrize("response", [b"", b"\0\0\0\7", b"\0\0\0\7\0\2", b"x" * 30])
def test_an_invalid_response_raises_a_decode_error(response: bytes) -> None:
    with pytest.raises(DecodeError):
        frames_of(9).read(response, 0, len(response))


def test_after_the_last_sequence_comes_zero() -> None:
    assert next_sequence(0, 3) == 3
    assert next_sequence(2**31 - 1, 1) == 0
    assert next_sequence(2**31 - 2, 5) == 3


def test_a_batch_of_another_client_has_no_event() -> None:
    batch, _ = record_batch(1, 8, 0)
    with pytest.raises(DecodeError):
        event_of(batch[:62])
