"""Each table with rows is CSV, with one column for each figure."""

import csv

from loadgen.analysis.tables import TABLES, as_csv
from tests.loadgen.summaries import summary_of


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(content.decode().splitlines()))


def test_each_table_has_the_rows_of_the_summary() -> None:
    summary = summary_of()
    tables = {name: rows_of(content) for name, content in as_csv(summary).items()}
    assert {name: len(rows) for name, rows in tables.items()} == {
        name: len(summary[name]) for name in TABLES
    }
    [tenant] = tables["tenants"]
    assert (tenant["tenant"], tenant["records_per_s"]) == ("writer", "4321.0")
    assert "response_us" not in tenant


def test_the_response_times_of_requests_have_a_column_each() -> None:
    [request] = summary_of()["requests"]
    requests = [request, request | {"service_us": [10.0, 20.0]}]
    found = rows_of(as_csv(summary_of(requests=requests))["requests"])
    assert [(row["p50_us"], row["p99_us"]) for row in found] == [("", ""), ("10.0", "20.0")]


def test_a_table_without_rows_has_no_file() -> None:
    assert "throttles" not in as_csv(summary_of(throttles=[]))
