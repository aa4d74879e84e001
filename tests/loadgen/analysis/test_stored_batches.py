"""A batch is known by its place, whatever file it is read from."""

from typing import Any

import pyarrow as pa
import pytest

from loadgen.analysis.read_back import ARROW_SCHEMA as STORED_SCHEMA
from loadgen.analysis.stored_batches import STORED, of_events, sent_batches, stored_batches
from loadgen.plan.plan import Plan, Tenant
from loadgen.rows import ARROW_SCHEMA
from tests.loadgen.result_rows import row

PLAN = Plan(name="p", duration_s=1.0, tenants=(Tenant("writer", "steady", topic="t"),))


def test_batches_of_many_topics_have_equal_places_in_every_order() -> None:
    rows = [row(number, topic=f"t{number % 5}", partition=number % 2) for number in range(50)]
    stored = [{name: batch.get(name) for name in STORED_SCHEMA.names} for batch in rows]
    tables = [
        sent_batches(pa.Table.from_pylist(rows, ARROW_SCHEMA), PLAN),
        stored_batches(pa.Table.from_pylist(stored[::-1], STORED_SCHEMA)),
    ]
    [found] = STORED.of(of_events(pa.concat_tables(tables))).to_pylist()

    assert found == {"number": 1, "acknowledged": 50, "missing": 0, "repeated": 0}


@pytest.mark.parametrize(
    ("name", "value"),
    [("topic", "u"), ("partition", 1), ("epoch", 1), ("sequence", 7), ("records", 2)],
)
def test_each_column_of_a_place_counts(name: str, value: Any) -> None:
    sent = sent_batches(pa.Table.from_pylist([row(1)], ARROW_SCHEMA), PLAN)
    elsewhere = {column: row(1, **{name: value}).get(column) for column in STORED_SCHEMA.names}
    stored = stored_batches(pa.Table.from_pylist([elsewhere], STORED_SCHEMA))
    [found] = STORED.of(of_events(pa.concat_tables([sent, stored]))).to_pylist()

    assert (found["missing"], found["repeated"]) == (1, 1)
