"""The behaviour of a stream, its clients, sizes and new producer ids are found again."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadgen.clients.produce_frames import record_batch
from loadgen.learning.tenant_fit import fit_of, record_bytes_for
from loadgen.learning.traffic import streams_of
from tests.loadgen.learning.made_traffic import Row, plan_of, rows_of, traffic_of


def fields_of(rows: list[Row]) -> dict[str, Any]:
    traffic = traffic_of(rows)
    (fit,) = (fit_of(stream, traffic) for stream in streams_of(traffic))
    assert fit is not None
    return fit.fields


@pytest.mark.parametrize(
    "fields",
    [
        {"behaviour": "steady", "clients": 6, "records": 3, "record_bytes": 250},
        {"behaviour": "steady", "clients": 1, "records": 1, "record_bytes": 8},
        {"behaviour": "steady", "clients": 4, "idempotent": False},
        {"behaviour": "new-producer-per-batch", "clients": 5},
        {"behaviour": "restart-loop", "batches": 7},
        {"behaviour": "topic-creator", "clients": 2, "topics_per_request": 5, "partitions": 3},
    ],
)
def test_a_behaviour_is_found_again(fields: dict[str, Any]) -> None:
    topic = "" if fields["behaviour"] == "topic-creator" else ", topic: t"
    listed = ", ".join(f"{key}: {value}".lower() for key, value in fields.items())
    found = fields_of(rows_of(plan_of(f"name: a, rate: 50{topic}, {listed}")))
    assert {key: found[key] for key in fields} == fields


def test_producers_that_are_replaced_after_errors_are_found_again() -> None:
    fields = "behaviour: new-producer-per-error, clients: 3, error_every: 20"
    found = fields_of(rows_of(plan_of(f"name: a, topic: t, rate: 200, {fields}")))
    assert found["behaviour"] == "new-producer-per-error"
    assert found["clients"] == 3
    assert found["error_every"] == pytest.approx(20, abs=3)


def test_sizes_that_differ_become_a_list() -> None:
    plan = plan_of("name: a, behaviour: steady, topic: t, rate: 50, record_bytes: [100, 900]")
    assert sorted(set(fields_of(rows_of(plan))["record_bytes"])) == [100, 900]


def test_without_sizes_of_batches_those_of_requests_are_taken() -> None:
    rows = rows_of(plan_of("name: a, behaviour: steady, topic: t, rate: 50, record_bytes: 500"))
    of_requests = [{**row, "request_bytes": row["batch_bytes"] + 61} for row in rows]
    for row in of_requests:
        del row["batch_bytes"]
    assert fields_of(of_requests)["record_bytes"] == 500
    for row in of_requests:
        del row["request_bytes"]
    assert "record_bytes" not in fields_of(of_requests)


def test_without_connections_a_restart_is_a_short_life() -> None:
    rows = rows_of(plan_of("name: a, behaviour: restart-loop, topic: t, rate: 10, batches: 4"))
    found = fields_of([{**row, "connection": "", "client_id": ""} for row in rows])
    assert (found["behaviour"], found["batches"]) == ("restart-loop", 4)


def test_transactions_are_counted_by_their_ends() -> None:
    rows: list[Row] = []
    for number in range(12):
        row = {"time_us": number * 10, "transactional_id": f"x{number % 2}", "topic": "t"}
        rows += [{**row, "api": "Produce", "records": 2}] * 3
        rows.append({**row, "api": "EndTxn", "topic": ""})
    found = fields_of(rows)
    assert found["behaviour"] == "transactional"
    assert (found["topic"], found["clients"]) == ("t", 2)
    assert (found["batches"], found["records"], found["abort_every"]) == (3, 2, 0)
    traffic = traffic_of(row for row in rows if row["api"] == "Produce")
    assert [fit_of(stream, traffic) for stream in streams_of(traffic)] == [None]


def test_consumers_are_members_of_the_group_that_they_name() -> None:
    fetch = {"api": "Fetch", "topic": "t", "client_id": "c"}
    rows: list[Row] = [{**fetch, "time_us": number} for number in range(5)]
    traffic = traffic_of(rows)
    assert [fit_of(stream, traffic) for stream in streams_of(traffic)] == [None]
    heartbeat = {"api": "Heartbeat", "group": "g", "client_id": "c"}
    rows += [{**heartbeat, "time_us": n, "connection": str(n % 3)} for n in range(9)]
    rows.append({**heartbeat, "time_us": 9, "group": "other", "user": "u"})
    found = fields_of(rows)
    assert (found["behaviour"], found["group"], found["clients"]) == ("consumer-group", "g", 3)
    assert "group_protocol" not in found
    rows += [{**row, "api": "ConsumerGroupHeartbeat"} for row in rows if row["api"] == "Heartbeat"]
    assert fields_of(rows)["group_protocol"] == "consumer"


@given(st.integers(1, 50), st.integers(8, 3000))
@example(1, 58)  # beside the size from which a length takes two bytes
def test_the_size_of_values_is_found_from_the_size_of_the_batch(records: int, size: int) -> None:
    batch_bytes = len(record_batch(records, size, 0)[0])
    assert record_bytes_for(batch_bytes, records) == size
