"""The methods of a running cluster, tested with real clients."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from mock_kafka import DEFAULT, ControlError, MockKafka

EXAMPLE = """
from kafka import KafkaProducer
from mock_kafka import MockKafka

with MockKafka(brokers=3, config={"num.partitions": 1}) as kafka:
    kafka.quota(user="ANONYMOUS", producer_ids_rate=50)
    kafka.drop_response(api="Produce", times=1)            # appended, but not acknowledged
    kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2)
    kafka.delay(api="Metadata", ms=20)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    assert producer.send("orders", b"1").get(30).offset == 0
    assert [r.value for r in kafka.records("orders")] == [b"1"]   # once
    assert len(kafka.requests(api="Produce")) == 4
    kafka.advance(seconds=3600)                            # takes milliseconds
"""


@pytest.mark.interop
def test_the_example_program_runs_unchanged(tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(EXAMPLE)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_invalid_name_is_an_error_with_the_closest_valid_one(kafka: MockKafka) -> None:
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


def test_the_clock_can_be_stopped_and_moved(kafka: MockKafka) -> None:
    kafka.set_clock("standing")
    start_ms = kafka.now_ms()
    assert kafka.advance(seconds=3600) == start_ms + 3_600_000
    assert kafka.advance(ms=5) == kafka.now_ms() == start_ms + 3_600_005
    kafka.set_clock("scaled", 60)
    with pytest.raises(ControlError, match="factor"):
        kafka.set_clock("scaled")


def _address(kafka: MockKafka, broker: int) -> tuple[str, int]:
    host, _, port = kafka.bootstrap_servers_list[broker - 1].rpartition(":")
    return host, int(port)


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
    kafka.set_clock("standing")
    kafka.stop_broker(leader, controlled=True)
    assert kafka.topics()[0].partitions[0].leader == follower
    socket.create_connection(_address(kafka, leader), timeout=30).close()
    kafka.advance(ms=50)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(_address(kafka, leader), timeout=30)
    kafka.start_broker(leader)
    kafka.move_leader("orders", 0, follower)
    kafka.move_coordinator("billing", follower)
    assert kafka.topics()[0].partitions[0].leader == follower
    kafka.move_leader("orders", 0, None)
    assert kafka.topics()[0].partitions[0].leader is None
    kafka.delete_topic("orders")
    assert kafka.topics() == []


@pytest.mark.slow
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


def test_quotas_are_set_listed_and_removed(kafka: MockKafka) -> None:
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
    with pytest.raises(ControlError, match="there is no quota to set"):
        kafka.quota(user="alice")


def test_a_shadow_quota_throttles_no_client_and_reports_which_it_would(
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


def test_metrics_have_the_byte_rate_of_a_user_with_a_quota(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    kafka.quota(user="ANONYMOUS", producer_byte_rate=1e9)
    producer.send("orders", b"1").get(30)
    rates = [metric for metric in kafka.metrics() if metric.name == "byte-rate"]
    assert any(rate.value is not None and rate.value > 0 for rate in rates), kafka.metrics()


@pytest.fixture
def transactional(kafka: MockKafka) -> Iterator[KafkaProducer]:
    kafka.create_topic("orders", 1)
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers,
        transactional_id="till",
        transaction_timeout_ms=20_000,
        retry_backoff_ms=10,
    )
    producer.init_transactions()
    yield producer
    producer.close(timeout=0)


def test_transactions_are_listed_and_their_records_have_an_outcome(
    kafka: MockKafka, transactional: KafkaProducer
) -> None:
    kafka.set_clock("standing")
    for value in (b"1", b"2", b"3"):
        transactional.begin_transaction()
        transactional.send("orders", value).get(30)
        if value == b"1":
            transactional.commit_transaction()
        elif value == b"2":
            transactional.abort_transaction()
    kafka.advance(ms=700)
    [transaction] = kafka.transactions()
    assert (transaction.transactional_id, transaction.state) == ("till", "Ongoing")
    assert (transaction.age_ms, transaction.partitions) == (700, (("orders", 0),))
    assert (transaction.timeout_ms, transaction.producer_id) == (20_000, 0)
    records = kafka.records("orders")
    assert [(record.value, record.transaction) for record in records] == [
        (b"1", "committed"),
        (b"2", "aborted"),
        (b"3", "open"),
    ]
    committed = kafka.records("orders", isolation_level="read_committed")
    assert [record.value for record in committed] == [b"1"]
    kafka.advance(seconds=40)
    assert kafka.transactions()[0].state == "CompleteAbort"


def test_a_transaction_is_aborted_and_its_transactional_id_removed(
    kafka: MockKafka, transactional: KafkaProducer
) -> None:
    transactional.begin_transaction()
    transactional.send("orders", b"1").get(30)
    with pytest.raises(ControlError, match="abort it first"):
        kafka.expire_transactional_id("till")
    assert kafka.abort_transaction("till").state == "CompleteAbort"
    with pytest.raises((KafkaError, RuntimeError)):
        transactional.commit_transaction()
    assert [record.transaction for record in kafka.records("orders")] == ["aborted"]
    kafka.expire_transactional_id("till")
    assert kafka.transactions() == []
    with pytest.raises(ControlError, match="no transactional id 'till'"):
        kafka.abort_transaction("till")


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
    [without_messages] = kafka.requests(api="Produce", has_messages=False)
    assert (without_messages.request, without_messages.response) == (None, None)
    [selected] = kafka.requests(api="Produce", fields=("client_id", "errors"))
    assert (selected.client_id, selected.errors) == ("till", ())
    with pytest.raises(AttributeError, match="not asked for 'topics'"):
        _ = selected.topics
    with pytest.raises(ControlError, match="no 'topic'; did you mean topics"):
        kafka.requests(fields=["topic"])


def test_a_request_has_its_bytes_and_all_are_saved_for_wireshark(
    kafka: MockKafka, producer: KafkaProducer, tmp_path: Path
) -> None:
    producer.send("orders", b"one coffee").get(30)
    [found] = kafka.requests(api="Produce")
    request = kafka.request(found.number)
    assert b"one coffee" in bytes.fromhex(request.request_hex or "")
    assert request.response_hex is not None
    assert request.request == found.request
    with pytest.raises(ControlError, match="no line 100000"):
        kafka.request(100_000)
    kafka.save_pcap(tmp_path / "all.pcap")
    kafka.save_pcap(tmp_path / "fetches.pcap", api="Fetch")
    assert b"one coffee" in (tmp_path / "all.pcap").read_bytes()
    assert len((tmp_path / "fetches.pcap").read_bytes()) == 24


def test_wait_for_returns_the_request_when_it_arrives(
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
    assert [request.api for request in found] == ["Produce"]
    assert kafka.wait_for(api="Produce", timeout_s=0) == found[0]


def test_the_timeout_of_wait_for_names_the_filter_and_the_nearest_requests(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    producer.send("orders", b"1").get(30)
    with pytest.raises(TimeoutError, match=r"api='Fetch', topic='x' in 0 s(.|\n)*Produce v"):
        kafka.wait_for(api="Fetch", topic="x", timeout_s=0.0)


def test_requests_lists_refused_and_delayed_connections(kafka: MockKafka) -> None:
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


async def test_methods_of_aio_do_not_block_the_event_loop(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    fault = await kafka.aio.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=1)
    waiting = asyncio.ensure_future(kafka.aio.wait_for(api="Produce", error="NOT_ENOUGH_REPLICAS"))
    await asyncio.to_thread(lambda: producer.send("orders", b"1").get(30))
    assert (await waiting).errors == ("NOT_ENOUGH_REPLICAS",)
    assert await asyncio.to_thread(lambda: fault.count) == 1
    assert len(await kafka.aio.records("orders")) == 1
    assert await kafka.aio.advance(ms=1) > 0


def test_brokers_can_be_added_decommissioned_and_fenced(kafka: MockKafka) -> None:
    first = [broker["node_id"] for broker in kafka.control.ask("GET", "/v1/brokers")]
    added = kafka.add_broker(rack="r1")
    assert added == max(first) + 1
    kafka.create_topic("orders", len(first) + 1)
    assert added in {partition.leader for partition in kafka.topics()[0].partitions}
    with pytest.raises(ControlError, match=f"there is a broker {added} already"):
        kafka.add_broker(added)

    kafka.decommission_broker(added)
    with pytest.raises(ControlError, match=f"there is no broker {added}"):
        kafka.start_broker(added)
    assert kafka.add_broker(added) == added
    kafka.fence_broker(added)
    assert added not in {partition.leader for partition in kafka.topics()[0].partitions}
    kafka.start_broker(added)

    kafka.reset()
    assert [broker["node_id"] for broker in kafka.control.ask("GET", "/v1/brokers")] == first


def test_reset_removes_all_state_and_closes_all_connections(
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
    assert not any("user" in metric.tags for metric in kafka.metrics())
    assert kafka.control.ask("GET", "/v1/quotas") == []
    assert kafka.control.ask("GET", "/v1/connections") == []
    assert all(broker["is_alive"] for broker in kafka.control.ask("GET", "/v1/brokers"))
    assert kafka.control.ask("GET", "/v1/clock")["mode"] == "real"
