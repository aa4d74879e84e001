"""What a client does with a real cluster is played with our broker, and compared."""

from typing import Any

from protocol.errors import ErrorCode
from proxy.diff.report import SAME
from proxy.diff.timing import LASTING_MS_MIN
from tests.proxy.diff.real_cluster import START_MS, BothClusters, Client, Connection

TOPIC = "orders"
JOIN = {
    "group_id": "billing",
    "session_timeout_ms": 45_000,
    "rebalance_timeout_ms": 60_000,
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": "m"}],
}


def batch(*values: str, **fields: Any) -> dict[str, Any]:
    records = [["k", value] for value in values]
    return {"batches": [{"records": records, "timestamp": START_MS, **fields}]}


def produce(client: Client, records: dict[str, Any], **fields: Any) -> Any:
    partitions = [{"index": 0, "records": records}]
    topics = [{"name": TOPIC, "partition_data": partitions}]
    return client.send("Produce", 9, **{"acks": -1, "timeout_ms": 9, "topic_data": topics} | fields)


def fetch(client: Client, offset: int = 0, **fields: Any) -> Any:
    partition = {
        "partition": 0,
        "fetch_offset": offset,
        "partition_max_bytes": 1 << 20,
        "current_leader_epoch": -1,
    }
    arguments = {
        "replica_id": -1,
        "max_bytes": 1 << 20,
        "session_epoch": -1,
        "topics": [{"topic": TOPIC, "partitions": [partition]}],
    }
    return client.ask("Fetch", 12, **arguments | fields)


def with_topic() -> BothClusters:
    both = BothClusters()
    topics = [{"name": TOPIC, "num_partitions": 1, "replication_factor": 1}]
    created = both.client().ask("CreateTopics", 7, topics=topics, timeout_ms=1000)
    assert created["topics"][0]["error_code"] == 0
    return both


def differences(both: BothClusters) -> list[str]:
    return [line for line in both.end().lines() if line.startswith("DIFFERENT")]


def test_what_is_produced_and_fetched_is_the_same() -> None:
    both = with_topic()
    client = both.client()
    client.ask("Metadata", 12, topics=[{"name": TOPIC}])
    assert produce(client, batch("one", "two"))()["responses"]
    assert fetch(client)["responses"][0]["partitions"][0]["records"]
    report = both.end()
    assert report.lines()[-1] == SAME
    assert report.compared_records == 2


def test_a_field_that_the_cluster_answers_otherwise_is_shown_with_its_request() -> None:
    both = with_topic()
    both.fail(api="ListOffsets", response={"topics": {"partitions": {"offset": 7}}})
    partitions = [{"partition_index": 0, "timestamp": -2}]
    both.client().ask(
        "ListOffsets", 7, replica_id=-1, topics=[{"name": TOPIC, "partitions": partitions}]
    )
    report = both.end()
    (found,) = report.of("ListOffsets").differences.values()
    assert found.difference.place == f"topics[{TOPIC}].partitions[0].offset"
    assert (found.difference.kafka, found.difference.ours) == (7, 0)
    assert found.request["version"] == 7
    assert not report.is_same
    assert "50.00 %" in report.verdict


def test_an_error_of_the_cluster_is_shown() -> None:
    both = with_topic()
    both.fail(api="Produce", error="INVALID_RECORD")
    produce(both.client(), batch("one"))
    places = [line.partition(": ")[2].partition(":")[0] for line in differences(both)]
    assert f"Produce responses[{TOPIC}].partition_responses[0].error_code" in places


def test_a_record_with_another_value_is_shown_by_its_offset() -> None:
    both = with_topic()
    partitions = [{"index": 0, "records": batch("zero")}]
    topics = [{"name": TOPIC, "partition_data": partitions}]
    Connection(both.shadow.broker).ask("Produce", 9, acks=-1, timeout_ms=9, topic_data=topics)
    client = both.client()
    produce(client, batch("one"))
    fetch(client)
    report = both.end()
    (found,) = report.of("Fetch").differences.values()
    assert found.difference.place == f"{TOPIC}-0 records[0].value"
    assert (found.difference.kafka, found.difference.ours) == ("one", "zero")
    assert set(report.of("Produce").differences) == {
        "Produce responses[].partition_responses[].base_offset"
    }


def test_what_the_cluster_could_not_do_yet_is_not_played() -> None:
    both = with_topic()
    both.fail(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=1)
    client = both.client()
    produce(client, batch("one"))
    produce(client, batch("one"))
    report = both.end()
    assert report.verdict == SAME
    assert report.of("Produce").not_compared == {
        "the cluster was not ready: NOT_LEADER_OR_FOLLOWER": 1
    }
    assert both.shadow.broker.log_end_offset(TOPIC, 0) == 1


def test_an_open_transaction_is_aborted_by_the_init_that_the_client_repeats() -> None:
    both = with_topic()
    first, second = both.client(), both.client()
    init = {"transactional_id": "payments", "transaction_timeout_ms": 60_000}
    init |= {"producer_id": -1, "producer_epoch": -1}
    first.ask("FindCoordinator", 2, key="payments", key_type=1)
    opened = first.ask("InitProducerId", 4, **init)
    first.ask(
        "AddPartitionsToTxn", 3, v3_and_below_transactional_id="payments",
        v3_and_below_producer_id=opened["producer_id"],
        v3_and_below_producer_epoch=opened["producer_epoch"],
        v3_and_below_topics=[{"name": TOPIC, "partitions": [0]}],
    )  # fmt: skip
    codes = [second.ask("InitProducerId", 4, **init)["error_code"] for _ in range(2)]
    assert codes == [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NONE]
    report = both.end()
    assert report.verdict == SAME
    assert report.of("InitProducerId").same == 2


def test_batches_of_two_connections_are_stored_in_the_order_of_the_cluster() -> None:
    both = with_topic()
    first, second = both.client(), both.client()
    first.holds_responses = True
    produce(first, batch("one"))
    produce(second, batch("two"))
    first.release()
    fetch(second)
    report = both.end()
    assert report.verdict == SAME
    assert report.compared_records == 2


def test_a_batch_without_a_response_is_played_when_a_later_offset_shows_that_it_was_stored() -> (
    None
):
    both = with_topic()
    lost, other = both.client(), both.client()
    lost.holds_responses = True
    produce(lost, batch("one"))
    lost.close()
    produce(other, batch("two"))
    fetch(other)
    report = both.end()
    assert report.verdict == SAME
    assert report.compared_records == 2


def test_a_group_of_two_members_has_other_ids_in_both_clusters() -> None:
    both = with_topic()
    first, second = both.client(), both.client()
    first.ask("FindCoordinator", 4, key_type=0, coordinator_keys=["billing"])
    member_id = first.ask("JoinGroup", 7, member_id="", **JOIN)["member_id"]
    joined = first.send("JoinGroup", 7, member_id=member_id, **JOIN)
    other_id = second.ask("JoinGroup", 7, member_id="", **JOIN)["member_id"]
    other_joined = second.send("JoinGroup", 7, member_id=other_id, **JOIN)
    both.run(100)
    generation_id = joined()["generation_id"]
    rejoined = first.send("JoinGroup", 7, member_id=member_id, **JOIN)
    both.run(100)
    answer = rejoined()
    generation_id = answer["generation_id"]
    assert other_joined()["generation_id"] == generation_id
    assignments = [{"member_id": one, "assignment": one[:4]} for one in (member_id, other_id)]
    sync = {"group_id": "billing", "generation_id": generation_id, "protocol_type": "consumer"}
    waiting = second.send("SyncGroup", 5, member_id=other_id, protocol_name="range", **sync)
    both.run(100)
    first.ask(
        "SyncGroup", 5, member_id=member_id, protocol_name="range", assignments=assignments, **sync
    )
    both.run(100)
    assert waiting()["error_code"] == 0
    beat = {"group_id": "billing", "generation_id": generation_id, "member_id": member_id}
    assert first.ask("Heartbeat", 4, **beat)["error_code"] == 0
    report = both.end()
    assert report.verdict == SAME
    assert report.of("JoinGroup").same == 5


def test_transactions_end_alike_under_other_producer_ids() -> None:
    both = with_topic()
    both.client().ask("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000)
    # The real cluster has handed out ids before the comparison began.
    both.real.cluster.producer_ids.next_id(1)
    client = both.client()
    client.ask("FindCoordinator", 4, key_type=1, coordinator_keys=["t"])
    made = client.ask("InitProducerId", 4, transactional_id="t", transaction_timeout_ms=60_000)
    for number, is_committed in enumerate((True, False, True)):
        names = {"producer_id": made["producer_id"], "producer_epoch": made["producer_epoch"]}
        topics = [{"name": TOPIC, "partitions": [0]}]
        client.ask(
            "AddPartitionsToTxn",
            3,
            v3_and_below_transactional_id="t",
            v3_and_below_topics=topics,
            **{f"v3_and_below_{name}": value for name, value in names.items()},
        )
        records = batch("x", is_transactional=True, base_sequence=number, **names)
        produce(client, records, transactional_id="t")
        client.ask("EndTxn", 3, transactional_id="t", committed=is_committed, **names)
    fetch(client, isolation_level=1)
    report = both.end()
    assert report.verdict == SAME
    assert report.compared_records == 6


def test_a_heartbeat_may_hear_of_a_rebalance_later_but_not_for_ever() -> None:
    both = with_topic()
    client = both.client()
    client.ask("FindCoordinator", 4, key_type=0, coordinator_keys=["billing"])
    member_id = client.ask("JoinGroup", 7, member_id="", **JOIN)["member_id"]
    generation_id = client.ask("JoinGroup", 7, member_id=member_id, **JOIN)["generation_id"]
    beat = {"group_id": "billing", "generation_id": generation_id, "member_id": member_id}
    client.ask("SyncGroup", 5, protocol_type="consumer", protocol_name="range", **beat)
    both.fail(api="Heartbeat", error="REBALANCE_IN_PROGRESS", times=1)
    client.ask("Heartbeat", 4, **beat)
    client.ask("Heartbeat", 4, **beat)
    assert both.shadow.report.is_same
    both.fail(api="Heartbeat", error="REBALANCE_IN_PROGRESS")
    for _ in range(3):
        client.ask("Heartbeat", 4, **beat)
        both.run(LASTING_MS_MIN)
    (found,) = both.end().of("Heartbeat").differences.values()
    assert found.difference.kafka == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_version_that_our_broker_does_not_serve_is_a_difference() -> None:
    both = BothClusters()
    routes: Any = both.shadow.broker.cluster.routes[1]
    routes.clear()
    both.client().ask("ListGroups", 4)
    assert any("closed" in line for line in differences(both))


def test_a_produce_request_without_acks_is_played() -> None:
    both = with_topic()
    client = both.client()
    produce(client, batch("one"), acks=0)
    fetch(client)
    report = both.end()
    assert report.verdict == SAME
    assert report.of("Produce").not_compared == {"it has no response (acks=0)": 1}


def test_nothing_is_no_agreement() -> None:
    report = BothClusters().end()
    assert not report.is_same
    assert report.verdict.startswith("nothing was compared")
