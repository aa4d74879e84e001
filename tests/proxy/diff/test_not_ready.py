"""A part of a request that the cluster could not do yet is not compared."""

from proxy.diff.report import SAME
from tests.proxy.diff.real_cluster import BothClusters

TOPIC = "orders"
EARLIEST = -2


def test_the_fields_beside_such_an_error_may_differ_and_other_partitions_may_not() -> None:
    both = BothClusters()
    topics = [{"name": TOPIC, "num_partitions": 2, "replication_factor": 1}]
    client = both.client()
    client.ask("CreateTopics", 7, topics=topics, timeout_ms=1000)
    partitions = [{"partition_index": n, "timestamp": EARLIEST} for n in (0, 1)]
    both.fail(api="ListOffsets", partition=1, error="NOT_LEADER_OR_FOLLOWER", times=1)
    listed = client.ask(
        "ListOffsets", 7, replica_id=-1, topics=[{"name": TOPIC, "partitions": partitions}]
    )
    assert [part["offset"] for part in listed["topics"][0]["partitions"]] == [0, -1]
    reason = "the cluster was not ready: NOT_LEADER_OR_FOLLOWER"
    assert both.shadow.report.of("ListOffsets").allowed[reason] >= 2
    assert both.shadow.report.verdict == SAME
    changed = {"topics": {"partitions": {"offset": 7}}}
    both.fail(api="ListOffsets", partition=0, response=changed)
    client.ask("ListOffsets", 7, replica_id=-1, topics=[{"name": TOPIC, "partitions": partitions}])
    (found,) = both.end().of("ListOffsets").differences.values()
    assert found.difference.place == f"topics[{TOPIC}].partitions[0].offset"
