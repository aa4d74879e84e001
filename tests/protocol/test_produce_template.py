"""A template has the bytes that Produce requests have in common, and those of their responses."""

from typing import Any
from uuid import UUID

import pytest

from protocol import codec
from protocol.produce import (
    NO_RECORD_ERRORS,
    PartitionResult,
    encode_response,
    partition_results,
)
from protocol.produce_template import ProduceTemplate
from protocol.records import HEADER_BYTES, read_header
from tests.batches import make_batch
from tests.produce_requests import produce_request

BATCH = make_batch(b"x" * 100)
TOPIC_ID = UUID(int=7)
FLEXIBLE_VERSIONS = range(9, 14)


def frame_of(
    version: int, indexes: tuple[int, ...] = (0,), batch: bytes = BATCH, **fields: Any
) -> bytes:
    request: Any = produce_request(
        [(index, batch) for index in indexes],
        version=version,
        topic=fields.pop("topic", "t"),
        topic_id=TOPIC_ID,
        **fields,
    )
    request.with_header(5, "client")
    return bytes(request.encode(version=version, header=True))


@pytest.mark.parametrize("version", FLEXIBLE_VERSIONS)
@pytest.mark.parametrize("indexes", [(0,), (3, 1), tuple(range(200))])
@pytest.mark.parametrize("topic", ["t", "t" * 200])
def test_a_response_is_that_of_the_encoder(
    version: int, indexes: tuple[int, ...], topic: str
) -> None:
    frame = frame_of(version, indexes, topic=topic)
    template = ProduceTemplate.of(frame, 0, len(frame))
    assert template is not None
    results = [PartitionResult(index, 0, 10 + index, -1, 2) for index in indexes]
    name, topic_id = ("", TOPIC_ID) if version >= 13 else (topic, None)
    body = encode_response(version, [(name, topic_id, results)])

    appended = [
        field for index in indexes for field in (index, 10 + index, -1, 2, NO_RECORD_ERRORS)
    ]
    assert partition_results(appended, []) == results
    assert template.pack_response(77, appended) == codec.frame_response(
        77, body, has_tagged_header=True
    )
    assert (template.name, template.topic_id) == (name, topic_id)
    assert (template.client_id, template.api_version) == ("client", version)


@pytest.mark.parametrize("version", FLEXIBLE_VERSIONS)
def test_the_prefix_ends_in_front_of_the_partitions(version: int) -> None:
    first, second = frame_of(version, (0,)), frame_of(version, (1,))
    template = ProduceTemplate.of(first, 0, len(first))
    assert template is not None
    assert second.startswith(template.prefix, 8)
    rows_at = 8 + len(template.prefix)
    assert first[:rows_at] == second[:rows_at]
    assert first[rows_at : rows_at + 4] == (0).to_bytes(4, "big")


def test_the_start_of_a_request_is_unpacked_with_the_header_of_its_batch() -> None:
    frame = frame_of(9, (3,))
    data = len(frame).to_bytes(4, "big") + frame
    template = ProduceTemplate.of(frame, 0, len(frame))
    assert template is not None
    assert template.has_row
    row = template.unpack_frame(b"behind " + data, len("behind "))
    assert row[:5] == (len(frame), template.api, 5, template.prefix, 3)
    assert bytes(row[5:7]) == codec.encode_unsigned_varint(len(BATCH) + 1)
    assert row[7:] == read_header(BATCH, 0)
    assert data.find(BATCH) + HEADER_BYTES == template.frame_bytes_min


def test_the_header_of_other_requests_is_not_that_of_their_batch() -> None:
    long = make_batch(b"x" * 20_000)
    for frame in (frame_of(9, (0, 1)), frame_of(9, batch=long)):
        template = ProduceTemplate.of(frame, 0, len(frame))
        assert template is not None
        assert not template.has_row
        data = len(frame).to_bytes(4, "big") + frame
        row = template.unpack_frame(data, 0)
        assert row[:4] == (len(frame), template.api, 5, template.prefix)


def test_what_is_not_a_usual_request_has_no_template() -> None:
    for version in range(3, 9):
        frame = frame_of(version)
        assert ProduceTemplate.of(frame, 0, len(frame)) is None
    frame = frame_of(9)
    for end in range(8, len(frame)):
        assert ProduceTemplate.of(frame, 0, end) is None
    assert ProduceTemplate.of(frame_of(9, ()), 0, len(frame_of(9, ()))) is None
