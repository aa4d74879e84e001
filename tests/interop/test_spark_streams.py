"""Streaming jobs with Spark's own Kafka source and sink."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.deadline import DEADLINE_S
from tests.interop.spark_connector import Connector, Row, offsets, write_at


def numbered(topic: str, partition: int, numbers: Iterable[int]) -> list[Row]:
    return [
        Row(topic, partition, b"key", b"%d" % number, (("number", b"%d" % number),))
        for number in numbers
    ]


def values(rows: list[Row], partition: int = 0) -> list[int]:
    """Return the numbers in a partition, in the order of their offsets."""
    return [int(row.value or b"") for row in rows if row.partition == partition]


def last_offsets(query: Any) -> Any:
    """Return the end offsets of a stream's source, by topic and partition."""
    return json.loads(query.lastProgress.sources[0].endOffset)


@pytest.fixture
def topics(kafka_of_three: MockKafka, topic: str) -> tuple[str, str]:
    """Return the source and target topics of a stream; two partitions each."""
    source, sink = f"{topic}.source", f"{topic}.sink"
    for name in (source, sink):
        create_topic(kafka_of_three.bootstrap_servers, name, partition_count=2)
    return source, sink


def test_a_stream_resumes_from_its_checkpoint(
    connector: Connector, topics: tuple[str, str], tmp_path: Path
) -> None:
    source, sink = topics
    options = {"subscribe": source, "startingOffsets": "earliest"}
    connector.write(numbered(source, 0, range(50)) + numbered(source, 1, range(50)))
    first = connector.copy_all(options, sink, tmp_path)
    assert last_offsets(first) == {source: {"0": 50, "1": 50}}
    connector.write(numbered(source, 0, range(50, 60)))
    second = connector.copy_all(options, sink, tmp_path)
    assert last_offsets(second) == {source: {"0": 60, "1": 50}}
    assert sum(progress.numInputRows for progress in second.recentProgress) == 10
    copied = connector.rows({"subscribe": sink})
    read = connector.rows({"subscribe": source})
    assert [row._replace(topic=sink) for row in read] == copied
    assert values(copied, 0) == list(range(60))
    # Without new records nothing is read or written.
    third = connector.copy_all(options, sink, tmp_path)
    assert sum(progress.numInputRows for progress in third.recentProgress) == 0


def test_max_offsets_per_trigger_limits_a_trigger(
    connector: Connector, topics: tuple[str, str], tmp_path: Path
) -> None:
    source, sink = topics
    connector.write(numbered(source, 0, range(30)) + numbered(source, 1, range(30)))
    options = {"subscribe": source, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 20}
    query = connector.copy_all(options, sink, tmp_path)
    taken = [progress.numInputRows for progress in query.recentProgress]
    assert [count for count in taken if count] == [20, 20, 20]
    copied = connector.rows({"subscribe": sink})
    assert values(copied, 0) == values(copied, 1) == list(range(30))


def test_a_running_stream_reads_new_records_partitions_and_topics(
    connector: Connector, kafka_of_three: MockKafka, topic: str, tmp_path: Path
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, f"{topic}.0")
    options = {"subscribePattern": rf"{topic}\..*", "kafka.metadata.max.age.ms": 100}
    query = (
        connector.stream({**options, "startingOffsets": "latest"})
        .writeStream.format("memory")
        .queryName("seen")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )

    def seen() -> list[tuple[str, int, bytes]]:
        query.processAllAvailable()
        rows = connector.spark.table("seen").select("topic", "partition", "value").collect()
        return sorted((row.topic, row.partition, bytes(row.value)) for row in rows)

    try:
        assert seen() == []
        connector.write([Row(f"{topic}.0", 0, None, b"first")])
        expected = [(f"{topic}.0", 0, b"first")]
        assert seen() == expected
        grown = AdminClient({"bootstrap.servers": servers})
        grown.create_partitions([NewPartitions(f"{topic}.0", 2)])[f"{topic}.0"].result(DEADLINE_S)
        create_topic(servers, f"{topic}.1")
        connector.write(
            [Row(f"{topic}.0", 1, None, b"second"), Row(f"{topic}.1", 0, None, b"third")],
            {"kafka.client.id": "knows-the-new-partition"},
        )
        assert seen() == [*expected, (f"{topic}.0", 1, b"second"), (f"{topic}.1", 0, b"third")]
    finally:
        query.stop()


def test_a_stream_starts_at_a_timestamp(
    connector: Connector, kafka_of_three: MockKafka, topics: tuple[str, str], tmp_path: Path
) -> None:
    source, sink = topics
    for partition in (0, 1):
        write_at(kafka_of_three.bootstrap_servers, source, partition, range(1000, 1010))
    starting = offsets(source, {0: 1007, 1: 1009})
    connector.copy_all(
        {"subscribe": source, "startingOffsetsByTimestamp": starting}, sink, tmp_path
    )
    copied = connector.rows({"subscribe": sink})
    assert (values(copied, 0), values(copied, 1)) == ([1007, 1008, 1009], [1009])


def test_deleted_records_fail_a_stream_unless_fail_on_data_loss_is_false(
    connector: Connector, kafka_of_three: MockKafka, topics: tuple[str, str], tmp_path: Path
) -> None:
    source, sink = topics
    options = {"subscribe": source, "startingOffsets": "earliest"}
    connector.write(numbered(source, 0, range(10)))
    connector.copy_all(options, sink, tmp_path)
    connector.write(numbered(source, 0, range(10, 20)))
    admin = AdminClient({"bootstrap.servers": kafka_of_three.bootstrap_servers})
    gone = confluent_kafka.TopicPartition(source, 0, 15)
    admin.delete_records([gone])[gone].result(DEADLINE_S)
    with pytest.raises(Exception, match="failOnDataLoss"):
        connector.copy_all(options, sink, tmp_path)
    connector.copy_all({**options, "failOnDataLoss": "false"}, sink, tmp_path)
    copied = connector.rows({"subscribe": sink})
    assert values(copied) == [*range(10), *range(15, 20)]


def test_a_stream_detects_a_recreated_topic(
    connector: Connector, kafka_of_three: MockKafka, topics: tuple[str, str], tmp_path: Path
) -> None:
    source, sink = topics
    options = {"subscribe": source, "startingOffsets": "earliest"}
    connector.write(numbered(source, 0, range(10)))
    connector.copy_all(options, sink, tmp_path)
    servers = kafka_of_three.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([source])[source].result(DEADLINE_S)
    create_topic(servers, source, partition_count=2)
    connector.write(numbered(source, 0, range(100, 105)), {"kafka.client.id": "of-the-new-topic"})
    with pytest.raises(Exception, match="failOnDataLoss"):
        connector.copy_all(options, sink, tmp_path)
