"""Batches without a response are in our log when a later response shows that they were stored."""

from typing import Any

import pytest

from protocol.errors import ErrorCode
from proxy.diff.lost_batches import LATE, ORDER_WAIT_MS_MAX
from proxy.diff.report import SAME
from tests.proxy.diff.real_cluster import START_MS, BothClusters, Client, Connection

TOPIC = "orders"
Batch = dict[str, Any]


def batch(value: str, sequence: int = 0) -> Batch:
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
    return {"batches": [{"records": [["k", value]], "timestamp": START_MS, **producer}]}


def request(records: Batch, *, is_other: bool = False) -> dict[str, Any]:
    partitions = [{"index": int(is_other), "records": records}]
    topics = [{"name": TOPIC, "partition_data": partitions}]
    return {"acks": -1, "timeout_ms": 9, "topic_data": topics}


def fetch(client: Client, offset: int) -> Any:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    partition["current_leader_epoch"] = -1
    topics = [{"topic": TOPIC, "partitions": [partition]}]
    session = {"replica_id": -1, "max_bytes": 1 << 20, "session_epoch": -1}
    answer = client.ask("Fetch", 12, topics=topics, **session)
    return answer["responses"][0]["partitions"][0]


def clusters() -> BothClusters:
    both = BothClusters(broker_count=2)
    assignments = [{"partition_index": n, "broker_ids": [1, 2]} for n in (0, 1)]
    created = {"name": TOPIC, "num_partitions": -1, "replication_factor": -1}
    topics = [{**created, "assignments": assignments}]
    client = both.client()
    client.ask("CreateTopics", 7, topics=topics, timeout_ms=1000)
    client.ask("Metadata", 12, topics=[{"name": TOPIC}])
    return both


def lose(both: BothClusters, records: Batch, *, is_stored: bool = True) -> None:
    """Send a request whose response does not come."""
    client = both.client()
    client.holds_responses = True
    if not is_stored:
        both.fail(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=1)
    client.send("Produce", 9, **request(records))
    client.close()


def end_offset(both: BothClusters) -> int | None:
    return both.shadow.broker.log_end_offset(TOPIC, 0)


def test_one_that_a_consumer_has_read_is_stored_a_moment_later() -> None:
    both = clusters()
    lose(both, batch("one"))
    assert end_offset(both) == 0
    reader = both.client()
    assert fetch(reader, 0)["records"]
    # The consumer goes on before our log has the record.
    assert fetch(reader, 1)["error_code"] == ErrorCode.NONE
    both.run(ORDER_WAIT_MS_MAX)
    assert end_offset(both) == 1
    report = both.end()
    assert report.verdict == SAME
    assert report.compared_records == 1


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("is_stored", [False, True])
def test_one_that_is_sent_again_is_a_duplicate_if_the_cluster_says_so(
    *, is_stored: bool, is_read: bool
) -> None:
    both = clusters()
    lose(both, batch("one"), is_stored=is_stored)
    again = both.client()
    again.holds_responses = True
    again.send("Produce", 9, **request(batch("one")))
    if is_read:
        # A consumer may read the record before the response to the second request comes.
        assert fetch(both.client(), 0)["records"]
    again.release()
    both.client().ask("Produce", 9, **request(batch("two", 1)))
    assert end_offset(both) == 2
    report = both.end()
    assert report.verdict == SAME
    assert report.of("Produce").same == 2


def test_one_that_nothing_shows_is_not_stored() -> None:
    both = clusters()
    lose(both, batch("one"), is_stored=False)
    both.client().ask("Produce", 9, **request(batch("other"), is_other=True))
    both.run(ORDER_WAIT_MS_MAX)
    assert end_offset(both) == 0
    assert both.end().verdict == SAME


def test_it_may_be_in_the_epoch_of_a_later_leader() -> None:
    both = clusters()
    lose(both, batch("one"))
    real = both.real.cluster
    partition = real.topics.get(TOPIC).partitions[0]  # type: ignore[union-attr]
    real.set_leader(partition, 2, START_MS)
    both.client().ask("Metadata", 12, topics=[{"name": TOPIC}])
    at_leader = both.client(node_id=2)
    at_leader.ask("Produce", 9, **request(batch("one")))
    at_leader.ask("Produce", 9, **request(batch("two", 1)))
    partitions = [{"partition": 0, "current_leader_epoch": 1, "leader_epoch": 0}]
    topics = [{"topic": TOPIC, "partitions": partitions}]
    ask = {"replica_id": -1, "topics": topics}
    (found,) = at_leader.ask("OffsetForLeaderEpoch", 4, **ask)["topics"]
    assert found["partitions"][0]["end_offset"] == 1
    report = both.end()
    assert report.verdict == SAME
    assert report.of("OffsetForLeaderEpoch").allowed == {LATE: 1}


def test_another_end_of_an_epoch_is_shown() -> None:
    both = clusters()
    client = both.client()
    client.ask("Produce", 9, **request(batch("one")))
    both.fail(api="OffsetForLeaderEpoch", response={"topics": {"partitions": {"leader_epoch": 3}}})
    partitions = [{"partition": 0, "current_leader_epoch": 0, "leader_epoch": 0}]
    topics = [{"topic": TOPIC, "partitions": partitions}]
    client.ask("OffsetForLeaderEpoch", 4, replica_id=-1, topics=topics)
    assert not both.end().is_same


def test_a_batch_of_another_partition_does_not_come_before() -> None:
    both = clusters()
    lose(both, batch("one"))
    Connection(both.real).ask("Produce", 9, **request(batch("unseen"), is_other=True))
    both.client().ask("Produce", 9, **request(batch("two", 0), is_other=True))
    both.run(ORDER_WAIT_MS_MAX)
    assert end_offset(both) == 0
