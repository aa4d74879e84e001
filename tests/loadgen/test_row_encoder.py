"""Packed rows as Arrow columns: a run of requests has the rows of its requests."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.plan.plan import Tenant
from loadgen.row_encoder import ENCODED_SCHEMA, TEXTS, RowEncoder, batches
from loadgen.rows import ARROW_SCHEMA, EVENT_STEP, SEQUENCE_MAX, Rows

pytestmark = pytest.mark.slow

TENANTS = [Tenant("a", "steady", "a"), Tenant("b", "steady", "b")]


def encoder() -> RowEncoder:
    return RowEncoder(3, 500, TENANTS, [0, 1, 1])


def rows_of(rows: Rows) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.Table.from_batches(
        batches(rows, encoder()), ARROW_SCHEMA
    ).to_pylist()
    return sorted(found, key=lambda row: row["event_id"])


def test_texts_are_dictionaries() -> None:
    rows = Rows()
    rows.end(rows.begin(
        event_id=1, intended_us=1, submitted_us=1, sent_us=1, client=1, api=0, version=9
    ), 2, 0)  # fmt: skip
    [chunk] = list(rows.chunks())
    batch = encoder().batch(chunk, rows.topics)
    assert batch.schema == ENCODED_SCHEMA
    assert {"tenant", "topic", "status"} <= set(TEXTS)
    assert batch.column("topic").to_pylist() == [None]
    assert batch.column("tenant").to_pylist() == ["b"]


@given(
    st.lists(
        st.tuples(
            st.integers(1, 6),  # requests
            st.integers(0, 2),  # client
            st.sampled_from([1, 4]),  # records of a request
            st.sampled_from([-1, 0, 10, SEQUENCE_MAX - 3]),  # first sequence
            st.integers(0, 3),  # time until the request may be sent
        ),
        max_size=12,
    ),
    st.integers(1, 9),
)
def test_a_run_has_the_rows_of_its_requests(
    runs: list[tuple[int, int, int, int, int]], chunk_rows: int
) -> None:
    together, alone = Rows(chunk_rows), Rows(chunk_rows)
    for number, (count, client, records, first, early_us) in enumerate(runs):
        producer_id, epoch = (-1, -1) if first < 0 else (70 + client, 2)
        offsets = range(100 * number, 100 * number + count)
        times = (600 + number, 610 + number, 620 + number)
        stamps = [
            rows.stamp(
                client=client,
                api=0,
                version=9,
                topic=rows.topic_number("orders"),
                partition=client,
                records=records,
                request_bytes=200,
                node=1,
            )
            for rows in (together, alone)
        ]
        together.add_run(
            stamps[0], count, number, *times, 700, 2, producer_id, epoch, first, early_us, offsets
        )
        for index, base_offset in enumerate(offsets):
            sequence = first if first < 0 else (first + index * records) & SEQUENCE_MAX
            alone.add_stamped(
                stamps[1], number + index * EVENT_STEP, *times, 2, producer_id, epoch, sequence,
                early_us, 700, 0, 0, base_offset,
            )  # fmt: skip
    assert len(together) == len(alone) == sum(count for count, *_ in runs)
    assert rows_of(together) == rows_of(alone)


def test_a_row_that_is_complete_at_once_is_one_that_began_and_ended() -> None:
    at_once, later = Rows(), Rows()
    for rows in (at_once, later):
        stamp = rows.stamp(
            client=1, api=0, version=9, topic=0, partition=0, records=1, request_bytes=9, node=1
        )
        sent = (stamp, 5, 600, 610, 620, 2, 70, 1, 9, 30)
        if rows is at_once:
            rows.add_stamped(*sent, 700, 89, 12, -1)
        else:
            rows.end(rows.begin_stamped(*sent), 700, 89, 12, -1)
    assert rows_of(at_once) == rows_of(later)
