"""Read back the batches that a load wrote to each partition."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from client.errors import ClientError
from client.resources import Address
from client.transport import SocketTransport
from loadgen.clients.connection_settings import REQUEST_TIMEOUT_MS, security_of_tenant
from loadgen.clients.fetch_responses import (
    NO_TOPIC_ID,
    batches_of,
    fetch_request,
    fetched_partitions,
)
from loadgen.clients.produce_frames import event_of
from loadgen.plan.run_spec import RunSpec
from protocol.codec import DecodeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = (
    "topic string, partition int, base_offset bigint, producer_id bigint, epoch smallint,"
    " sequence int, records int, event_id bigint"
)
_COLUMNS = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "base_offset": pa.int64(),
    "producer_id": pa.int64(),
    "epoch": pa.int16(),
    "sequence": pa.int32(),
    "records": pa.int32(),
    "event_id": pa.int64(),
}
ARROW_SCHEMA = pa.schema([pa.field(name, kind) for name, kind in _COLUMNS.items()])
TRIES_MAX = 5


def read_back(spark: "SparkSession", spec: RunSpec, path: str) -> None:
    """Read the plan's topics from their offsets before the run; write the batches to `path`.

    Raises:
        Py4JError: a partition could not be read.
    """
    partitions = [
        (topic, partition)
        for topic, leaders in spec.topology.leaders.items()
        for partition in range(len(leaders))
    ]

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from partition_batches(spec, row["topic"], row["partition"])

    tasks = max(1, min(spec.workers, len(partitions)))
    frame = spark.createDataFrame(partitions, "topic string, partition int").repartition(tasks)
    frame.mapInArrow(read, SCHEMA).write.parquet(path)


def partition_batches(spec: RunSpec, topic: str, partition: int) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one partition since the run began, one Arrow batch per response.

    Raises:
        ClientError: the partition cannot be read.
    """
    topology = spec.topology
    offset = topology.start_offsets.get(topic, {}).get(partition, 0)
    security = security_of_tenant(spec.plan.target, spec.plan.tenants[0])
    failures = 0
    with SocketTransport("mock-kafka-load", security, REQUEST_TIMEOUT_MS) as transport:
        while True:
            node = topology.leaders[topic][partition]
            address = topology.brokers.get(node) or next(iter(topology.brokers.values()))
            found = _fetch(transport, address, spec, topic, {partition: offset})
            if found.error_code:
                failures += 1
                if failures >= TRIES_MAX:
                    raise ClientError(f"{topic}-{partition}: error code {found.error_code}")
                continue
            columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
            first_offset = offset
            for header, data in batches_of(found.records):
                offset = header.base_offset + header.last_offset_delta + 1
                _append(columns, topic, partition, header, data)
            if columns["topic"]:
                yield pa.RecordBatch.from_pydict(columns, schema=ARROW_SCHEMA)
            if offset >= found.high_watermark or offset == first_offset:
                return


def _fetch(
    transport: SocketTransport,
    address: Address,
    spec: RunSpec,
    topic: str,
    offsets: Mapping[int, int],
) -> Any:
    topic_id = spec.topology.topic_ids.get(topic, NO_TOPIC_ID)
    response = transport.ask(address, fetch_request(topic, topic_id, offsets))
    [found] = fetched_partitions(response)
    return found


def _append(
    columns: dict[str, list[Any]], topic: str, partition: int, header: Any, data: bytes
) -> None:
    try:
        event_id = event_of(data)
    except DecodeError:  # a batch of another client
        event_id = None
    values = (
        topic,
        partition,
        header.base_offset,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.records_count,
        event_id,
    )
    for name, value in zip(_COLUMNS, values, strict=True):
        columns[name].append(value)
