"""Read back the batches that a load wrote to each partition."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from client import clock
from client.errors import ClientError
from client.resources import Address
from client.transport import SocketTransport
from loadgen.clients.batch_parts import BatchPart, parts_of
from loadgen.clients.connection_settings import REQUEST_TIMEOUT_MS, security_of_tenant
from loadgen.clients.fetch_responses import (
    NO_TOPIC_ID,
    READ_COMMITTED,
    committed_batches,
    fetch_request,
    fetched_partitions,
    next_offset,
)
from loadgen.clients.load_client import NO_EVENT
from loadgen.clients.produce_frames import event_of, next_sequence
from loadgen.clients.transaction_records import TransactionRecord, records_in
from loadgen.plan.run_spec import RunSpec
from loadgen.storage import Storage
from protocol.codec import DecodeError
from protocol.records import BatchHeader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = (
    "topic string, partition int, base_offset bigint, producer_id bigint, epoch smallint,"
    " sequence int, records int, event_id bigint, number int, source_partition int,"
    " source_offset bigint"
)
"""One row per batch, or per `BatchPart`; one per record if the records are judged one by one."""
_COLUMNS = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "base_offset": pa.int64(),
    "producer_id": pa.int64(),
    "epoch": pa.int16(),
    "sequence": pa.int32(),
    "records": pa.int32(),
    "event_id": pa.int64(),
    "number": pa.int32(),
    "source_partition": pa.int32(),
    "source_offset": pa.int64(),
}
ARROW_SCHEMA = pa.schema([pa.field(name, kind) for name, kind in _COLUMNS.items()])
RECORD = "read-back"
"""The folder of the batches."""
ROWS_HERE_MAX = 100_000
TRIES_MAX = 5
OPEN_TRANSACTION_PAUSE_MS = 100
OPEN_TRANSACTION_MS = 20_000
"""How long after its timeout a transaction may end: Kafka looks for timeouts every ten seconds."""


def read_back(
    spark: "SparkSession",
    spec: RunSpec,
    storage: Storage,
    rows: int | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Read the plan's topics from their offsets before the run; write the batches to the storage.

    Only what a read_committed consumer reads counts. After a run with few rows this process reads,
    which is faster than a job, and stops when `is_cancelled`.

    Args:
        spark: runs the job.
        spec: of the run.
        storage: of the run.
        rows: how many rows the run has, if that is known.
        is_cancelled: whether to stop.

    Raises:
        ClientError, Py4JError, StorageError: a partition could not be read.
    """
    partitions = [
        (topic, partition)
        for topic, leaders in spec.topology.leaders.items()
        for partition in range(len(leaders))
    ]
    # An open transaction may keep the reader waiting, where only a job can be cancelled.
    can_wait = any(tenant.is_judged_by_record for tenant in spec.plan.tenants)
    if rows is None or rows > ROWS_HERE_MAX or can_wait:
        _read_in_job(spark, spec, storage, partitions)
        return
    folder = spec.folder(RECORD)
    storage.create(*folder)
    with (
        storage.stream(*folder, "part-00000.parquet") as stream,
        pq.ParquetWriter(stream, ARROW_SCHEMA) as writer,
    ):
        for topic, partition in partitions:
            for batch in partition_batches(spec, topic, partition):
                if is_cancelled():
                    raise ClientError("the reading was cancelled")
                writer.write_batch(batch)


def _read_in_job(
    spark: "SparkSession", spec: RunSpec, storage: Storage, partitions: list[tuple[str, int]]
) -> None:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from partition_batches(spec, row["topic"], row["partition"])

    tasks = max(1, min(spec.workers, len(partitions)))
    frame = spark.createDataFrame(partitions, "topic string, partition int").repartition(tasks)
    frame.mapInArrow(read, SCHEMA).write.parquet(storage.of(*spec.folder(RECORD)))


def partition_batches(spec: RunSpec, topic: str, partition: int) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one partition since the run began, one Arrow batch per response.

    Transactions that are still open have until their timeout to end.

    Raises:
        ClientError: the partition cannot be read, or a transaction does not end.
    """
    topology = spec.topology
    offset = topology.start_offsets.get(topic, {}).get(partition, 0)
    security = security_of_tenant(spec.plan.target, spec.plan.tenants[0])
    tenants = [tenant for tenant in spec.plan.tenants if tenant.topic == topic]
    is_judged = any(tenant.is_judged_by_record for tenant in tenants)
    are_cut = any(tenant.cuts_events for tenant in tenants)
    failures = 0
    give_up_ms = clock.now_ms() + OPEN_TRANSACTION_MS + spec.plan.transaction_timeout_ms
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
            for header, data in committed_batches(found):
                judged = records_in(data) if is_judged else {}
                parts = [] if judged else _parts(header, data, are_cut=are_cut)
                _append(columns, topic, partition, header, parts, judged)
            offset = next_offset(found.records, offset)
            if columns["topic"]:
                yield pa.RecordBatch.from_pydict(columns, schema=ARROW_SCHEMA)
            if offset >= found.high_watermark:
                return
            if offset == first_offset:
                if clock.now_ms() > give_up_ms:
                    raise ClientError(
                        f"{topic}-{partition}: the transaction at offset {offset} does not end"
                    )
                clock.sleep_ms(OPEN_TRANSACTION_PAUSE_MS)


def _fetch(
    transport: SocketTransport,
    address: Address,
    spec: RunSpec,
    topic: str,
    offsets: Mapping[int, int],
) -> Any:
    topic_id = spec.topology.topic_ids.get(topic, NO_TOPIC_ID)
    request = fetch_request(topic, topic_id, offsets, isolation_level=READ_COMMITTED)
    response = transport.ask(address, request)
    [found] = fetched_partitions(response)
    return found


def _parts(header: BatchHeader, data: bytes, *, are_cut: bool) -> list[BatchPart]:
    """Return the whole batch as a part, or its parts if the events of the topic may be cut."""
    parts: list[BatchPart] = []
    with contextlib.suppress(DecodeError, ValueError):  # a batch of another client
        parts = parts_of(data) if are_cut else [BatchPart(event_of(data), 0, header.records_count)]
    return parts or [BatchPart(NO_EVENT, 0, header.records_count)]


def _sequence(header: BatchHeader, first: int) -> int:
    sequence = header.base_sequence
    return sequence if sequence < 0 else next_sequence(sequence, first)


def _append(
    columns: dict[str, list[Any]],
    topic: str,
    partition: int,
    header: BatchHeader,
    parts: Sequence[BatchPart],
    judged: Mapping[int, TransactionRecord],
) -> None:
    """Append the rows of the parts of a batch, or of each of its records in `judged`."""
    rows: list[tuple[Any, ...]]
    if not judged:
        rows = [
            (
                header.base_offset + first,
                _sequence(header, first),
                records,
                None if event_id == NO_EVENT else event_id,
                *[None] * 3,
            )
            for event_id, first, records in parts
        ]
    else:
        rows = [
            (
                offset,
                header.base_sequence,
                1,
                record.event_id,
                record.number,
                *((None, None) if record.source_offset < 0 else record[2:]),
            )
            for offset, record in judged.items()
        ]
    for base_offset, sequence, records, *rest in rows:
        values = (
            topic,
            partition,
            base_offset,
            header.producer_id,
            header.producer_epoch,
            sequence,
            records,
            *rest,
        )
        for name, value in zip(_COLUMNS, values, strict=True):
            columns[name].append(value)
