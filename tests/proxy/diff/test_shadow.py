"""What a client does with a real cluster is played with our broker, and compared."""

from typing import Any

from proxy.diff.report import SAME
from tests.proxy.diff.real_cluster import BothClusters

BATCH = {"batches": [{"records": [["k", "one"]], "timestamp": 1_700_000_000_000}]}


def batch(*values: str, **fields: Any) -> Any:
    records = [["k", value] for value in values]
    return {"batches": [{"records": records, "timestamp": 1_700_000_000_000, **fields}]}


def produce(topic: str, records: Any, **fields: Any) -> dict[str, Any]:
    partitions = [{"index": 0, "records": records}]
    return {
        "acks": -1,
        "timeout_ms": 1000,
        "topic_data": [{"name": topic, "partition_data": partitions}],
        **fields,
    }


def fetch(topic: str, offset: int = 0, **fields: Any) -> dict[str, Any]:
    partition = {
        "partition": 0,
        "fetch_offset": offset,
        "partition_max_bytes": 1 << 20,
        "current_leader_epoch": -1,
    }
    return {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 1 << 20,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [partition]}],
        **fields,
    }


def both_with(topic: str = "orders") -> BothClusters:
    both = BothClusters()
    created = both.client().ask(
        "CreateTopics",
        7,
        topics=[{"name": topic, "num_partitions": 1, "replication_factor": 1}],
        timeout_ms=1000,
    )
    assert created["topics"][0]["error_code"] == 0
    return both


def test_what_is_produced_and_fetched_is_the_same() -> None:
    both = both_with()
    client = both.client()
    client.ask("ApiVersions", 3, client_software_name="x", client_software_version="1")
    client.ask("Metadata", 12, topics=[{"name": "orders"}])
    assert client.ask("Produce", 9, **produce("orders", batch("one")))["responses"]
    fetched = client.ask("Fetch", 12, **fetch("orders"))
    assert fetched["responses"][0]["partitions"][0]["records"]
    report = both.end()
    assert report.lines()[-1] == SAME
    assert report.compared_records == 1
