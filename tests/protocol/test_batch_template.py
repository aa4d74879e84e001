from hypothesis import given
from hypothesis import strategies as st

from protocol.batch_builder import BatchBuilder
from protocol.batch_template import BatchTemplate
from protocol.compression import NO_COMPRESSION
from protocol.records import COMPRESSION_NAMES, has_valid_crc, read_header, read_records, stamp

KEY_BYTES = 3
DELTAS = st.integers(0, 5000)


@given(
    rows=st.lists(st.tuples(st.binary(max_size=300), DELTAS), min_size=1, max_size=20),
    has_keys=st.booleans(),
    base_offset=st.integers(0, 2**62),
    timestamp_ms=st.integers(0, 2**62),
    codec=st.sampled_from(range(len(COMPRESSION_NAMES))),
)
def test_a_batch_has_the_records_that_it_was_made_of(
    rows: list[tuple[bytes, int]],
    has_keys: bool,
    base_offset: int,
    timestamp_ms: int,
    codec: int,
) -> None:
    values, deltas = [value for value, _ in rows], sorted(delta for _, delta in rows)
    keys = [b"%03d" % number for number in range(len(rows))] if has_keys else []
    key_bytes = KEY_BYTES if has_keys else None
    template = BatchTemplate(values, deltas, key_bytes=key_bytes, codec=codec)
    batch = template.batch(base_offset, timestamp_ms, keys)
    header = read_header(batch, 0)
    assert has_valid_crc(batch, 0, len(batch), header.crc)
    assert header.records_count == template.count == len(rows)
    assert (header.base_offset, header.last_offset_delta) == (base_offset, len(rows) - 1)
    assert (header.base_timestamp, header.max_timestamp) == (
        timestamp_ms,
        timestamp_ms + deltas[-1],
    )
    assert template.size_bytes in {None, len(batch)}
    assert (template.size_bytes is None) == (has_keys and codec != NO_COMPRESSION)
    read = list(read_records(batch))
    assert [record.offset for record in read] == [base_offset + n for n in range(len(rows))]
    assert [record.timestamp - timestamp_ms for record in read] == deltas
    assert [record.value for record in read] == values
    assert [record.key for record in read] == (keys or len(rows) * [None])


@given(values=st.lists(st.binary(max_size=200), min_size=1, max_size=9))
def test_it_is_the_batch_that_a_producer_builds(values: list[bytes]) -> None:
    builder = BatchBuilder("none", 1 << 20)
    for number, value in enumerate(values):
        builder.append(7000 + number, b"key", value, ())
    built = builder.build()
    template = BatchTemplate(values, range(len(values)), key_bytes=KEY_BYTES)
    batch = template.batch(500, 7000, [b"key"] * len(values))
    assert batch == stamp(built, 0, len(built), 500, 0)


def test_a_template_is_used_again() -> None:
    template = BatchTemplate([b"a", b"b"], [0, 1], key_bytes=KEY_BYTES)
    first = template.batch(10, 100, [b"aaa", b"bbb"])
    template.batch(12, 102, [b"ccc", b"ddd"])
    assert template.batch(10, 100, [b"aaa", b"bbb"]) == first
