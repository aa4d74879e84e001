"""The table of rows against a dict: growth, removal, and keys whose bytes occur in other rows."""

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from producer_state.row_table import (
    ID_BYTES,
    ROWS_PER_BUCKET,
    ROWS_PER_BUCKET_MIN,
    RowTable,
    id_at,
)

FIELD_BYTES = 26
ROW_BYTES = ID_BYTES + FIELD_BYTES
ID_MAX = 2**63 - 1


def fields_of(number: int) -> bytes:
    """Return fields that differ for every row."""
    return number.to_bytes(FIELD_BYTES, "little")


def stored_key(producer_id: int) -> bytes:
    """The bytes by which a table finds a producer."""
    table = RowTable(ROW_BYTES)
    table.add(producer_id, bytes(FIELD_BYTES))
    return bytes(table.rows_of(0)[:ID_BYTES])


def read(table: RowTable, producer_id: int) -> bytes | None:
    """The fields of a producer's row."""
    position = table.find(producer_id)
    if position < 0:
        return None
    assert position % ROW_BYTES == 0
    assert id_at(table.bucket, position) == producer_id
    return bytes(table.bucket[position + ID_BYTES : position + ROW_BYTES])


def remove(table: RowTable, producer_ids: set[int]) -> int:
    """Remove rows bucket by bucket, as expiry does; returns how many there were."""
    removed = 0
    for index in range(table.bucket_count):
        rows = table.rows_of(index)
        positions = range(0, len(rows), ROW_BYTES)
        kept = [position for position in positions if id_at(rows, position) not in producer_ids]
        removed += table.keep(index, kept)
    return removed


def filled(producer_ids: range | list[int]) -> RowTable:
    table = RowTable(ROW_BYTES)
    for number, producer_id in enumerate(producer_ids):
        table.add(producer_id, fields_of(number))
    return table


# Few ids, so that some repeat, with both ends of the range and blocks of allocated ids.
producer_ids = (
    st.integers(0, 40)
    | st.integers(ID_MAX - 3, ID_MAX)
    | st.integers(0, 20).map(lambda block: block * 1000)
    | st.integers(0, ID_MAX)
)


class TableAgainstDict(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.table = RowTable(ROW_BYTES)
        self.model: dict[int, bytes] = {}

    def add_new(self, producer_id: int, fields: bytes) -> None:
        if producer_id not in self.model:
            self.table.add(producer_id, fields)
            self.model[producer_id] = fields

    @rule(
        ids=st.lists(producer_ids, min_size=1, max_size=60),
        fields=st.binary(min_size=26, max_size=26),
    )
    def add(self, ids: list[int], fields: bytes) -> None:
        for producer_id in ids:
            self.add_new(producer_id, fields)

    @rule(hidden=producer_ids, producer_id=producer_ids, shift=st.integers(0, 18))
    def add_a_row_that_has_anothers_key_in_its_fields(
        self, hidden: int, producer_id: int, shift: int
    ) -> None:
        key = stored_key(hidden)
        self.add_new(producer_id, (bytes(shift) + key).ljust(FIELD_BYTES, b"\0"))

    @rule(producer_id=producer_ids, fields=st.binary(min_size=26, max_size=26))
    def write_in_place(self, producer_id: int, fields: bytes) -> None:
        position = self.table.find(producer_id)
        assert (position >= 0) == (producer_id in self.model)
        if position >= 0:
            self.table.bucket[position + ID_BYTES : position + ROW_BYTES] = fields
            self.model[producer_id] = fields

    @rule(producer_id=producer_ids)
    def find(self, producer_id: int) -> None:
        assert read(self.table, producer_id) == self.model.get(producer_id)

    @rule(share=st.floats(0, 1), rng=st.randoms(use_true_random=False))
    def remove_some(self, share: float, rng: random.Random) -> None:
        gone = {producer_id for producer_id in self.model if rng.random() < share}
        assert remove(self.table, gone) == len(gone)
        for producer_id in gone:
            del self.model[producer_id]

    @rule(steps=st.integers(1, 20))
    def merge(self, steps: int) -> None:
        for _ in range(steps):
            before = self.table.bucket_count
            assert self.table.merge_one() == (self.table.bucket_count < before)

    @invariant()
    def every_row_is_found_and_nothing_else_is_there(self) -> None:
        assert len(self.table) == len(self.model)
        assert sorted(self.table.producer_ids()) == sorted(self.model)
        assert {producer_id: read(self.table, producer_id) for producer_id in self.model} == (
            self.model
        )


TestTableAgainstDict = TableAgainstDict.TestCase


def test_an_empty_table_finds_nothing_and_has_no_bucket() -> None:
    table = RowTable(ROW_BYTES)

    assert table.find(0) < 0
    assert (len(table), table.bucket_count, table.merge_one()) == (0, 0, False)
    assert list(table.producer_ids()) == []


def test_a_row_added_to_one_table_is_not_in_another() -> None:
    first, second = RowTable(ROW_BYTES), RowTable(ROW_BYTES)
    assert first.find(1) < 0
    assert second.find(1) < 0
    first.add(1, fields_of(1))

    assert (read(first, 1), read(second, 1)) == (fields_of(1), None)


@pytest.mark.parametrize("shift", range(FIELD_BYTES - ID_BYTES + 1))
def test_an_id_whose_bytes_occur_in_another_row_s_fields_is_not_found_there(shift: int) -> None:
    table = RowTable(ROW_BYTES)
    table.add(1, (b"\xff" * shift + stored_key(2)).ljust(FIELD_BYTES, b"\xff"))
    assert table.find(2) < 0

    table.add(2, fields_of(2))
    assert read(table, 2) == fields_of(2)
    table.add(3, (b"\xff" * shift + stored_key(2)).ljust(FIELD_BYTES, b"\xff"))
    assert read(table, 2) == fields_of(2)


@given(start=st.integers(0, ID_MAX - 2**40), step=st.sampled_from([1, 1000, 2**10, 2**16, 2**32]))
def test_ids_of_a_regular_pattern_are_spread_over_the_buckets(start: int, step: int) -> None:
    table = filled([start + number * step for number in range(200)])

    sizes = [len(table.rows_of(index)) // ROW_BYTES for index in range(table.bucket_count)]
    assert sum(sizes) == 200
    assert max(sizes) < 8 * ROWS_PER_BUCKET


def test_growing_moves_one_bucket_at_a_time() -> None:
    table = RowTable(ROW_BYTES)
    bucket_count = 1
    for producer_id in range(5000):
        table.add(producer_id, fields_of(producer_id))
        assert table.bucket_count - bucket_count in {0, 1}
        bucket_count = table.bucket_count
        assert len(table) <= ROWS_PER_BUCKET * bucket_count


def test_a_table_without_rows_releases_their_memory() -> None:
    table = filled(range(5000))
    full_bytes = table.bytes_held()
    assert remove(table, set(range(10, 5000))) == 4990
    while table.merge_one():
        pass

    assert table.bucket_count <= 10 // ROWS_PER_BUCKET_MIN + 1
    assert table.bytes_held() < full_bytes / 100
    assert [read(table, producer_id) for producer_id in range(10)] == list(
        map(fields_of, range(10))
    )


@pytest.mark.slow
def test_rows_cost_little_more_than_their_bytes_and_a_bytearray_per_bucket() -> None:
    bytearray_bytes = sys.getsizeof(bytearray(1)) - 1  # 40 more from Python 3.15
    row_bytes = ROW_BYTES + bytearray_bytes / ROWS_PER_BUCKET
    assert filled(range(50_000)).bytes_held() < 1.1 * row_bytes * 50_000
    assert filled([7]).bytes_held() < 400


def test_rewritten_rows_have_another_size_and_are_found_as_before() -> None:
    table = RowTable(ID_BYTES + 2)
    table.rewrite(ID_BYTES + 1, lambda row: row[:-1])
    table.rewrite(ID_BYTES + 2, lambda row: row + b"-")
    for producer_id in range(200):
        table.add(producer_id, b"%02d" % (producer_id % 100))
    assert table.find(7) >= 0

    table.rewrite(ID_BYTES + 4, lambda row: row + row[-2:])

    for producer_id in range(200):
        position = table.find(producer_id)
        fields = table.bucket[position + ID_BYTES : position + table.row_bytes]
        assert fields == b"%02d%02d" % (producer_id % 100, producer_id % 100)
    assert table.find(200) < 0
    assert len(table) == len(list(table.producer_ids())) == 200
