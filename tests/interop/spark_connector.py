"""Spark's Kafka source and sink against a cluster: what the tests of both say in a line."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka

from scenarios.clients.deadline import DEADLINE_S

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Options = Mapping[str, Any]
_SCHEMA = (
    "topic string, partition int, key binary, value binary,"
    " headers array<struct<key: string, value: binary>>"
)
_END_TIMEOUT_S = 30


class Row(NamedTuple):
    """What a record is to Spark, without what the broker adds."""

    topic: str
    partition: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] | None = None


def offsets(topic: str, by_partition: Mapping[int, int]) -> str:
    """An option's JSON: the offset, or the timestamp in ms, of each partition."""
    return json.dumps({topic: {str(key): value for key, value in by_partition.items()}})


def write_at(servers: str, topic: str, partition: int, timestamps: Iterable[int]) -> None:
    """One record per timestamp, its value the timestamp."""
    producer = confluent_kafka.Producer({"bootstrap.servers": servers})
    for timestamp in timestamps:
        producer.produce(topic, b"%d" % timestamp, partition=partition, timestamp=timestamp)
    assert producer.flush(DEADLINE_S) == 0


class Connector:
    """`format("kafka")` of one Spark session and one cluster."""

    def __init__(self, spark: "SparkSession", servers: str) -> None:
        self.spark = spark
        # A fetch that waits holds up what the source asks next on the same connection.
        self._options = {"kafka.bootstrap.servers": servers, "kafka.fetch.max.wait.ms": "20"}

    def write(self, rows: Iterable[Row], options: Options | None = None) -> None:
        """Write `rows` in their order; over when all are acknowledged."""
        self.write_frame(self.spark.createDataFrame(list(rows), _SCHEMA).coalesce(1), options)

    def write_frame(self, frame: "DataFrame", options: Options | None = None) -> None:
        """A batch job that writes what `frame` gives."""
        frame.write.format("kafka").options(**{**self._options, **(options or {})}).save()

    def read(self, options: Options) -> "DataFrame":
        """The records that a batch job reads, lazily."""
        reader = self.spark.read.format("kafka").options(**{**self._options, **options})
        return reader.option("includeHeaders", "true").load()

    def rows(self, options: Options) -> list[Row]:
        """What `read` reads, in the order of topic, partition and offset."""
        frame = self.read(options).orderBy("topic", "partition", "offset")
        return [from_spark(row) for row in frame.collect()]

    def stream(self, options: Options) -> "DataFrame":
        """The records of a stream."""
        reader = self.spark.readStream.format("kafka").options(**{**self._options, **options})
        return reader.option("includeHeaders", "true").load()

    def copy_all(
        self, source: Options, topic: str, checkpoint: "Path", sink: Options | None = None
    ) -> "StreamingQuery":
        """Copy what is there to `topic`, partition by partition, until the stream is at the end.

        Raises:
            StreamingQueryException: the stream failed.
        """
        query = (
            self.stream(source)
            .select("partition", "key", "value", "headers")
            .writeStream.format("kafka")
            .options(**self._options, **(sink or {}), topic=topic)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(_END_TIMEOUT_S)
        finally:
            query.stop()
        return query


def from_spark(row: Any) -> Row:
    """A row of the source as the test wrote it."""
    headers = row.headers and tuple((header.key, _bytes(header.value)) for header in row.headers)
    return Row(row.topic, row.partition, _bytes(row.key), _bytes(row.value), headers)


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)
