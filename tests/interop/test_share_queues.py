"""KafkaShareConsumer of kafka-clients 4.4: record limits, renewed locks and dead letters."""

from pathlib import Path

import pytest

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.java import compile_java, java_command, kafka_clients_jars
from scenarios.maven import CannotRunError
from tests.interop.client_program import ClientProgram

VERSION = "4.4.0"
SOURCE = Path(__file__).with_name("java") / "ShareQueues.java"
QUEUE = "dlq.t"
CONFIG = {
    "broker.api.versions": "4.4",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.min.record.lock.duration.ms": "1000",
}


@pytest.mark.long
def test_share_consumers_limit_renew_and_reject_records(tmp_path: Path) -> None:
    try:
        jars = kafka_clients_jars(VERSION)
        compile_java([SOURCE], f"{jars}/*", tmp_path)
    except CannotRunError as error:
        pytest.skip(str(error))
    program = ClientProgram(java_command(f"{tmp_path}:{jars}/*", "ShareQueues", log_level="error"))
    with MockKafka(brokers=1, config=CONFIG) as kafka:
        create_topic(kafka.bootstrap_servers, "t", partition_count=1)
        enabled = {"errors.deadletterqueue.group.enable": "true"}
        kafka.create_topic(QUEUE, partitions=1, config=enabled)

        lines = program.run(kafka.bootstrap_servers, "t", QUEUE)

    assert lines == [
        ["limited", "2", "2", "true"],
        ["lag", "2", "6"],
        ["renewed", "10", "0", "0"],
        ["headers", "[delivery.count, group, message, offset, partition, topic]"],
        [
            "dead",
            "key0:1:Offset rejected by client.",
            "[:2:Offset delivery count exceeded the threshold.]",
            "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]",
        ],
    ]
