"""The methods for topics and records, also with real clients."""

import asyncio
import threading

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from mock_kafka import ControlError, MockKafka, Record


def test_records_returns_keys_values_headers_and_timestamps_as_sent(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    sent = producer.send(
        "orders", b"\xff\x00", b"k", headers=[("h", b"\xfe")], partition=1, timestamp_ms=1234
    )
    sent.get(30)
    producer.send("orders", None, b"k", partition=0).get(30)

    tombstone, record = kafka.records("orders")
    assert (tombstone.partition, tombstone.value) == (0, None)
    assert (record.topic, record.partition, record.offset) == ("orders", 1, 0)
    assert (record.key, record.value, record.timestamp_ms) == (b"k", b"\xff\x00", 1234)
    assert record.headers == (("h", b"\xfe"),)
    assert kafka.records("orders", partition=1) == [record]
    assert kafka.records("orders", partition=1, offset=1) == []
    assert kafka.records("orders", limit=1) == [tombstone]
    assert kafka.records("orders", limit=2) == kafka.records("orders", limit=3)


def test_records_of_an_unknown_topic_is_an_error_that_names_the_existing_topics(
    kafka: MockKafka,
) -> None:
    with pytest.raises(ControlError, match="no topic 'orders', and no other"):
        kafka.records("orders")
    kafka.create_topic("order")
    with pytest.raises(ControlError, match=r"did you mean order\?; there are: order$"):
        kafka.records("orders")
    with pytest.raises(ControlError, match="has partitions 0 to 0"):
        kafka.records("order", partition=7)


def test_a_topic_is_returned_by_its_name(kafka: MockKafka) -> None:
    kafka.create_topic("a.b", 2, config={"retention.ms": 5, "preallocate": True})
    topic = kafka.topic("a.b")
    assert topic == next(one for one in kafka.topics() if one.name == "a.b")
    assert topic.config == {"retention.ms": "5", "preallocate": "true"}
    with pytest.raises(ControlError, match=r"no topic 'a'; there are: a.b$"):
        kafka.topic("a")


def test_a_consumer_reads_what_was_produced_without_a_producer(kafka: MockKafka) -> None:
    stored = kafka.produce("orders", b"\xff", "two", None, key="k", headers={"h": "v"})
    assert stored == kafka.records("orders")
    assert [record.offset for record in stored] == [0, 1, 2]

    consumer = KafkaConsumer(
        "orders", bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest"
    )
    read = [next(consumer) for _ in range(3)]
    consumer.close()
    assert [(record.key, record.value) for record in read] == [
        (b"k", b"\xff"),
        (b"k", b"two"),
        (b"k", None),
    ]
    assert read[0].headers == [("h", b"v")]


def test_produce_has_a_partition_a_timestamp_and_repeated_headers(kafka: MockKafka) -> None:
    kafka.create_topic("orders", 3)
    headers = (("h", b"1"), ("h", None))
    stored = kafka.produce("orders", b"v", headers=headers, partition=2, timestamp_ms=7)
    assert stored == [Record("orders", 2, 0, 7, None, b"v", headers)]
    assert stored == kafka.records("orders")
    assert kafka.produce("orders") == []


def test_a_record_that_a_broker_refuses_is_an_error(kafka: MockKafka) -> None:
    kafka.create_topic("orders", 1)
    with pytest.raises(ControlError, match=r"UNKNOWN_TOPIC_OR_PARTITION.*0 to 0, not 5"):
        kafka.produce("orders", b"v", partition=5)
    with pytest.raises(ControlError, match="MESSAGE_TOO_LARGE"):
        kafka.produce("orders", b"v" * 2_000_000)
    assert kafka.records("orders") == []


def test_wait_for_records_returns_when_a_producer_has_written_them(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    found: list[list[Record]] = []
    thread = threading.Thread(target=lambda: found.append(kafka.wait_for_records("orders", 3)))
    thread.start()
    for value in (b"1", b"2", b"3"):
        producer.send("orders", value).get(30)
    thread.join()
    [records] = found
    assert sorted(record.value or b"" for record in records) == [b"1", b"2", b"3"]


async def test_a_task_waits_for_records_beside_the_event_loop(kafka: MockKafka) -> None:
    waiting = asyncio.create_task(kafka.aio.wait_for_records("orders"))
    [stored] = await kafka.aio.produce("orders", b"one coffee")
    assert await waiting == [stored]


def test_the_timeout_of_wait_for_records_says_how_many_there_were(kafka: MockKafka) -> None:
    kafka.produce("orders", b"1", partition=0)
    with pytest.raises(TimeoutError, match="'orders' had 1 of 2 records"):
        kafka.wait_for_records("orders", 2, timeout_s=0.01)
    with pytest.raises(TimeoutError, match=r"'order' did not exist .* the cluster has orders"):
        kafka.wait_for_records("order", timeout_s=0.01)


def test_committed_offsets_and_lag_are_those_of_a_consumer(kafka: MockKafka) -> None:
    kafka.create_topic("orders", 2)
    kafka.produce("orders", *"abc", partition=0)
    kafka.produce("orders", *"de", partition=1)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="billing")
    first = TopicPartition("orders", 0)
    consumer.assign([first])
    consumer.commit({first: OffsetAndMetadata(2, "", -1)})
    consumer.close(autocommit=False)

    assert kafka.committed("billing") == {("orders", 0): 2}
    assert kafka.lag("billing") == {("orders", 0): 1, ("orders", 1): 2}
    assert kafka.lag("billing", "orders") == kafka.lag("billing")
    assert kafka.lag("billing", "payments") == kafka.committed("billing", "payments") == {}
    with pytest.raises(ControlError, match="no group 'bill'"):
        kafka.lag("bill")


def test_records_are_deleted_and_a_group_goes_on_elsewhere(kafka: MockKafka) -> None:
    kafka.create_topic("orders", 2)
    for partition in (0, 1):
        kafka.produce("orders", b"1", b"2", b"3", partition=partition, timestamp_ms=5_000)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="billing")
    first = TopicPartition("orders", 0)
    consumer.assign([first])
    consumer.commit({first: OffsetAndMetadata(3, "", -1)})
    consumer.close(autocommit=False)
    kafka.delete_records("orders", 0, 1)
    assert [record.offset for record in kafka.records("orders", 0)] == [1, 2]
    reset = kafka.reset_offsets("billing", "orders", to="earliest")
    assert reset == kafka.committed("billing") == {("orders", 0): 1, ("orders", 1): 0}
    assert kafka.reset_offsets("billing", offset=2) == {("orders", 0): 2, ("orders", 1): 2}
    moved = kafka.reset_offsets("billing", "orders", 1, timestamp_ms=5_001)
    assert moved == {("orders", 0): 2, ("orders", 1): 3}
    kafka.delete_records("orders")
    assert kafka.records("orders") == []
    with pytest.raises(ControlError, match="OFFSET_OUT_OF_RANGE: partition 0 of 'orders'"):
        kafka.delete_records("orders", 0, 9)
    with pytest.raises(ControlError, match="give one of to, offset and timestamp"):
        kafka.reset_offsets("billing")


def test_a_log_loses_its_end_and_gets_a_gap_and_a_marker(kafka: MockKafka) -> None:
    kafka.create_topic("orders", 1)
    kafka.produce("orders", b"1", b"2", b"3")
    assert kafka.truncate("orders", 0, 2).log_end_offset == 2
    assert kafka.leave_gap("orders", count=3).log_end_offset == 5
    assert kafka.append_control_record("orders", kind="abort").log_end_offset == 6
    kafka.produce("orders", b"4")
    assert [record.offset for record in kafka.records("orders")] == [0, 1, 6]
    with pytest.raises(ControlError, match="partition 0 of 'orders' has offsets 0 to 7"):
        kafka.truncate("orders", 0, 8)


def test_a_paused_follower_is_behind_until_it_is_resumed(kafka: MockKafka) -> None:
    kafka.create_topic("orders", 1, 2)
    first = kafka.topic("orders").partitions[0]
    (follower,) = set(first.replicas) - {first.leader}
    kafka.pause_follower("orders", 0, follower)
    kafka.produce("orders", b"1")
    paused = kafka.topic("orders").partitions[0]
    assert (paused.replica_ends, paused.paused_followers) == ({follower: 0}, (follower,))
    resumed = kafka.resume_follower("orders", 0, follower)
    assert (resumed.replica_ends, set(resumed.isr)) == ({}, set(first.replicas))


def test_a_topic_is_compacted_now_and_what_was_removed_is_said(kafka: MockKafka) -> None:
    day_ms = 24 * 3_600_000
    config: dict[str, str | float] = {"cleanup.policy": "compact", "delete.retention.ms": day_ms}
    kafka.create_topic("table", 1, config=config)
    for key in ("a", "b"):
        kafka.produce("table", b"1", b"2", key=key)
    kafka.produce("table", None, key="a")

    (compacted,) = kafka.compact("table")

    assert (compacted.topic, compacted.partition) == ("table", 0)
    assert (compacted.removed_records, compacted.cleaned_until) == (3, 5)
    assert compacted.freed_bytes > 0
    assert [record.offset for record in kafka.records("table")] == [3, 4]
    kafka.advance(ms=day_ms)
    assert kafka.compact("table", 0)[0].removed_records == 1
    assert [record.offset for record in kafka.records("table")] == [3]
    assert kafka.compact("table")[0].removed_records == 0
    kafka.produce("table", b"3", key="b")
    assert [record.offset for record in kafka.records("table")] == [3, 5]
    assert kafka.compact("table")[0].removed_records == 1
    with pytest.raises(ControlError, match="no topic 'tables'"):
        kafka.compact("tables")
