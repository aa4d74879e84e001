"""Records of equal lengths are read by columns; what they are not is left to others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.instructions import count_instructions
from protocol.record_columns import equal_records, plain_varint
from protocol.record_scan import RecordScan
from protocol.records import HEADER_BYTES
from tests.batches import NOW_MS, make_batch


def payload(values: list[bytes], step_ms: int = 0, key: bytes | None = b"k") -> bytes:
    timestamps = [NOW_MS + number * step_ms for number in range(len(values))]
    return make_batch(*values, timestamps=timestamps, key=key)[HEADER_BYTES:]


@pytest.mark.parametrize("key", [None, b"k", b"k" * 100])
@pytest.mark.parametrize("step_ms", [0, 1, -1])
def test_records_are_read_until_one_has_another_length(key: bytes | None, step_ms: int) -> None:
    data = payload([b"v" * 10] * 40 + [b"v" * 11] * 40, step_ms, key)
    found = equal_records(data, 0, 0, 80)
    assert found is not None
    assert (found.record_count, found.first_delta, found.is_keyless) == (40, 0, key is None)
    assert (found.min_delta, found.max_delta) == (min(39 * step_ms, 0), max(39 * step_ms, 0))
    after = equal_records(data, found.stop, found.record_count, 40)
    assert after is not None
    assert after.record_count == 24  # then an offset takes two bytes


def test_offsets_may_take_three_bytes() -> None:
    data = payload([b"v" * 4] * 16_500)
    begin = len(payload([b"v" * 4] * 8192))
    found = equal_records(data, begin, 8192, 8308)
    assert found is not None
    assert found.record_count == 8192  # then their last byte is another one
    after = equal_records(data, found.stop, 16_384, 116)
    assert after is not None
    assert (after.record_count, after.stop) == (116, len(data))
    at = begin + 5000 * ((found.stop - begin) // 8192)
    damaged = data[: at + 5] + bytes((data[at + 5] ^ 1,)) + data[at + 6 :]
    assert equal_records(damaged, begin, 8192, 8308) is None


@given(st.lists(st.integers(0, 300), min_size=16, max_size=40), st.sampled_from([0, 64, 8192]))
def test_the_extremes_are_those_of_all_timestamps(deltas: list[int], least: int) -> None:
    timestamps = [NOW_MS, *(NOW_MS + least + delta for delta in deltas)]
    data = make_batch(*[b"v"] * len(timestamps), timestamps=timestamps)[HEADER_BYTES:]
    scan = RecordScan(iter((data,)), len(timestamps), checks_sizes=True)
    for _ in scan.steps():
        pass
    assert (scan.min_delta, scan.max_delta) == (0, least + max(deltas))


def test_few_or_unusual_records_are_left_to_others() -> None:
    data = payload([b"v"] * 20)
    assert equal_records(data, 0, 0, 20) is not None
    assert equal_records(data, 0, 0, 15) is None
    assert equal_records(data, 0, 1, 20) is None
    assert equal_records(data[:-1], 0, 0, 20) is not None
    assert equal_records(data[:50], 0, 0, 20) is None
    assert equal_records(b"\0" * 200, 0, 0, 20) is None


def test_records_that_announce_a_negative_size_are_left_to_others() -> None:
    records = payload([b"abc"] * 20)
    size = len(records) // 20
    assert equal_records(records, 0, 0, 20) is not None
    negative = b"".join(
        bytes((records[at] | 1,)) + records[at + 1 : at + size]
        for at in range(0, len(records), size)
    )
    assert equal_records(negative, 0, 0, 20) is None


def test_a_record_costs_nearly_nothing() -> None:
    data = payload([b"v" * 100] * 1000)
    begin = len(payload([b"v" * 100] * 64))  # then each offset has two bytes
    instructions, found = count_instructions(lambda: equal_records(data, begin, 64, 936))
    assert found is not None
    assert found.record_count == 936
    assert instructions < 2000


@pytest.mark.parametrize(
    ("varint", "number"), [(b"\0", 0), (b"\x80\1", 128), (b"\xff\xff\xff\xff\x0f", (1 << 32) - 1)]
)
def test_a_varint_is_read_as_it_is(varint: bytes, number: int) -> None:
    assert plain_varint(b"-" + varint, 1) == (number, 1 + len(varint))


@pytest.mark.parametrize("varint", [b"", b"\x80", b"\x80\0", b"\xff\xff\xff\xff\x1f"])
def test_a_varint_that_is_unusual_or_cut_off_is_left_to_others(varint: bytes) -> None:
    with pytest.raises(IndexError):
        plain_varint(varint, 0)
