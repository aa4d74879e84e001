"""Timestamps of many batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import batch_times
from broker.cluster.partition_log import PartitionLog
from protocol import records
from tests.batches import filled_batch


@given(st.lists(st.integers(-3, 5), min_size=1, max_size=20))
def test_the_first_batch_with_the_largest_timestamp_is_found(timestamps: list[int]) -> None:
    log = PartitionLog()
    for number, timestamp in enumerate(timestamps):
        log.append(filled_batch(number, 1, timestamp, filler=number), 1, 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_times, "_COMPARED_TOGETHER", 3)
        found = log.batch_with_max_timestamp()

    assert found is not None
    # Without timestamps it is the oldest one.
    times = [max(-1, timestamp) for timestamp in timestamps]
    assert records.batch_base_offset(found) == times.index(max(times))
