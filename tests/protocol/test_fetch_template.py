"""A template has the constants of a request, and takes the fields that differ out of others."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.request_bytes import frame_request
from protocol.fetch_template import FetchTemplate
from tests.protocol.fetch_requests import INT32, INT64, request_of

PARTITIONS = st.lists(st.tuples(INT32, INT32, INT64, INT32, INT64, INT32), max_size=4)
TOPICS = st.lists(st.tuples(st.text(max_size=20), st.uuids(), PARTITIONS), max_size=4)


def template_of(frame: bytes) -> FetchTemplate | None:
    return FetchTemplate.of(frame, 4, len(frame))


@given(st.integers(9, 18), TOPICS, st.integers(1, 2**31 - 1), st.data())
def test_it_finds_the_fields_that_differ(
    version: int,
    topics: list[tuple[str, UUID, list[tuple[int, ...]]]],
    epoch: int,
    data: st.DataObject,
) -> None:
    request = request_of(version, topics)
    template = template_of(frame_request(request, 5))
    assert template is not None
    offsets = []
    for topic in request.topics:
        for partition in topic.partitions:
            offsets.append(data.draw(INT64))
            partition.fetch_offset = offsets[-1]
    request.session_epoch = epoch

    fields = template.unpack(frame_request(request, 8))

    assert fields[::2] == template.constants
    assert fields[1::2] == (8, epoch, *offsets)


@pytest.mark.parametrize("version", range(9, 19))
def test_another_byte_is_in_a_constant(version: int) -> None:
    partitions = [(0, -1, 7, -1, -1, 1000), (1, -1, 9, -1, -1, 1000)]
    frame = frame_request(request_of(version, [("t", UUID(int=1), partitions)]), 5)
    template = template_of(frame)
    assert template is not None
    same = 0
    for position in range(len(frame)):
        changed = frame[:position] + bytes((frame[position] ^ 1,)) + frame[position + 1 :]
        same += template.unpack(changed)[::2] == template.constants
    assert same == 4 + 4 + 2 * 8


@pytest.mark.parametrize("version", [7, 8])
def test_old_versions_have_none(version: int) -> None:
    assert template_of(frame_request(request_of(version, []), 5)) is None


@pytest.mark.parametrize("field", ["session_id", "session_epoch"])
def test_a_request_without_a_session_has_none(field: str) -> None:
    request = request_of(12, [])
    setattr(request, field, 0)
    assert template_of(frame_request(request, 5)) is None


@pytest.mark.parametrize("end", range(40))
def test_what_is_cut_off_has_none(end: int) -> None:
    frame = frame_request(request_of(12, []), 5)
    assert FetchTemplate.of(frame, 4, min(end, len(frame) - 1)) is None
