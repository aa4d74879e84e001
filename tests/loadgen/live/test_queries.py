"""What the queries of the live figures count, from single rows."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.compute import scalar

from loadgen.analysis.arrow_queries import is_in, is_main_api, is_whole_event, with_columns
from loadgen.analysis.latencies import bin_of
from loadgen.live import queries
from loadgen.rows import ARROW_SCHEMA
from tests.examples import examples
from tests.loadgen.live.made_rows import Row, no_response, row

HOUR_US = 3_600_000_000


def table_of(*rows: Row, tenants: tuple[str, ...] = ("shop",)) -> pa.Table:
    found = pa.Table.from_pylist(list(rows), ARROW_SCHEMA).select(queries.COLUMNS)
    once = is_in("tenant", tenants)
    columns = {"completes_once": once, "is_whole_event": is_whole_event(tenants)}
    return with_columns(found, columns)


@given(st.integers(-HOUR_US, HOUR_US), st.integers(0, HOUR_US))
@settings(max_examples=examples(30), deadline=None)
def test_times_are_in_the_bins_and_seconds_of_the_summary(intended_us: int, took_us: int) -> None:
    event = row(1, sent_us=intended_us, response_us=intended_us + took_us)
    [found] = queries.whole_events(table_of(event))
    assert found["second"] == intended_us // 1_000_000
    # A time at the edge of a bin may be in either.
    assert found["bin"] in {bin_of(took_us * (1 - 1e-12)), bin_of(took_us * (1 + 1e-12))}
    assert found["response_max_us"] == took_us


def test_a_row_is_a_whole_event_only_if_it_is_all_that_there_is_of_it() -> None:
    others = [
        row(1, attempt=2),
        row(2, api="InitProducerId"),
        row(3, error_code=89),
        row(-1),
        row(4, "again"),
        no_response(5),
    ]
    assert queries.whole_events(table_of(*others)) == []
    assert len(queries.whole_events(table_of(*others, row(6, error_code=46)))) == 1
    [found] = queries.requests(table_of(row(1, attempt=2)))
    assert found["rows_of_events"] == 1


def test_lateness_is_that_of_first_attempts_of_events_with_intended_times() -> None:
    rows = [row(7), row(7, attempt=2), row(-1), row(7, sent_us=-9, response_us=5)]
    rows += [no_response(7, status="not_sent", sent_us=3)]
    found = queries.lateness(table_of(*rows), scalar(True))
    assert sum(r["events"] for r in found if r["bin"] is not None) == 1
    found = queries.lateness(table_of(*rows), is_in("tenant", ["other"]))
    assert [r["bin"] for r in found] == [None]


def test_an_event_completes_with_the_api_of_its_tenant() -> None:
    rows = [row(1), row(2, "maker"), row(3, "deaf", api="Fetch")]
    has_main_api = is_main_api({"shop": "EndTxn", "maker": "Produce", "deaf": "any"})
    found = queries.events(table_of(*rows, tenants=()), has_main_api).to_pylist()
    completed = {event["tenant"]: event["completed_us"] is not None for event in found}
    assert completed == {"shop": False, "maker": True, "deaf": True}


def test_a_producer_id_counts_from_its_first_success() -> None:
    rows = [row(1, response_us=90_000), row(2, response_us=80_000), row(3, producer_id=None)]
    failed = [row(4, producer_id=8, error_code=89), {**no_response(5), "sent_us": None}]
    ids = queries.new_producer_ids(table_of(*rows, *failed), ["ANONYMOUS"])
    assert {r["producer_id"]: r["response_us"] for r in ids} == {7: 80_000, -1: 40_544}
    assert queries.new_producer_ids(table_of(*rows), ["somebody"]) == []


def test_mutations_that_were_refused_do_not_count() -> None:
    rows = [row(1, mutations=8), row(2, mutations=0, error_code=89), row(3, "again", mutations=8)]
    [found] = queries.accepted_mutations(table_of(*rows), ["shop"])
    assert (found["tenant"], found["mutations"]) == ("shop", 8)
