"""The methods for snapshots, also with clients that read what was loaded."""

import gzip
import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer

from mock_kafka import ControlError, MockKafka, StartError
from mock_kafka.snapshot_methods import snapshot_document

SETUP = {
    "topics": [
        {
            "name": "orders",
            "partitions": [
                {
                    "log_end_offset": 9,
                    "records": [
                        {"offset": 2, "key": "k", "value": "one"},
                        {"value": {"base64": "/w=="}},
                        {"offset": 6, "value": "three"},
                    ],
                }
            ],
        }
    ],
    "offsets": [{"group": "billing", "topic": "orders", "partition": 0, "offset": 3}],
    "faults": [{"api": "Heartbeat", "delay_ms": 1}],
}


def test_a_cluster_starts_with_a_snapshot_and_a_reset_restores_it(tmp_path: Path) -> None:
    path = tmp_path / "setup.json"
    path.write_text(json.dumps(SETUP))
    with MockKafka(snapshot=path) as kafka:
        kafka.produce("orders", b"more")
        kafka.clear_faults()
        kafka.reset()
        assert [record.offset for record in kafka.records("orders")] == [2, 3, 6]
        assert kafka.committed("billing") == {("orders", 0): 3}
        assert [fault.rule for fault in kafka.faults()] == SETUP["faults"]


def test_a_strict_cluster_refuses_what_was_not_recorded_also_after_a_reset() -> None:
    recorded = [
        {"api": "Metadata", "version": version, "user": "User:ANONYMOUS", "topics": ["orders"]}
        for version in range(14)
    ]
    with MockKafka(snapshot={**SETUP, "requests": recorded}, strict=True) as kafka:
        for _ in range(2):
            admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
            assert "orders" in admin.list_topics("orders", timeout=30).topics
            (refused,) = admin.create_topics([NewTopic("payments", 1)]).values()
            with pytest.raises(KafkaException, match="not recorded"):
                refused.result(30)
            (request,) = kafka.requests(api="CreateTopics")
            assert "not recorded: CreateTopics" in (request.fault or "")
            assert "The nearest one is Metadata" in (request.fault or "")
            kafka.reset()
            assert len(kafka.records("orders")) == 3


def test_a_strict_cluster_needs_a_recording_with_requests() -> None:
    with pytest.raises(StartError, match="has no requests"):
        MockKafka(snapshot=SETUP, strict=True).start()
    with pytest.raises(StartError, match="--strict needs --snapshot"):
        MockKafka(strict=True).start()


def test_a_cluster_may_start_with_rules_that_act_at_once_and_load_them_if_told_so() -> None:
    setup = {"faults": [{"stop_broker": 2, "at_once": True}]}
    with MockKafka(brokers=2, snapshot=setup) as kafka:

        def states() -> list[str]:
            return [broker["availability"] for broker in kafka.control.ask("GET", "/v1/brokers")]

        assert states() == ["up", "down"]
        kafka.start_broker(2)
        with pytest.raises(ControlError, match=r"rule 1: stop_broker 2; .* at_once=true"):
            kafka.load_snapshot(setup)
        assert states() == ["up", "up"]
        kafka.load_snapshot(setup, at_once=True)
        assert states() == ["up", "down"]


def test_clients_read_the_records_of_a_snapshot_and_pass_the_offsets_without_records(
    kafka: MockKafka,
) -> None:
    kafka.load_snapshot(SETUP)
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=kafka.bootstrap_servers,
        group_id="billing",
        auto_offset_reset="earliest",
    )
    assert [next(consumer).offset for _ in range(2)] == [3, 6]
    consumer.close(autocommit=False)

    kafka.produce("orders", b"last")
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "other"}
    reader = Consumer({**settings, "auto.offset.reset": "earliest"})
    reader.subscribe(["orders"])
    read: list[tuple[int | None, bytes | None]] = []
    while len(read) < 4:
        message = reader.poll(10)
        assert message is not None
        assert message.error() is None
        read.append((message.offset(), message.value()))
    reader.close()
    assert read == [(2, b"one"), (3, b"\xff"), (6, b"three"), (9, b"last")]


def test_a_saved_snapshot_can_be_loaded_into_another_cluster(kafka: MockKafka) -> None:
    kafka.create_topic("orders", 2, config={"retention.ms": "-1"})
    kafka.produce("orders", "a", "b", key="k")
    kafka.quota(user="alice", producer_byte_rate=5)
    saved = kafka.snapshot()
    records = kafka.records("orders")
    with MockKafka(brokers=3, snapshot=saved) as other:
        assert other.snapshot() == saved
        assert other.records("orders") == records
    assert "records" not in json.dumps(kafka.snapshot(records=False))


@pytest.mark.parametrize("in_process", [False, True])
def test_a_snapshot_that_is_refused_stops_the_start(in_process: bool) -> None:
    setup = {"topics": [{"name": "a b", "partitions": [{}]}]}
    kafka = MockKafka(snapshot=setup, in_process=in_process)
    with pytest.raises(StartError, match=r"snapshot\.json: topics: a b: INVALID_TOPIC_EXCEPTION"):
        kafka.start()
    assert not kafka.is_running


@pytest.mark.parametrize("in_process", [False, True])
def test_a_cluster_has_the_id_of_its_snapshot_unless_its_configuration_has_one(
    in_process: bool,
) -> None:
    setup = {**SETUP, "cluster_id": "saved"}
    with MockKafka(snapshot=setup, in_process=in_process) as kafka:
        assert kafka.snapshot()["cluster_id"] == "saved"
        kafka.reset()
        assert kafka.snapshot()["cluster_id"] == "saved"
        assert kafka.committed("billing") == {("orders", 0): 3}
    with MockKafka(snapshot=setup, config={"cluster.id": "mine"}, in_process=in_process) as kafka:
        assert kafka.snapshot()["cluster_id"] == "mine"


def test_a_cluster_without_an_admin_port_starts_with_a_snapshot() -> None:
    with MockKafka(snapshot=SETUP, admin_port=None) as kafka:
        settings = {"bootstrap_servers": kafka.bootstrap_servers, "group_id": "billing"}
        consumer = KafkaConsumer("orders", **settings)
        assert next(consumer).offset == 3
        consumer.close(autocommit=False)


def test_a_file_that_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ValueError, match=r"list\.json: a snapshot is an object"):
        snapshot_document(tmp_path / "list.json")
    (tmp_path / "text.json").write_text("text")
    with pytest.raises(ValueError, match=r"text\.json: not JSON"):
        snapshot_document(tmp_path / "text.json")


def test_a_snapshot_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "setup.mk.gz"
    path.write_bytes(gzip.compress(json.dumps(SETUP).encode()))
    assert snapshot_document(path) == SETUP
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="gzip: Compressed file ended"):
        snapshot_document(path)
