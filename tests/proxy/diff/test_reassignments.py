"""A reassignment ends in our broker when it ends in the real cluster."""

from typing import Any

import pytest

from broker.cluster.replicas import complete_reassignment
from broker.cluster.topics import Partition
from protocol.errors import ErrorCode
from proxy.diff.reassignments import REASSIGNING, hold_reassignments
from proxy.diff.report import SAME
from tests.proxy.diff.real_cluster import START_MS, BothClusters, Client

TOPIC = "orders"
REPLICAS, TARGET = [1, 2], [3, 1]
ELECTION = {"election_type": 0, "timeout_ms": 1000}


def reassigning(*, takes_time: bool) -> tuple[BothClusters, Client]:
    """Return clusters of three brokers, in which a reassignment was requested."""
    both = BothClusters(broker_count=3)
    if takes_time:
        hold_reassignments(both.real.cluster)
    client = both.client()
    assignments = [{"partition_index": 0, "broker_ids": REPLICAS}]
    created = {"name": TOPIC, "num_partitions": -1, "replication_factor": -1}
    client.ask("CreateTopics", 7, topics=[{**created, "assignments": assignments}], timeout_ms=9)
    client.ask("Metadata", 12, topics=[{"name": TOPIC}])
    assert move(client, TARGET) == 0
    return both, client


def move(client: Client, replicas: list[int] | None) -> int:
    partitions = [{"partition_index": 0, "replicas": replicas}]
    topics = [{"name": TOPIC, "partitions": partitions}]
    answer = client.ask("AlterPartitionReassignments", 0, topics=topics, timeout_ms=9)
    code: int = answer["responses"][0]["partitions"][0]["error_code"]
    return code


def elect(client: Client) -> int:
    topics = [{"topic": TOPIC, "partitions": [0]}]
    answer = client.ask("ElectLeaders", 2, topic_partitions=topics, **ELECTION)
    code: int = answer["replica_election_results"][0]["partition_result"][0]["error_code"]
    return code


def listed(client: Client, topics: Any = None) -> Any:
    return client.ask("ListPartitionReassignments", 0, topics=topics, timeout_ms=9)["topics"]


def partition_of(broker: Any) -> Partition:
    topic = broker.cluster.topics.get(TOPIC)
    assert topic is not None
    found: Partition = topic.partitions[0]
    return found


def test_one_that_takes_time_is_listed_and_elects_nobody_alike() -> None:
    both, client = reassigning(takes_time=True)
    (shown,) = listed(client)
    assert shown["partitions"][0]["adding_replicas"] == [3]
    assert elect(client) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert partition_of(both.shadow.broker).leader_id == 1
    report = both.end()
    assert report.verdict == SAME
    assert report.of("ElectLeaders").allowed == {}


@pytest.mark.parametrize("topics", [None, [{"name": TOPIC, "partition_indexes": [0]}]])
def test_one_that_is_not_listed_any_more_has_ended(topics: Any) -> None:
    both, client = reassigning(takes_time=False)
    assert partition_of(both.shadow.broker).removing_replicas == (2,)
    assert listed(client, topics) == []
    assert partition_of(both.shadow.broker).replicas == tuple(TARGET)
    assert both.end().verdict == SAME


def test_metadata_with_the_new_replicas_ends_it() -> None:
    both, client = reassigning(takes_time=True)
    client.ask("Metadata", 12, topics=[{"name": TOPIC}])
    assert partition_of(both.shadow.broker).removing_replicas == (2,)
    both.real.cluster.quotas.replication.is_held = False
    complete_reassignment(both.real.cluster, partition_of(both.real), START_MS)
    client.ask("Metadata", 12, topics=[{"name": TOPIC}])
    assert partition_of(both.shadow.broker).removing_replicas == ()
    assert partition_of(both.shadow.broker).replicas == tuple(TARGET)
    assert both.end().verdict == SAME


def test_an_election_may_find_the_preferred_leader_in_sync_earlier_and_no_other_error() -> None:
    both, client = reassigning(takes_time=False)
    assert elect(client) == ErrorCode.NONE
    assert both.shadow.report.of("ElectLeaders").allowed == {REASSIGNING: 2}
    both.fail(api="ElectLeaders", error="INVALID_REPLICA_ASSIGNMENT")
    elect(client)
    assert not both.end().is_same


def test_an_election_may_not_differ_when_the_reassignment_has_ended() -> None:
    both, client = reassigning(takes_time=False)
    listed(client)
    both.fail(api="ElectLeaders", error="PREFERRED_LEADER_NOT_AVAILABLE")
    elect(client)
    report = both.end()
    assert not report.is_same
    assert report.of("ElectLeaders").allowed == {}


def test_a_cancelled_one_returns_to_the_replicas_of_before() -> None:
    both, client = reassigning(takes_time=True)
    assert move(client, None) == 0
    assert partition_of(both.shadow.broker).replicas == tuple(REPLICAS)
    assert listed(client) == []
    assert both.end().verdict == SAME


def test_one_that_another_client_has_begun_is_known_when_it_is_listed() -> None:
    both, client = reassigning(takes_time=True)
    ours = partition_of(both.shadow.broker)
    both.shadow.broker.cluster.set_replicas(ours, REPLICAS, START_MS)
    assert len(listed(client)) == 1
    assert (ours.adding_replicas, ours.removing_replicas) == ((3,), (2,))
    assert both.end().verdict == SAME
