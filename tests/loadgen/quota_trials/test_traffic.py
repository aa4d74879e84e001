"""A trace becomes arrays in the order of time, with the requests that quotas charge."""

import json
from pathlib import Path

import pytest

from loadgen.quota_trials.traffic import FETCH, PRODUCE, TOPICS, traffic_of_trace
from loadgen.traces.trace_file import TraceError

ROWS = [
    {"time_us": 9_000_500, "api": "Fetch", "user": "b", "connection": "y", "response_bytes": 50},
    {
        "time_us": 8_000_000,
        "api": "Produce",
        "user": "a",
        "client_id": "x",
        "request_bytes": 70,
        "producer_id": 4,
        "broker": 2,
    },
    {"time_us": 8_500_000, "api": "Metadata", "user": "a"},
    {"time_us": 8_600_000, "api": "CreateTopics", "user": "a", "mutations": 6, "topics": 2},
    {"time_us": 9_700_000, "api": "Produce", "user": "a", "client_id": "x", "broker": 1},
]


def test_the_rows_are_sorted_and_begin_at_zero(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    found = traffic_of_trace(path)
    assert len(found) == 4
    assert found.span_ms == 1700
    assert found.time_ms.tolist() == [0, 600, 1000, 1700]
    assert found.api.tolist() == [PRODUCE, TOPICS, FETCH, PRODUCE]
    assert [found.clients[number] for number in found.client] == [
        ("a", "x"),
        ("a", ""),
        ("b", ""),
        ("a", "x"),
    ]
    assert found.size_bytes.tolist() == [70, 0, 54, 0]
    assert found.producer_id.tolist() == [4, -1, -1, -1]
    assert (found.topics.tolist(), found.mutations.tolist()) == ([1, 2, 1, 1], [0, 6, 0, 0])
    # Without a name the requests of one client to one broker share a connection.
    assert len(set(found.connection.tolist())) == 4


def test_a_trace_without_a_request_that_is_charged_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_text(json.dumps(ROWS[2]) + "\n")
    with pytest.raises(TraceError, match=r"t\.ndjson has no request of Produce, Fetch"):
        traffic_of_trace(path)
