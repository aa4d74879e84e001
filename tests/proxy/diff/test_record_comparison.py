"""Records that consumers have read are compared with those of our log."""

from typing import Any

import pytest

from broker.fetch.dead_letter_queue import TOPIC_SWITCH_KEY
from proxy.diff.record_comparison import DEAD_LETTER_TIME, LATER, NOT_RECORDED
from proxy.diff.report import SAME
from tests.proxy.diff.real_cluster import START_MS, BothClusters, Client, Connection

TOPIC = "orders"


def clusters(configs: dict[str, str] | None = None) -> BothClusters:
    both = BothClusters()
    entries = [{"name": name, "value": value} for name, value in (configs or {}).items()]
    created = {"name": TOPIC, "num_partitions": 1, "replication_factor": 1, "configs": entries}
    both.client().ask("CreateTopics", 7, topics=[created], timeout_ms=1000)
    return both


def store(connection: Any, value: str, timestamp_ms: int = START_MS) -> None:
    records = {"batches": [{"records": [["k", value]], "timestamp": timestamp_ms}]}
    topics = [{"name": TOPIC, "partition_data": [{"index": 0, "records": records}]}]
    connection.ask("Produce", 9, acks=-1, timeout_ms=9, topic_data=topics)


def fetch(client: Client, offset: int = 0) -> None:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    topics = [{"topic": TOPIC, "partitions": [{**partition, "current_leader_epoch": -1}]}]
    session = {"replica_id": -1, "max_bytes": 1 << 20, "session_epoch": -1}
    client.ask("Fetch", 12, topics=topics, **session)


def test_records_that_our_log_never_gets_are_a_difference() -> None:
    both = clusters()
    store(Connection(both.real), "by another client")
    client = both.client()
    fetch(client)
    # Until the end they may come: the consumer, which is ahead of our log, sees no difference.
    fetch(client, 1)
    assert both.shadow.report.of("Fetch").allowed == {LATER: 1}
    (found,) = both.end().of("Fetch").differences.values()
    assert found.difference.place == f"{TOPIC}-0 records[0]"


def test_an_offset_behind_our_log_is_a_difference_if_no_record_waits() -> None:
    both = clusters()
    store(Connection(both.real), "unread")
    fetch(both.client(), 1)
    assert both.shadow.report.of("Fetch").allowed == {}
    assert not both.end().is_same


@pytest.mark.parametrize("switch", ["true", "false"])
def test_the_time_of_a_dead_letter_may_differ_and_no_other_one(switch: str) -> None:
    both = clusters({TOPIC_SWITCH_KEY: switch})
    for number, broker in enumerate((both.real, both.shadow.broker)):
        store(Connection(broker), "dead", START_MS + number)
    fetch(both.client())
    report = both.end()
    assert (report.verdict == SAME) is (switch == "true")
    assert report.of("Fetch").allowed == ({DEAD_LETTER_TIME: 1} if switch == "true" else {})


def test_records_before_the_first_recorded_one_are_counted() -> None:
    both = clusters()
    for number in range(3):
        store(Connection(both.real), str(number))
    ours = both.shadow.broker.cluster
    for number in range(3):
        store(Connection(both.shadow.broker), str(number))
    topic = ours.topics.get(TOPIC)
    assert topic is not None
    ours.delete_records_before(topic.partitions[0], 2, START_MS)
    both.shadow.records.note_recorded((TOPIC, 0), [2], 3)
    fetch(both.client())
    report = both.end()
    assert report.verdict == SAME
    assert report.of("Fetch").allowed == {NOT_RECORDED: 1}
    assert (report.compared_records, report.records_left_out) == (1, 2)
