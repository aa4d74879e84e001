"""Requests are grouped by user, client, kind and topic."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.learning.traffic import read_traffic, streams_of
from tests.loadgen.learning.made_traffic import Row, traffic_of


def produce(time_us: int, topic: str = "t", producer_id: int = -1, **fields: object) -> Row:
    return {
        "time_us": time_us,
        "api": "Produce",
        "topic": topic,
        "producer_id": producer_id,
        **fields,
    }


def described(rows: list[Row]) -> set[tuple[str, str, str, str, int]]:
    return {
        (stream.kind, stream.user, stream.client_id, stream.topic, len(stream.rows))
        for stream in streams_of(traffic_of(rows))
    }


def test_clients_that_differ_in_a_number_at_the_end_are_one_stream() -> None:
    rows = [produce(number, client_id=f"shop-{number}") for number in range(12)]
    rows += [produce(20, client_id="7"), produce(21, client_id="shop-1", user="u")]
    assert described(rows) == {
        ("produce", "ANONYMOUS", "shop", "t", 12),
        ("produce", "ANONYMOUS", "7", "t", 1),
        ("produce", "u", "shop", "t", 1),
    }


def test_a_producer_id_belongs_to_the_first_topic_that_it_writes_to() -> None:
    rows = [produce(1, "b", 5), produce(2, "a", 5), produce(3, "a", 6), produce(4, "b"), produce(5)]
    assert described(rows) == {
        ("produce", "ANONYMOUS", "", "b", 3),
        ("produce", "ANONYMOUS", "", "a", 1),
        ("produce", "ANONYMOUS", "", "t", 1),
    }


def test_kinds_are_streams_of_their_own_and_other_requests_are_none() -> None:
    rows: list[Row] = [
        produce(1, transactional_id="x"),
        {"time_us": 2, "api": "EndTxn", "transactional_id": "x"},
        {"time_us": 3, "api": "Fetch", "topic": "t"},
        {"time_us": 4, "api": "CreateTopics", "topic": "new"},
        {"time_us": 5, "api": "CreateTopics", "topic": "another"},
        {"time_us": 6, "api": "Metadata"},
    ]
    assert described(rows) == {
        ("transactions", "ANONYMOUS", "", "", 2),
        ("fetch", "ANONYMOUS", "", "t", 1),
        ("topic-creator", "ANONYMOUS", "", "", 2),
    }
    assert described([{"time_us": 6, "api": "Metadata"}]) == set()


def test_rows_are_sorted_by_time(tmp_path: Path) -> None:
    rows = [produce(30), produce(10), produce(20)]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    traffic = read_traffic(path)
    assert traffic.columns["time_us"].tolist() == [10, 20, 30]
    assert len(traffic) == 3
