"""The places of fields are those at which the reader finds them."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.codec import encode_message
from protocol.fetch import read_fetch
from protocol.fetch_layout import FetchFrameLayout, FetchLayout, read_rows
from tests.protocol.fetch_requests import INT32, INT64, request_of

VERSIONS = range(9, 19)
ROWS = st.lists(st.tuples(INT32, INT32, INT64, st.just(-1), INT64, INT32), max_size=4)


def body_of(version: int, rows: list[Any], rack_id: str = "") -> bytes:
    topics = [("topic", UUID(int=1), rows)] if rows else []
    return encode_message(request_of(version, topics, rack_id=rack_id), version)


@given(st.sampled_from(VERSIONS), ROWS, st.text(max_size=5), st.binary(max_size=9))
def test_the_rows_of_a_request_are_those_that_the_reader_finds(
    version: int, rows: list[Any], rack_id: str, before: bytes
) -> None:
    body = body_of(version, rows, rack_id)
    frame, start, end = before + body + b"behind", len(before), len(before) + len(body)
    request = read_fetch(version, frame, start, end)
    assert request is not None

    layout = FetchLayout.of(version, request, frame, start, end)

    assert layout.fits(frame, start, end)
    found = read_rows(layout.rows_of(frame, start), is_flexible=layout.is_flexible)
    assert found == [(row[0], row[1], row[2], row[5]) for row in rows]
    head = before[:0] + b"size" + b"apiv" + b"corr" + b"client"
    request_frame = head + body
    of_frame = FetchFrameLayout.of(layout, request_frame, 0, len(head), len(request_frame))
    start_bytes, correlation, constant, epoch, names, row_bytes, rest = of_frame.unpack(
        request_frame
    )
    assert (start_bytes, correlation, epoch) == (b"sizeapiv", b"corr", 6)
    assert (start_bytes, constant) == (of_frame.start, of_frame.constant)
    assert (names, rest) == (of_frame.names, of_frame.rest)
    assert row_bytes == layout.rows_of(frame, start)
    epoch_bytes = (6).to_bytes(4)
    assert request_frame == head + constant[6:] + epoch_bytes + names + row_bytes + rest


@given(st.sampled_from(VERSIONS), st.tuples(INT32, INT32, INT64, st.just(-1), INT64, INT32))
def test_a_layout_with_one_partition_has_its_offset_in_place_of_the_rows(
    version: int, row: Any
) -> None:
    head = b"size" + b"apiv" + b"corr" + b"client"
    body = body_of(version, [row])
    request = read_fetch(version, body, 0, len(body))
    assert request is not None
    layout = FetchLayout.of(version, request, body, 0, len(body))
    frame = head + body

    found = FetchFrameLayout.of(layout, frame, 0, len(head), len(frame), has_one=True)

    _start, _correlation_id, constant, epoch, names, offset, rest = found.unpack(frame)
    assert (constant, names, rest) == (found.constant, found.names, found.rest)
    assert (epoch, offset) == (6, row[2])
    epoch_bytes, offset_bytes = (6).to_bytes(4), row[2].to_bytes(8, signed=True)
    assert frame == b"sizeapivcorr" + constant + epoch_bytes + names + offset_bytes + rest


@pytest.mark.parametrize("version", VERSIONS)
def test_other_bytes_around_the_rows_do_not_fit(version: int) -> None:
    body = body_of(version, [(0, 1, 2, -1, 3, 4)])
    request = read_fetch(version, body, 0, len(body))
    assert request is not None
    layout = FetchLayout.of(version, request, body, 0, len(body))
    for position in range(layout.names_at, len(body)):
        changed = body[:position] + bytes((body[position] ^ 1,)) + body[position + 1 :]
        is_in_rows = layout.rows_at <= position < layout.rows_end
        assert layout.fits(changed, 0, len(body)) is is_in_rows


def test_rows_with_a_fetched_epoch_or_tags_are_left_to_the_reader() -> None:
    fetched = body_of(12, [(0, 1, 2, 3, 4, 5)])
    request = read_fetch(12, fetched, 0, len(fetched))
    assert request is not None
    rows = FetchLayout.of(12, request, fetched, 0, len(fetched)).rows_of(fetched, 0)
    assert read_rows(rows, is_flexible=True) is None
    usual = body_of(12, [(0, 1, 2, -1, 4, 5)])
    rows = FetchLayout.of(12, request, usual, 0, len(usual)).rows_of(usual, 0)
    assert read_rows(rows, is_flexible=True) == [(0, 1, 2, 5)]
    assert read_rows(rows[:-1] + b"\1", is_flexible=True) is None
