"""The size of a batch follows from that of its frame; `test_request_run.py` has the layouts."""

import pytest

from broker.produce.frame_layout import _batch_size
from protocol.codec import encode_unsigned_varint


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 2_097_151])
def test_the_size_of_a_batch_is_found_with_that_of_its_size_field(size: int) -> None:
    assert _batch_size(4 + size, is_flexible=False) == size
    rest_bytes = len(encode_unsigned_varint(size + 1)) + size
    assert _batch_size(rest_bytes, is_flexible=True) == size


def test_some_sizes_belong_to_no_batch() -> None:
    # 126 bytes need one byte for their size, 127 two.
    assert _batch_size(127, is_flexible=True) == 126
    assert _batch_size(128, is_flexible=True) is None
    assert _batch_size(129, is_flexible=True) == 127
    assert _batch_size(0, is_flexible=True) is None
