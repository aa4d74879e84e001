"""A batch with one record is sound where the full check says so, whatever was remembered before."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.produce import single_records
from broker.produce.single_records import SHAPES, learn_single
from protocol.record_scan import RecordScan
from protocol.records import CRC_START, HEADER_BYTES
from tests.batches import make_batch


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    SHAPES.clear()
    yield
    SHAPES.clear()


def is_remembered(batch: bytes) -> bool:
    unpack, known = SHAPES[len(batch) - 12]
    return unpack(batch[CRC_START:]) in known


def learn(batch: bytes) -> bool:
    return learn_single(len(batch) - 12, batch[CRC_START:])


def is_sound(batch: bytes) -> bool:
    scan = RecordScan(iter((batch[HEADER_BYTES:],)), 1, checks_sizes=True)
    try:
        for _ in scan.steps():
            pass
    except ValueError:
        return False
    return True


FIELDS = st.one_of(st.none(), st.binary(max_size=3), st.integers(0, 300).map(bytes))


@given(FIELDS, FIELDS)
def test_a_sound_record_is_learnt_and_one_like_it_is_known(
    key: bytes | None, value: bytes | None
) -> None:
    batch = make_batch(value, key=key)
    assert learn(batch)
    assert is_remembered(batch)
    other = make_batch(
        None if value is None else b"o" * len(value),
        key=None if key is None else b"p" * len(key),
        producer_id=9,
        producer_epoch=1,
        base_sequence=5,
    )
    assert is_remembered(other)


@given(FIELDS, FIELDS, st.data())
def test_what_is_remembered_is_sound(
    key: bytes | None, value: bytes | None, data: st.DataObject
) -> None:
    batch = bytearray(make_batch(value, key=key))
    assert learn(bytes(batch))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(HEADER_BYTES, len(batch) - 1))
        batch[place] = data.draw(st.integers(0, 255))
    if is_remembered(bytes(batch)) or learn(bytes(batch)):
        assert is_sound(bytes(batch))


def test_batches_that_are_not_plain_are_left_to_the_full_check() -> None:
    for batch in (
        make_batch(b"a", b"b"),
        make_batch(b"a" * 100, codec="gzip"),
        make_batch(b"a")[:-1] + b"\2",
        make_batch(b"a")[:HEADER_BYTES],
        make_batch(b"a")[:HEADER_BYTES] + b"\x11" + make_batch(b"a")[HEADER_BYTES + 1 :],
    ):
        assert not learn(batch)
        assert not is_remembered(batch)


def test_few_forms_of_one_size_are_remembered() -> None:
    for flags in range(0x40, 0x80, 0x10):
        flagged = bytearray(make_batch(b"a"))
        flagged[22] = flags & ~0x20
        assert learn(bytes(flagged))
    _unpack, known = SHAPES[len(flagged) - 12]
    assert len(known) == single_records._KNOWN_MAX
    assert learn(make_batch(b"", key=b"ka"))
    assert len(SHAPES[len(flagged) - 12][1]) == 1


def test_a_large_batch_is_not_remembered() -> None:
    batch = make_batch(bytes(5000))
    assert learn(batch)
    assert not is_remembered(batch)
