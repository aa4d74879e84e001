"""Topics whose logs store nothing: synthetic records to read, and records that are dropped."""

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka import Producer as ConfluentProducer

from benchmarks.consumer_work import PYTHON_CLIENTS, Reading
from mock_kafka import ControlError, MockKafka
from scenarios.clients.confluent_kafka import confluent_consumer
from scenarios.clients.interface import Client
from scenarios.clients.java import java_command, kafka_clients_jars
from scenarios.maven import CannotRunError
from tests.interop.go_and_node_clients import build_franz_go
from tests.interop.java_clients import SOURCE
from tests.interop.members import member, poll_records

ENDLESS = 1 << 62
COUNT = 250
START = ENDLESS - COUNT
MADE = {
    "log.records": "synthetic",
    "synthetic.log.start.offset": str(START),
    "synthetic.batch.records": "40",
    "synthetic.key": "counter",
    "synthetic.value.size": "uniform(1,50)",
}
TIMEOUT_S = 60


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_a_group_reads_the_last_records_there_can_be(
    kafka: MockKafka, client: Client, topic: str, codec: str
) -> None:
    kafka.create_topic(topic, 1, config=MADE | {"synthetic.compression.type": codec})
    with member(client, kafka.bootstrap_servers, topic, topic) as reader:
        found = poll_records([reader], COUNT)
        reader.commit()
        assert reader.committed(0) == (ENDLESS, "")
    assert [record.offset for record in found] == list(range(START, ENDLESS))
    assert [record.key for record in found] == [b"%019d" % record.offset for record in found]
    assert {1 <= len(record.value or b"") <= 50 for record in found} == {True}
    # Each client finds the same records, and with each codec.
    kafka.delete_topic(topic)
    kafka.create_topic(topic, 1, config=MADE)
    again = kafka.records(topic, 0, START)
    assert [record.value for record in again] == [record.value for record in found]


def _commands(name: str, folder: Path) -> list[str]:
    if name in PYTHON_CLIENTS:
        return [sys.executable, "-m", "benchmarks.consumer_work", name]
    try:
        if name == "franz-go":
            return [*build_franz_go(folder).command, "measure"]
        source = str(SOURCE.with_name("Measure.java"))
        return java_command(f"{kafka_clients_jars('4.4.0')}/*", source, log_level="error")
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.mark.long
@pytest.mark.parametrize("name", [*PYTHON_CLIENTS, "Java", "franz-go"])
def test_the_consumers_that_are_measured_read_what_they_say(
    kafka: MockKafka, topic: str, tmp_path: Path, name: str
) -> None:
    kafka.create_topic(topic, 1, config=MADE)
    arguments = kafka.bootstrap_servers, topic, str(COUNT), str(START)
    command = [*_commands(name, tmp_path), *arguments]
    done = subprocess.run(command, check=True, timeout=TIMEOUT_S, stdout=subprocess.PIPE, text=True)
    reading = Reading.of_line(done.stdout)
    assert (reading.first_offset, reading.last_offset) == (START, ENDLESS - 1)
    assert 0 <= reading.records < COUNT
    assert reading.size_bytes >= reading.records * 20


def test_positions_are_found_by_time_and_by_deletion(kafka: MockKafka, topic: str) -> None:
    base_ms = 1_000_000
    config = {
        "log.records": "synthetic",
        "synthetic.base.timestamp.ms": str(base_ms),
        "synthetic.records.per.second": "500",
    }
    kafka.create_topic(topic, 1, config=config)
    with confluent_consumer(kafka.bootstrap_servers, group_id=topic) as consumer:
        for wanted_ms, offset in ((0, 0), (base_ms + 2001, 1001), (base_ms + (1 << 60), 1 << 59)):
            (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, wanted_ms)])
            assert found.offset == offset
        kafka.delete_records(topic, 0, (1 << 61) + 7)
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0))
        assert (low, high) == ((1 << 61) + 7, ENDLESS)
        consumer.assign([TopicPartition(topic, 0, low)])
        (message,) = consumer.consume(1, 10)
        assert message.offset() == low
    partition = kafka.topic(topic).partitions[0]
    assert (partition.log_start_offset, partition.high_watermark) == (low, ENDLESS)


def test_nobody_writes_to_a_synthetic_topic(kafka: MockKafka, topic: str) -> None:
    kafka.create_topic(topic, 1, config=MADE)
    errors = []
    producer = ConfluentProducer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic}
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error.code()))
    with pytest.raises(KafkaException):
        producer.commit_transaction()
    assert errors == [KafkaError.TOPIC_EXCEPTION]
    producer.abort_transaction()
    for write in (
        lambda: kafka.produce(topic, "x"),
        lambda: kafka.leave_gap(topic),
        lambda: kafka.truncate(topic, 0, START),
    ):
        with pytest.raises(ControlError, match="is synthetic"):
            write()
    partition = kafka.topic(topic).partitions[0]
    assert (partition.log_start_offset, partition.log_end_offset) == (START, ENDLESS)


def test_the_configuration_is_described_where_it_is_set_and_stays(
    kafka: MockKafka, topic: str
) -> None:
    from confluent_kafka.admin import (  # noqa: PLC0415
        AdminClient,
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
    )

    kafka.create_topic(topic, 1, config=MADE)
    kafka.create_topic(f"{topic}-stored", 1)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})

    def described(name: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        found = admin.describe_configs([resource])[resource].result(10)
        return {key: e.value for key, e in found.items() if key in MADE or "synthetic" in key}

    assert described(topic) == MADE
    assert described(f"{topic}-stored") == {}
    entry = ConfigEntry("synthetic.seed", "5", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    with pytest.raises(KafkaException, match="cannot be changed"):
        admin.incremental_alter_configs([resource])[resource].result(10)


def test_a_topic_that_discards_acknowledges_and_keeps_nothing(topic: str) -> None:
    with MockKafka(config={"audit.enable": True}) as kafka:
        kafka.create_topic(topic, 1, config={"log.records": "discarded"})
        offsets: list[int] = []
        producer = ConfluentProducer(
            {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic}
        )
        producer.init_transactions()
        for _ in range(2):
            producer.begin_transaction()
            for _ in range(3):
                producer.produce(topic, b"x", on_delivery=lambda _, m: offsets.append(m.offset()))
                producer.flush()
            producer.commit_transaction()
        assert offsets == [0, 1, 2, 4, 5, 6]  # a marker follows each transaction
        partition = kafka.topic(topic).partitions[0]
        assert (partition.log_start_offset, partition.log_end_offset) == (8, 8)
        assert kafka.records(topic) == []
        with confluent_consumer(
            kafka.bootstrap_servers, group_id=topic, auto_offset_reset="error"
        ) as consumer:
            consumer.assign([TopicPartition(topic, 0, 3)])
            (message,) = consumer.consume(1, 10)
            assert message.error().code() == KafkaError._AUTO_OFFSET_RESET
        report = kafka.audit()
        assert not report.findings
        assert report.removed == 6


@pytest.mark.parametrize("kind", ["synthetic", "discarded"])
def test_a_snapshot_keeps_the_topic_and_where_it_begins(topic: str, kind: str) -> None:
    config = {"log.records": kind} if kind == "discarded" else MADE
    with MockKafka() as kafka:
        kafka.create_topic(topic, 1, config=config)
        if kind == "discarded":
            kafka.produce(topic, "a", "b")
        else:
            kafka.delete_records(topic, 0, START + 5)
        before = kafka.topic(topic)
        kafka.load_snapshot(kafka.snapshot())
        after = kafka.topic(topic)
        assert after.config == before.config
        (was,), (now,) = before.partitions, after.partitions
        assert (now.log_start_offset, now.log_end_offset) == (
            was.log_start_offset,
            was.log_end_offset,
        )
        assert was.log_start_offset > 0
