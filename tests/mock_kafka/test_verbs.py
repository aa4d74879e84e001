"""The verbs against a running cluster, moved by raw requests and one real client."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import NotEnoughReplicasError

from mock_kafka import DEFAULT, ControlError, MockKafka

EXAMPLE = """
from kafka import KafkaProducer
from mock_kafka import MockKafka

with MockKafka(brokers=3, config={"num.partitions": 1}) as kafka:
    kafka.quota(user="ANONYMOUS", producer_ids_rate=50)
    kafka.drop_response(api="Produce", times=1)            # appended, never answered
    kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2)
    kafka.delay(api="Metadata", ms=20)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    assert producer.send("orders", b"1").get(30).offset == 0
    assert [r.value for r in kafka.records("orders")] == [b"1"]   # once
    assert len(kafka.requests(api="Produce")) == 4
    kafka.advance(seconds=3600)                            # an hour, in milliseconds
"""


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[MockKafka]:
    with MockKafka(brokers=3) as kafka:
        yield kafka


@pytest.fixture
def kafka(shared_cluster: MockKafka) -> MockKafka:
    shared_cluster.reset()
    return shared_cluster


@pytest.fixture
def producer(kafka: MockKafka) -> Iterator[KafkaProducer]:
    kafka.create_topic("orders", 2)
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, client_id="till", retry_backoff_ms=10
    )
    yield producer
    producer.close()


@pytest.mark.interop
def test_what_users_write_runs_as_it_stands(tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(EXAMPLE)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_records_are_bytes_with_all_that_was_sent(
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


def test_records_of_a_topic_that_is_not_there_name_those_that_are(kafka: MockKafka) -> None:
    with pytest.raises(ControlError, match="no topic 'orders'; the cluster has no topic yet"):
        kafka.records("orders")
    kafka.create_topic("order")
    with pytest.raises(ControlError, match=r"'orders'; the cluster has order$"):
        kafka.records("orders")
    with pytest.raises(ControlError, match="has partitions 0 to 0"):
        kafka.records("order", partition=7)


def test_a_fault_counts_and_is_removed(kafka: MockKafka, producer: KafkaProducer) -> None:
    fault = kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2, topic="orders")
    other = kafka.delay(api="Heartbeat", ms=1, jitter_ms=2)
    producer.send("orders", b"1").get(30)

    assert (fault.count, fault.match_count, fault.is_used_up) == (2, 2, True)
    assert [each.id for each in kafka.faults()] == [fault.id, other.id]
    assert len(kafka.requests(api="Produce", error="NOT_ENOUGH_REPLICAS")) == 2
    other.remove()
    with pytest.raises(LookupError, match="removed"):
        _ = other.count
    kafka.clear_faults()
    assert kafka.faults() == []


def test_responses_are_given_in_place_of_the_real_ones(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    offsets = {"responses": {"partition_responses": {"base_offset": 41}}}
    kafka.respond(api="Produce", response=offsets, times=1)
    assert producer.send("orders", b"done", partition=0).get(30).offset == 41
    kafka.respond(api="Produce", response=offsets, handle=False, times=1)
    assert producer.send("orders", b"not done", partition=0).get(30).offset == 41
    assert [each.value for each in kafka.records("orders")] == [b"done"]
    (first, second) = kafka.requests(api="Produce", fault="response")
    assert first.response["responses"][0]["partition_responses"][0]["base_offset"] == 41
    assert second.fault is not None

    with pytest.raises(ControlError, match=r"response: coordinator: .* did you mean coordinators"):
        kafka.respond(api="FindCoordinator", response={"coordinator": {"node_id": 3}})


def test_a_response_is_dropped_after_the_append_and_a_request_before(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    lost = kafka.drop_response(api="Produce", times=1, partition=0)
    unseen = kafka.drop_request(api="Produce", times=1, partition=1)
    producer.send("orders", b"a", partition=0).get(30)
    producer.send("orders", b"b", partition=1).get(30)

    assert (lost.count, unseen.count) == (1, 1)
    assert [each.value for each in kafka.records("orders")] == [b"a", b"b"]
    assert len(kafka.requests(outcome="closed", api="Produce")) == 2


@pytest.mark.parametrize("after_bytes", [None, 3])
def test_every_verb_of_faults_makes_the_rule_that_it_says(
    kafka: MockKafka, after_bytes: int | None
) -> None:
    kafka.create_topic("t")
    made = [
        kafka.fail(api="Fetch", error="UNKNOWN_SERVER_ERROR", at="before_response", nth=2),
        kafka.delay(ms=5, every=3),
        kafka.delay(ms=5, at="before_handling", client_id="c"),
        kafka.hang(api="Produce", at="before_handling", skip=1),
        kafka.throttle(api="Metadata", throttle_time_ms=7, mute=False, user="alice"),
        kafka.drop_response(after_bytes=after_bytes, probability=0.5, seed=3),
        kafka.add_fault(topic="t", leader="none", at_once=True),
    ]
    dropped = {"drop": "before_response"} if after_bytes is None else {"drop_after_bytes": 3}
    wanted: list[dict[str, object]] = [
        {"api": "Fetch", "error": "UNKNOWN_SERVER_ERROR", "at": "before_response", "nth": 2},
        {"delay_ms": 5, "every": 3},
        {"delay_request_ms": 5, "client_id": "c"},
        {"api": "Produce", "hang": "before_handling", "skip": 1},
        {"api": "Metadata", "throttle_time_ms": 7, "mute": False, "user": "alice"},
        {**dropped, "probability": 0.5, "seed": 3},
        {"topic": "t", "leader": "none", "at_once": True},
    ]
    for fault, rule in zip(made, wanted, strict=True):
        assert fault.rule.items() >= rule.items(), fault


def test_a_wrong_word_is_refused_with_the_nearest_that_would_do(kafka: MockKafka) -> None:
    with pytest.raises(ControlError, match="NOT_ENOUGH_REPLICAS"):
        kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICA")
    with pytest.raises(ControlError, match="did you mean topic"):
        kafka.add_fault(topik="orders", error="UNKNOWN_SERVER_ERROR")
    with pytest.raises(ControlError, match="partition: Heartbeat names none"):
        kafka.fail(api="Heartbeat", partition=1, error="REBALANCE_IN_PROGRESS")
    with pytest.raises(ControlError, match="topic: there is no topic t yet"):
        kafka.add_fault(topic="t", leader="none", at_once=True)
    with pytest.raises(ControlError, match="did you mean Produce"):
        kafka.requests(api="Prodce")
    with pytest.raises(ControlError, match="did you mean Produce"):
        kafka.wait_for(api="Prodce")
    with pytest.raises(ControlError, match="there are 1, 2, 3"):
        kafka.stop_broker(4)
    with pytest.raises(ControlError, match="seconds"):
        kafka.advance()


def test_an_error_that_lasts_reaches_the_caller(kafka: MockKafka) -> None:
    kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS")
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, retries=0, enable_idempotence=False
    )
    with pytest.raises(NotEnoughReplicasError):
        producer.send("orders", b"1").get(30)
    producer.close()
    assert kafka.records("orders") == []


def test_time_stands_and_is_moved(kafka: MockKafka) -> None:
    kafka.set_clock("standing")
    start_ms = kafka.now_ms()
    assert kafka.advance(seconds=3600) == start_ms + 3_600_000
    assert kafka.advance(ms=5) == kafka.now_ms() == start_ms + 3_600_005
    kafka.set_clock("scaled", 60)
    with pytest.raises(ControlError, match="factor"):
        kafka.set_clock("scaled")


def test_brokers_stop_and_leaders_move(kafka: MockKafka) -> None:
    [partition] = kafka.create_topic("orders", 1, 2).partitions
    leader, follower = partition.replicas

    kafka.stop_broker(leader)
    [partition] = kafka.topics()[0].partitions
    assert (partition.leader, partition.isr) == (follower, (follower,))
    kafka.start_broker(leader)
    kafka.isolate_broker(follower, elect=True)
    assert kafka.topics()[0].partitions[0].leader == leader
    kafka.start_broker(follower)
    kafka.move_leader("orders", 0, follower)
    kafka.move_coordinator("billing", follower)
    assert kafka.topics()[0].partitions[0].leader == follower
    kafka.move_leader("orders", 0, None)
    assert kafka.topics()[0].partitions[0].leader is None
    kafka.delete_topic("orders")
    assert kafka.topics() == []


def test_a_coordinator_moves_to_the_given_broker(kafka: MockKafka) -> None:
    kafka.create_topic("orders")
    for broker in (2, 3):
        kafka.move_coordinator("billing", broker)
        consumer = KafkaConsumer(
            "orders", bootstrap_servers=kafka.bootstrap_servers, group_id="billing"
        )
        consumer.poll(timeout_ms=2000)
        consumer.close()
        assert kafka.requests(api="JoinGroup")[-1].broker == broker


def test_quotas_are_set_shown_and_taken_away(kafka: MockKafka) -> None:
    kafka.quota(user="alice", client_id=DEFAULT, producer_byte_rate=1024)
    kafka.quota(user=DEFAULT, controller_mutation_rate=2)
    kafka.quota(ip="127.0.0.1", connection_creation_rate=5)
    listed = kafka.control.ask("GET", "/v1/quotas")
    assert {
        "entity": {"user": "alice", "client-id": None},
        "values": {"producer_byte_rate": 1024.0},
        "shadow": [],
    } in listed
    assert len(listed) == 3
    kafka.quota(user="alice", client_id=DEFAULT, producer_byte_rate=None)
    assert len(kafka.control.ask("GET", "/v1/quotas")) == 2
    with pytest.raises(ControlError, match="names no quota"):
        kafka.quota(user="alice")


def test_a_shadow_quota_throttles_nobody_and_says_whom_it_would(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    kafka.set_clock("standing")
    kafka.quota(user="ANONYMOUS", producer_byte_rate=1, shadow=True)
    producer.send("orders", b"1", partition=0).get(30)

    [count] = kafka.shadow_report()
    assert (count.quota, count.user, count.client_id) == ("producer_byte_rate", "ANONYMOUS", None)
    [event] = count.events
    assert (event.time_ms, event.client_id) == (kafka.now_ms(), "till")
    [request] = kafka.requests(api="Produce")
    assert request.throttle_time_ms == 0
    assert request.shadow_throttle_times_ms == {"producer_byte_rate": event.throttle_time_ms}


def test_metrics_show_who_is_counted(kafka: MockKafka, producer: KafkaProducer) -> None:
    kafka.quota(user="ANONYMOUS", producer_byte_rate=1e9)
    producer.send("orders", b"1").get(30)
    rates = [each for each in kafka.metrics() if each.name == "byte-rate"]
    assert any(each.value is not None and each.value > 0 for each in rates), kafka.metrics()


def test_requests_are_decoded_and_filtered(kafka: MockKafka, producer: KafkaProducer) -> None:
    producer.send("orders", b"1", partition=0).get(30)

    [request] = kafka.requests(api="Produce", topic="orders", client_id="till")
    assert (request.api, request.outcome, request.user) == ("Produce", "responded", "ANONYMOUS")
    assert request.topics == ("orders",)
    assert request.request["topic_data"][0]["partition_data"][0]["index"] == 0
    assert request.response["responses"][0]["partition_responses"][0]["base_offset"] == 0
    assert str(request).endswith("-> responded")
    assert kafka.requests(api="Produce", since=request.number) == []
    assert kafka.last_request_number() >= request.number
    [bare] = kafka.requests(api="Produce", has_messages=False)
    assert (bare.request, bare.response) == (None, None)


def test_waiting_ends_with_the_request_that_comes(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    since = kafka.last_request_number()
    found = []
    waiter = threading.Thread(
        target=lambda: found.append(
            kafka.wait_for(api="Produce", topic="orders", since=since, outcome="responded")
        )
    )
    waiter.start()
    producer.send("orders", b"1").get(30)
    waiter.join(30)
    assert [each.api for each in found] == ["Produce"]
    assert kafka.wait_for(api="Produce", timeout_s=0) == found[0]


def test_waiting_in_vain_says_for_what_and_what_came_instead(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    producer.send("orders", b"1").get(30)
    with pytest.raises(TimeoutError, match=r"api='Fetch', topic='x' in 0.0 s(.|\n)*Produce v"):
        kafka.wait_for(api="Fetch", topic="x", timeout_s=0.0)


def test_refused_and_delayed_connections_are_seen(kafka: MockKafka) -> None:
    kafka.add_faults(
        [
            {"broker": 1, "refuse_connection": True, "times": 1},
            {"broker": 2, "delay_connection_ms": 1, "times": 1},
        ]
    )
    peers = []
    for number, outcome in ((0, "refused"), (1, "delayed")):
        host, _, port = kafka.bootstrap_servers_list[number].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as client:
            peers.append("{}:{}".format(*client.getsockname()))
            seen = kafka.wait_for(kind="connection", broker=number + 1)
            assert (seen.kind, seen.outcome, seen.api) == ("connection", outcome, "")
    refused, delayed = kafka.requests(kind="connection")
    assert (refused.peer, refused.broker, refused.fault) == (peers[0], 1, "#1 refuse_connection")
    assert (delayed.peer, delayed.delay_ms) == (peers[1], 1)
    assert kafka.requests() == kafka.requests(api="Produce") == []


async def test_the_verbs_of_coroutines_leave_the_loop_running(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    fault = await kafka.aio.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=1)
    waiting = asyncio.ensure_future(kafka.aio.wait_for(api="Produce", error="NOT_ENOUGH_REPLICAS"))
    await asyncio.to_thread(lambda: producer.send("orders", b"1").get(30))
    assert (await waiting).errors == ("NOT_ENOUGH_REPLICAS",)
    assert await asyncio.to_thread(lambda: fault.count) == 1
    assert len(await kafka.aio.records("orders")) == 1
    assert await kafka.aio.advance(ms=1) > 0


def test_brokers_join_leave_and_are_fenced(kafka: MockKafka) -> None:
    first = [each["node_id"] for each in kafka.control.ask("GET", "/v1/brokers")]
    added = kafka.add_broker(rack="r1")
    assert added == max(first) + 1
    kafka.create_topic("orders", len(first) + 1)
    assert added in {each.leader for each in kafka.topics()[0].partitions}
    with pytest.raises(ControlError, match=f"there is a broker {added} already"):
        kafka.add_broker(added)

    kafka.decommission_broker(added)
    with pytest.raises(ControlError, match=f"there is no broker {added}"):
        kafka.start_broker(added)
    assert kafka.add_broker(added) == added
    kafka.fence_broker(added)
    assert added not in {each.leader for each in kafka.topics()[0].partitions}
    kafka.start_broker(added)

    kafka.reset()
    assert [each["node_id"] for each in kafka.control.ask("GET", "/v1/brokers")] == first


def test_a_reset_forgets_everything_and_cuts_the_clients(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    producer.send("orders", b"1").get(30)
    kafka.fail(api="Fetch", error="UNKNOWN_SERVER_ERROR")
    kafka.quota(user="alice", producer_byte_rate=1)
    kafka.stop_broker(2)
    kafka.set_clock("standing")
    producer.close()
    host, _, port = kafka.bootstrap_servers_list[0].rpartition(":")
    idle = socket.create_connection((host, int(port)), timeout=30)

    kafka.reset()

    assert idle.recv(1) == b""
    idle.close()
    assert [kafka.topics(), kafka.faults(), kafka.requests()] == [[], [], []]
    assert not any("user" in each.tags for each in kafka.metrics())
    assert kafka.control.ask("GET", "/v1/quotas") == []
    assert kafka.control.ask("GET", "/v1/connections") == []
    assert all(each["is_alive"] for each in kafka.control.ask("GET", "/v1/brokers"))
    assert kafka.control.ask("GET", "/v1/clock")["mode"] == "real"
