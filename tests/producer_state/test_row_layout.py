"""The bytes of a row, and their conversion between the rules."""

import pytest

from producer_state.row_layout import FLOOR, FLOOR_AT, layout_of, with_floor
from producer_state.rules import NO_SEQUENCE


@pytest.mark.parametrize(("batches", "row_bytes"), [(1, 38), (5, 130)])
def test_a_row_has_the_size_that_the_documentation_says(batches: int, row_bytes: int) -> None:
    assert layout_of(batches, 10).row_bytes == row_bytes
    assert layout_of(batches, 10) is layout_of(batches, 10)


def test_a_converted_row_begins_at_its_oldest_batch() -> None:
    layout = layout_of(5, 10)
    tail = bytearray(layout.first_tail)
    tail[0:4] = FLOOR.pack(3)
    tail[4:8] = FLOOR.pack(4)
    row = bytes(8) + layout.pack(0, 5, 6, 0, 0, bytes(tail))
    assert FLOOR.unpack_from(with_floor(row), FLOOR_AT) == (3,)
    alone = bytes(8) + layout.pack(0, 5, 6, 0, 0, layout.first_tail)
    assert FLOOR.unpack_from(with_floor(alone), FLOOR_AT) == (5,)
    marker = bytes(8) + layout.pack(1, NO_SEQUENCE, NO_SEQUENCE, -1, 0, layout.first_tail)
    assert FLOOR.unpack_from(with_floor(marker), FLOOR_AT) == (0,)
