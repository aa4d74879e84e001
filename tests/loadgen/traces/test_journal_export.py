"""The broker's journal becomes rows: a real export, and lines without messages."""

import json
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from loadgen.traces.journal_export import JournalExport
from loadgen.traces.trace_file import read_trace
from mock_kafka import MockKafka
from tests.loadgen.runs import of_api, plan_of, run

LINE: dict[str, Any] = {
    "kind": "request",
    "received_ms": 7,
    "api": "CreateTopics",
    "connection": 3,
    "broker": 2,
    "client_id": None,
    "topics": ["a", "b"],
    "groups": ["g"],
}


def row_of(**fields: Any) -> dict[str, Any] | None:
    return JournalExport().row_of(json.dumps({**LINE, **fields}).encode())


@pytest.mark.slow
def test_the_rows_of_an_export_are_the_requests_of_the_load(tmp_path: Path) -> None:
    plan = plan_of(
        "[{name: a, behaviour: steady, topic: t, rate: 40, records: 3},"
        " {name: c, behaviour: topic-creator, rate: 4, topics_per_request: 2, partitions: 5}]"
    )
    with MockKafka(brokers=2, admin_port=0) as kafka:
        results = run(plan, kafka.bootstrap_servers)
        with urllib.request.urlopen(f"{kafka.admin_url}/v1/requests/export") as export:
            (tmp_path / "journal.ndjson").write_bytes(export.read())
    rows = [row for batch in read_trace(tmp_path / "journal.ndjson") for row in batch.to_pylist()]
    of_tenants = [row for row in rows if row["client_id"] in {"a", "c"}]
    for api in ("Produce", "CreateTopics", "InitProducerId"):
        sent = Counter(
            (row["tenant"], row["node"], row["bytes"] - 4) for row in of_api(results, api)
        )
        seen = Counter(
            (row["client_id"], row["broker"], row["request_bytes"])
            for row in of_tenants
            if row["api"] == api
        )
        assert sent == seen
    produce = [row for row in of_tenants if row["api"] == "Produce"]
    sent_to = {(r["producer_id"], r["topic"], r["partition"]) for r in of_api(results, "Produce")}
    assert {(r["producer_id"], r["topic"], r["partition"]) for r in produce} == sent_to
    assert {(row["records"], row["topics"]) for row in produce} == {(3, 1)}
    assert all(300 < row["batch_bytes"] < row["request_bytes"] for row in produce)
    creations = [row for row in of_tenants if row["api"] == "CreateTopics"]
    assert {(row["topics"], row["mutations"]) for row in creations} == {(2, 10)}


def test_a_line_without_messages_names_its_topics_and_groups() -> None:
    row = row_of()
    assert row is not None
    assert (row["topic"], row["topics"], row["group"]) == ("a", 2, "g")
    assert (row["time_us"], row["connection"], row["client_id"]) == (7000, "3", "")
    assert (row["records"], row["mutations"], row["producer_id"]) == (0, 0, -1)


def test_other_lines_have_no_row_and_wrong_ones_are_refused() -> None:
    assert row_of(kind="disconnect") is None
    with pytest.raises(ValueError, match="received_ms"):
        row_of(received_ms="now")
