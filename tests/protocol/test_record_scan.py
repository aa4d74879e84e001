"""A scan finds what is wrong with records, and what they have, however it goes over them."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.instructions import count_instructions
from protocol import records
from protocol.batch_builder import BatchBuilder
from protocol.record_scan import InvalidRecordsError, RecordScan
from protocol.records import HEADER_BYTES, OversizedRecordError
from tests.batches import NOW_MS, make_batch

Record = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Timestamp, key, value and headers."""

_bytes = st.one_of(st.none(), st.binary(max_size=5), st.integers(0, 9000).map(bytes))
RECORDS = st.tuples(
    st.one_of(st.integers(0, 3), st.integers(-(1 << 40), 1 << 40)),
    _bytes,
    _bytes,
    st.lists(
        st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=70))), max_size=2
    ).map(tuple),
)
RUNS = st.lists(st.tuples(RECORDS, st.sampled_from((1, 1, 3, 40, 150))), min_size=1, max_size=4)
"""Records, and how often each is repeated: many equal ones are scanned by columns."""


def encoded(run: list[tuple[Record, int]]) -> tuple[list[Record], bytes]:
    builder = BatchBuilder("none", 1 << 30)
    found = [record for record, count in run for _ in range(count)]
    for timestamp, key, value, headers in found:
        builder.append(timestamp, key, value, headers)
    return found, builder.build()[HEADER_BYTES:]


def scanned(pieces: Iterator[bytes], count: int, *limits: int, checks_sizes: bool = True) -> Any:
    """Return what a scan finds, or the class of its error."""
    scan = RecordScan(pieces, count, *limits, checks_sizes=checks_sizes)
    try:
        for _ in scan.steps():
            pass
    except ValueError as error:
        return type(error)
    return (
        scan.first_delta,
        scan.min_delta,
        scan.max_delta,
        scan.has_record_without_key,
        scan.has_consecutive_offsets,
        scan.is_canonical,
    )


def cut(data: bytes, places: list[int]) -> Iterator[bytes]:
    ends = sorted(place % (len(data) + 1) for place in places)
    for start, end in zip([0, *ends], [*ends, len(data)], strict=True):
        yield data[start:end]


def byte_by_byte(data: bytes, count: int, *limits: int, **options: bool) -> Any:
    """Return what a scan finds that has only the slow way."""
    with (
        patch.object(RecordScan, "_scan_equal", lambda *_: False),
        patch.object(RecordScan, "_scan_plain", lambda *_: None),
    ):
        return scanned(iter((data,)), count, *limits, **options)


@given(RUNS, st.lists(st.integers(0, 1 << 30), max_size=5))
def test_a_scan_knows_what_the_records_have(
    run: list[tuple[Record, int]], places: list[int]
) -> None:
    found, data = encoded(run)
    deltas = [record[0] - found[0][0] for record in found]
    expected = (0, min(deltas), max(deltas), any(r[1] is None for r in found), True, True)
    assert scanned(iter((data,)), len(found)) == expected
    assert scanned(cut(data, places), len(found)) == expected
    assert byte_by_byte(data, len(found)) == expected


@given(st.data())
def test_damaged_records_are_scanned_in_each_way_alike(data: st.DataObject) -> None:
    found, encoding = encoded(data.draw(RUNS))
    damaged = bytearray(encoding)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.one_of(st.integers(0, 20), st.integers(0, len(damaged) - 1)))
        damaged[place % len(damaged)] = data.draw(st.sampled_from((0, 1, 2, 127, 128, 129, 255)))
    changed = bytes(damaged)[: data.draw(st.sampled_from((None, -1, len(damaged) // 2)))]
    count = len(found) + data.draw(st.sampled_from((0, 0, 0, 1, -1)))
    limits = data.draw(st.sampled_from(((), (10,), (100,))))
    for checks_sizes in (False, True):
        expected = byte_by_byte(changed, count, *limits, checks_sizes=checks_sizes)
        places = data.draw(st.lists(st.integers(0, 1 << 30), max_size=4))
        for pieces in (iter((changed,)), cut(changed, places)):
            assert scanned(pieces, count, *limits, checks_sizes=checks_sizes) == expected


def varint(number: int) -> bytes:
    raw, parts = (number << 1) ^ (number >> 63), []
    while raw > 127:
        parts.append(raw & 127 | 128)
        raw >>= 7
    return bytes((*parts, raw))


def record(*fields: bytes | int, size: int | None = None) -> bytes:
    """Return a record of raw bytes and of numbers that become varints."""
    body = b"\0" + b"".join(part if isinstance(part, bytes) else varint(part) for part in fields)
    return varint(len(body) if size is None else size) + body


PLAIN = record(0, 0, 1, b"k", 1, b"v", 0)


@pytest.mark.parametrize(
    ("data", "checks_sizes", "is_sound"),
    [
        (PLAIN, True, True),
        (record(0, 0, 1, b"k", 1, b"v", 0, size=9), True, False),
        (record(0, 0, 1, b"k", 1, b"v", 0, size=9), False, True),  # Kafka does not look
        (record(0, 0, 1, b"k", 1, b"v", 0, size=-1), False, False),
        (PLAIN + b"\0", False, False),
        (PLAIN[:-1], False, False),
        (record(0, 0, -1, -1, 0), True, True),
        (record(0, 0, -3, -4, 0), True, True),  # any negative length is null
        (record(0, 0, -1, -1, -1), False, False),
        (record(0, 0, -1, -1, 1, -1, 0), False, False),
        (record(0, 0, -1, -1, 1, 1, b"h", -1), True, True),
        (record(0, 0, -1, -1, 2, 1, b"h", -1), True, False),
        (record(0, 0, 1 << 30, b"k", 1, b"v", 0), False, False),
        (record(b"\xff" * 9 + b"\1", 0, -1, -1, 0), True, True),
        (record(b"\xff" * 10 + b"\1", 0, -1, -1, 0), True, False),
        (record(0, b"\x80\0", -1, -1, 0), True, True),
        (record(0, b"\x80\x80\x80\x80\x80\0", -1, -1, 0), True, False),
    ],
)
def test_a_record_is_sound_as_in_kafka(data: bytes, checks_sizes: bool, is_sound: bool) -> None:
    found = scanned(iter((data,)), 1, checks_sizes=checks_sizes)
    assert (found is not InvalidRecordsError) == is_sound


def test_numbers_that_kafka_would_write_in_another_way_are_not_canonical() -> None:
    assert scanned(iter((record(0, b"\x80\0", -1, -1, 0),)), 1)[-1] is False
    assert scanned(iter((record(0, 0, -2, -1, 0),)), 1)[-1] is False
    assert scanned(iter((record(0, 0, -1, -1, 0),)), 1)[-1] is True


def test_offsets_that_are_not_consecutive_are_noticed() -> None:
    for wrong in (b"".join((PLAIN, PLAIN)), record(0, 1, -1, -1, 0)):
        assert scanned(iter((wrong,)), wrong.count(b"k") or 1)[-2] is False


@pytest.mark.parametrize("size", [10, 63, 64, 1_000, 10_000])
def test_a_record_is_at_most_as_large_as_its_limit(size: int) -> None:
    body_bytes = len(record(0, 0, -1, size, bytes(size), 0)) - len(varint(size + 7))
    for count in (1, 100):  # alone, and many of one size
        data = make_batch(*(bytes(size),) * count, key=None)[records.HEADER_BYTES :]
        assert scanned(iter((data,)), count, body_bytes + 1) is not OversizedRecordError
        assert scanned(iter((data,)), count, body_bytes - 1) is OversizedRecordError


@pytest.mark.parametrize("count", [1, 15, 16, 63, 64, 65, 100, 8191, 8192, 8193, 9000])
@pytest.mark.parametrize("step_ms", [0, 1, 7])
def test_many_records_of_one_size_are_scanned(count: int, step_ms: int) -> None:
    timestamps = [NOW_MS + number * step_ms for number in range(count)]
    batch = make_batch(*(b"value",) * count, timestamps=timestamps)
    data = batch[records.HEADER_BYTES :]
    found = scanned(iter((data,)), count)
    assert found == (0, 0, (count - 1) * step_ms, False, True, True)


def scanned_instructions(count: int, values: Callable[[int], bytes]) -> int:
    data = make_batch(*map(values, range(count)))[records.HEADER_BYTES :]
    return count_instructions(lambda: scanned(iter((data,)), count))[0]


def test_records_of_equal_lengths_take_few_instructions() -> None:
    assert scanned_instructions(1000, lambda _number: b"v" * 100) < 8_000
    assert scanned_instructions(1000, lambda number: b"v" * (number * 7 % 64)) < 200_000


def test_each_record_is_read_as_it_is() -> None:
    _, data = encoded([((5, b"k", None, ()), 1), ((9, None, b"value", (("h", b"x"),)), 2)])
    found = list(RecordScan(iter((data,)), 3, checks_sizes=True).each())
    assert [tuple(read) for read in found] == [(0, 0, 1, -1), (4, 1, -1, 5), (4, 2, -1, 5)]
