"""Reading and stamping record batches keeps them readable."""

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protocol import records
from protocol.compression import TooLargeError
from tests.batches import CODECS, NOW_MS, altered, make_batch


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_every_compression_codec_are_decoded(codec: str) -> None:
    batch = make_batch(b"one" * 50, None, b"", codec=codec, timestamps=[5, 7, 6])

    found = list(records.read_records(batch))

    assert [(r.offset, r.timestamp, r.value) for r in found] == [
        (0, 5, b"one" * 50),
        (1, 7, None),
        (2, 6, b""),
    ]


@given(st.integers(0, 2**62), st.integers(0, 2**31 - 1), st.binary(max_size=9))
def test_stamping_changes_the_offset_and_epoch_only(
    base_offset: int, leader_epoch: int, prefix: bytes
) -> None:
    batch = make_batch(b"a", b"b")
    buffer = prefix + batch

    stamped = records.stamp(buffer, len(prefix), len(buffer), base_offset, leader_epoch)

    header = records.read_header(stamped, 0)
    assert (header.base_offset, header.partition_leader_epoch) == (base_offset, leader_epoch)
    assert records.has_valid_crc(stamped, 0, len(stamped), header.crc)
    assert stamped[16:] == batch[16:]
    assert [r.offset for r in records.read_records(stamped)] == [base_offset, base_offset + 1]


def test_log_append_time_is_set_on_every_record_with_a_new_crc() -> None:
    stamped = records.stamp_log_append_time(make_batch(b"a", b"b", timestamps=[1, 2]), NOW_MS)

    header = records.read_header(stamped, 0)
    assert header.attributes & records.LOG_APPEND_TIME_FLAG
    assert header.max_timestamp == NOW_MS
    assert records.has_valid_crc(stamped, 0, len(stamped), header.crc)
    assert [r.timestamp for r in records.read_records(stamped)] == [NOW_MS, NOW_MS]


@given(st.integers(-1, 2**62), st.integers(0, 2**62), st.sampled_from(sorted(CODECS)))
def test_sent_crc_is_computed_from_the_stored_batch(
    timestamp: int, base_offset: int, codec: str
) -> None:
    sent = make_batch(b"a" * 99, b"b", timestamps=[timestamp, timestamp], codec=codec)
    header = records.read_header(sent, 0)
    stored = records.stamp(sent, 0, len(sent), base_offset, 3)
    for batch in (stored, records.stamp_log_append_time(stored, NOW_MS)):
        assert records.sent_crc(batch, header.max_timestamp) == header.crc
        damaged = batch[:-1] + bytes((batch[-1] ^ 1,))
        assert records.sent_crc(damaged, header.max_timestamp) != header.crc


@pytest.mark.parametrize("codec", CODECS)
def test_zstd_is_recognised_by_the_stored_batch(codec: str) -> None:
    assert records.is_zstd(make_batch(b"a" * 100, codec=codec)) == (codec == "zstd")


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
def test_a_broken_payload_is_a_value_error_whatever_the_codec(codec: str) -> None:
    batch = make_batch(b"abc" * 100, codec=codec)
    broken = altered(batch[:-9], 61, ">q", 0)

    with pytest.raises(ValueError, match="undecodable"):
        list(records.read_records(broken))


COMPRESSED = [codec for codec in CODECS if codec != "none"]


def body_bytes(value: bytes) -> int:
    """Return the size that the record of a value announces, below 64 records."""
    record_bytes = len(make_batch(value)) - records.HEADER_BYTES
    return record_bytes - (1 if record_bytes <= 64 else 2)


@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=10),
    codec=st.sampled_from(COMPRESSED),
    bytes_max=st.integers(0, 1500),
)
def test_records_are_decoded_up_to_the_limit_of_the_batch(
    sizes: list[int], codec: str, bytes_max: int
) -> None:
    values = [b"v" * size for size in sizes]
    batch = make_batch(*values, codec=codec)
    assume(records.read_header(batch, 0).attributes & records.COMPRESSION_MASK)
    ends = [len(make_batch(*values[: n + 1])) - records.HEADER_BYTES for n in range(len(values))]
    expected = values[: sum(end <= bytes_max for end in ends)]
    found, error = read_until_error(batch, bytes_max=bytes_max)

    assert found == expected
    assert isinstance(error, TooLargeError) == (expected != values)


@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=10),
    codec=st.sampled_from(COMPRESSED),
    limit=st.integers(1, 300),
)
def test_records_are_decoded_up_to_the_first_that_is_too_large(
    sizes: list[int], codec: str, limit: int
) -> None:
    values = [b"v" * size for size in sizes]
    batch = make_batch(*values, codec=codec)
    assume(records.read_header(batch, 0).attributes & records.COMPRESSION_MASK)
    found, error = read_until_error(batch, record_bytes_max=limit)

    fitting = list(itertools.takewhile(lambda value: body_bytes(value) <= limit, values))
    assert found == fitting
    assert isinstance(error, records.OversizedRecordError) == (fitting != values)


def read_until_error(batch: bytes, **limits: int) -> tuple[list[bytes | None], ValueError | None]:
    found: list[bytes | None] = []
    try:
        found.extend(record.value for record in records.read_records(batch, **limits))
    except ValueError as error:
        return found, error
    return found, None


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_damaged_batch_is_no_value_whatever_the_limit(codec: str) -> None:
    longer = altered(make_batch(b"a" * 99, b"b" * 99, codec=codec), 57, ">i", 3)
    shorter = altered(make_batch(b"a" * 99, b"b" * 99, codec=codec), 57, ">i", 1)
    for batch in (longer, shorter):
        with pytest.raises(ValueError, match="undecodable"):
            list(records.read_records(batch, record_bytes_max=1000))


def test_whole_batches_are_found_one_after_the_other() -> None:
    first, second = make_batch(b"one"), make_batch(b"two", b"three")
    buffer = first + second + first[:-1]
    found = [(header.records_count, start, end) for header, start, end in whole(buffer)]
    assert found == [(1, 0, len(first)), (2, len(first), len(first) + len(second))]


@pytest.mark.parametrize("batch_length", [-(1 << 31), -13, -12, -1, 0, 48])
def test_what_is_shorter_than_a_header_is_no_batch(batch_length: int) -> None:
    batch = make_batch(b"one")
    damaged = batch[:8] + batch_length.to_bytes(4, "big", signed=True) + batch[12:]
    assert [start for _, start, _ in whole(batch + damaged)] == [0]


def whole(buffer: bytes) -> list[tuple[records.BatchHeader, int, int]]:
    return list(itertools.islice(records.whole_batches(buffer), 9))
