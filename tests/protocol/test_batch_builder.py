import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.batch_builder import (
    BatchBuilder,
    record_bytes_max,
    stamp_producer,
    uncompressed_batch,
)
from protocol.records import (
    COMPRESSION_NAMES,
    HEADER_BYTES,
    has_valid_crc,
    last_offset,
    read_header,
    read_records,
    stamp,
)

RECORDS = st.lists(
    st.tuples(
        st.integers(0, 2**40),
        st.none() | st.binary(max_size=20),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2),
    ),
    min_size=1,
    max_size=20,
)


@given(records=RECORDS, compression=st.sampled_from(COMPRESSION_NAMES))
def test_records_survive_the_round_trip_through_a_batch(
    records: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    compression: str,
) -> None:
    builder = BatchBuilder(compression, 1_000_000)
    for record in records:
        before = builder.size_bytes
        assert builder.append(*record)
        assert builder.size_bytes - before <= record_bytes_max(*record[1:])
    assert builder.record_count == len(records)
    size_bytes = builder.size_bytes
    built = builder.build()
    assert HEADER_BYTES < len(built) <= size_bytes
    assert [
        (read_record.timestamp, read_record.key, read_record.value, list(read_record.headers))
        for read_record in read_records(built)
    ] == records


def test_a_batch_accepts_any_first_record_and_more_up_to_bytes_max() -> None:
    builder = BatchBuilder("none", 80)
    assert builder.append(0, None, b"x" * 100, ())
    assert not builder.append(0, None, b"", ())
    assert builder.record_count == 1


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_stamping_changes_only_producer_fields_and_crc(compression: str) -> None:
    builder = BatchBuilder(compression, 10_000)
    builder.append(5, b"k", b"v" * 500, ())
    unstamped = builder.build()
    stamped = stamp_producer(unstamped, 2**40, 7, 2**31 - 1)
    header = read_header(stamped, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (
        2**40,
        7,
        2**31 - 1,
    )
    assert has_valid_crc(stamped, 0, len(stamped), header.crc)
    assert list(read_records(stamped)) == list(read_records(unstamped))
    assert stamp_producer(stamped, -1, -1, -1) == unstamped


@given(
    st.lists(
        st.tuples(st.binary(max_size=2000), st.none() | st.binary(max_size=2000)),
        min_size=1,
        max_size=70,
    ),
    st.integers(0, 2**62),
    st.integers(-1, 2**31 - 1),
    st.integers(0, 2**40),
)
def test_an_uncompressed_batch_has_the_bytes_that_the_builder_writes(
    records: list[tuple[bytes, bytes | None]], base_offset: int, epoch: int, timestamp_ms: int
) -> None:
    builder = BatchBuilder("none", 1_000_000)
    for key, value in records:
        builder.append(timestamp_ms, key, value, ())
    built = builder.build()
    expected = stamp(built, 0, len(built), base_offset, epoch)
    assert uncompressed_batch(records, base_offset, epoch, timestamp_ms) == expected


def test_offsets_of_a_batch_may_have_gaps() -> None:
    builder = BatchBuilder("none", 1000)
    for offset_delta in (1, 4):
        builder.append(0, b"k", b"v", (), offset_delta=offset_delta)
    batch = builder.build()
    assert [record.offset for record in read_records(batch)] == [1, 4]
    assert last_offset(batch) == 4


def test_a_compressed_batch_has_no_time_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> bytes:
        builder = BatchBuilder("gzip", 10_000)
        builder.append(0, None, b"x" * 1000, ())
        return builder.build()

    first = build()
    monkeypatch.setattr("time.time", lambda: 1e9)
    assert build() == first
    assert [record.value for record in read_records(first)] == [b"x" * 1000]
