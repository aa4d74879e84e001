"""Kafka's request log becomes rows: lines of Kafka 4.1.0, and lines made for single rules.

`kafka-4.1.0-request.log` is what a node, broker and controller in one, logged for an admin client
and a producer; only the configurations in the response to CreateTopics were removed.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from loadgen.traces.request_log import RequestLog
from loadgen.traces.trace_file import read_trace

LOG = Path(__file__).parent / "kafka-4.1.0-request.log"


def line_of(api: str, request: Any = None, response: Any = None, **fields: Any) -> bytes:
    found = {
        "requestHeader": {"requestApiKeyName": api, "clientId": fields.pop("client_id", "c")},
        "request": request or {},
        "response": response or {},
        "connection": "10.0.0.1:9092-10.1.0.9:50000-0-1",
        "totalTimeMs": 0.0,
        **fields,
    }
    return f"[2026-01-02 00:00:01,500] DEBUG Completed request:{json.dumps(found)} (x)".encode()


def test_kafka_s_log_has_one_row_for_each_request_of_a_client() -> None:
    rows = [row for batch in read_trace(LOG) for row in batch.to_pylist()]
    of_clients = [
        (row["client_id"], row["api"], row["batch_bytes"], row["mutations"], row["partition"])
        for row in rows
    ]
    assert of_clients == [
        ("maker", "CreateTopics", 0, 3, -1),
        ("shop", "InitProducerId", 0, 0, -1),
        ("shop", "InitProducerId", 0, 0, -1),
        ("shop", "Produce", 78, 0, 1),
        ("shop", "Produce", 78, 0, 1),
        ("shop", "Produce", 78, 0, 2),
        ("maker", "CreatePartitions", 0, 2, -1),
        ("maker", "DeleteTopics", 0, 5, -1),
    ]
    produce = [row for row in rows if row["api"] == "Produce"]
    assert {(row["producer_id"], row["user"], row["topic"]) for row in produce} == {
        (0, "ANONYMOUS", "t")
    }
    # The requests had 112 bytes without their size; this is an estimate.
    assert {row["request_bytes"] for row in produce} == {109}
    assert produce[1]["time_us"] - produce[0]["time_us"] == 34_916  # responses 9 ms apart


def test_the_arrival_is_the_total_time_before_the_line() -> None:
    row = RequestLog().row_of(line_of("METADATA", totalTimeMs=0.25))
    assert row is not None
    assert row["time_us"] % 86_400_000_000 == 1_499_750


def test_a_batch_has_the_newest_producer_id_of_its_connection_or_of_its_client() -> None:
    log = RequestLog()

    def init(producer_id: int, port: int, client_id: str = "c") -> None:
        answer = {"producerId": producer_id}
        connection = f"10.0.0.1:9092-10.1.0.9:{port}-0-1"
        log.row_of(
            line_of("INIT_PRODUCER_ID", {}, answer, connection=connection, client_id=client_id)
        )

    def batch(port: int, client_id: str = "c") -> Any:
        connection = f"10.0.0.2:9092-10.1.0.9:{port}-0-1"
        if port < 3:
            connection = f"10.0.0.1:9092-10.1.0.9:{port}-0-1"
        row = log.row_of(line_of("PRODUCE", connection=connection, client_id=client_id))
        assert row is not None
        return row["producer_id"]

    init(0, 1)
    init(8, 2)
    init(-1, 2)
    assert [batch(1), batch(2), batch(3), batch(3, "another")] == [0, 8, 8, -1]


def test_brokers_are_hosts_and_topic_ids_have_names() -> None:
    log = RequestLog()
    log.row_of(line_of("METADATA", {}, {"topics": [{"name": "t", "topicId": "id"}]}))
    request = {"topicData": [{"topicId": "id", "partitionData": [{"index": 0}]}]}
    there = "10.0.0.2:9093-10.1.0.9:50000-0-1"
    rows = [log.row_of(line_of("PRODUCE", request)) for _ in range(2)]
    rows.append(log.row_of(line_of("PRODUCE", request, connection=there, principal="Group:x")))
    assert [row and (row["broker"], row["topic"], row["user"]) for row in rows] == [
        (1, "t", "ANONYMOUS"),
        (1, "t", "ANONYMOUS"),
        (2, "t", "Group:x"),
    ]


def test_requests_of_brokers_and_forwarded_ones_have_no_row() -> None:
    log = RequestLog()
    assert log.row_of(b"[2026-01-02 00:00:01,500] INFO something else") is None
    assert log.row_of(line_of("VOTE")) is None
    assert log.row_of(line_of("CREATE_TOPICS", isForwarded=True)) is None
    assert log.row_of(line_of("FETCH", {"replicaState": {"replicaId": 2}})) is None
    assert log.row_of(line_of("FETCH", {"replicaId": 2})) is None
    fetch = log.row_of(
        line_of(
            "FETCH",
            {"replicaId": -1, "topics": [{"topic": "t"}]},
            {"responses": [{"partitions": [{"recordsSizeInBytes": 40}]}]},
        )
    )
    assert fetch is not None
    assert (fetch["response_bytes"], fetch["topic"]) == (40, "t")


def test_an_api_that_is_unknown_here_keeps_its_name() -> None:
    row = RequestLog().row_of(line_of("SOME_NEW_API"))
    assert row is not None
    assert row["api"] == "SomeNewApi"


def test_a_wrong_line_is_refused() -> None:
    with pytest.raises(ValueError, match="no date and time"):
        RequestLog().row_of(b"Completed request:{}")
    with pytest.raises(ValueError, match="requestHeader"):
        RequestLog().row_of(b"2026-01-02T00:00:00 Completed request:{}")
