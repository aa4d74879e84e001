"""A salt has all fields of a replayed batch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loadgen.plan.replayed_batch import PARTITION_MAX, TOPICS_MAX, ReplayedBatch, packed, unpack

BATCHES = st.builds(
    ReplayedBatch,
    st.booleans(),
    st.integers(1, 10_000),
    st.integers(8, 1_000_000),
    st.integers(0, PARTITION_MAX),
    st.integers(0, TOPICS_MAX - 1),
)


@given(st.lists(BATCHES, min_size=1))
def test_batches_are_unpacked_as_they_were_packed(batches: list[ReplayedBatch]) -> None:
    is_first, *others = (np.array(column) for column in zip(*batches, strict=True))
    salts = packed(is_first, *others)
    assert salts.dtype == np.int64
    assert salts.min() >= 0
    assert [unpack(salt) for salt in salts.tolist()] == batches
