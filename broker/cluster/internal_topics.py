"""The internal topics, in which coordinators keep their state, and how records get into them.

`Cluster` creates an internal topic when a client looks for the first coordinator, and charges
nobody for it. The leader of the partition of a key is the key's coordinator.

Sources: Kafka's `Topic`, `AutoTopicCreationManager`, `GroupCoordinatorService.partitionFor` and
`CoordinatorRuntime` (the batches).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from broker.cluster.compaction import Compaction
from broker.cluster.topics import (
    GROUP_METADATA_TOPIC,
    SHARE_GROUP_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    Partition,
    Topic,
)
from broker.config.broker_config import BrokerConfig
from broker.timers import SteppedWork, Timers
from protocol.batch_builder import BatchBuilder, stamp_producer, uncompressed_batch
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.coordinator_records import COORDINATOR_SEQUENCE, CoordinatorRecord
from protocol.hash_order import as_java_int, string_hash
from protocol.records import (
    COMPRESSION_NAMES,
    CONTROL_FLAG,
    HEADER_BYTES,
    TRANSACTIONAL_FLAG,
    read_header,
    read_records,
    stamp,
)

_INT32_MIN = 1 << 31
_NO_SEQUENCE = -1
_NO_PRODUCER = (-1, -1)
_RECORD_OVERHEAD_BYTES_MAX = 23
"""Lengths of record, key and value, offset delta (five bytes at most), and three single bytes."""


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """What the broker's configuration says about an internal topic.

    The fields `..._key` name the broker's keys. `settings` are the topic's own keys with their
    values, `settings_from` those whose value is that of a broker's key. Without a `min_isr_key` the
    default of the brokers applies.
    """

    name: str
    partition_count_key: str
    replication_factor_key: str
    settings: Mapping[str, str]
    settings_from: Mapping[str, str]
    min_isr_key: str | None = None

    def overrides(self, config: BrokerConfig, replication_factor: int) -> dict[str, str]:
        """Return the configuration that the topic is created with."""
        copied = {name: str(config[key]) for name, key in self.settings_from.items()}
        if self.min_isr_key is not None:
            copied["min.insync.replicas"] = str(self._min_isr(config, replication_factor))
        return {**self.settings, **copied}

    def _min_isr(self, config: BrokerConfig, replication_factor: int) -> int:
        """Return `min.insync.replicas`; by default one replica may be down, as with Kafka's 3."""
        configured: int = config[self.min_isr_key or ""]
        if self.min_isr_key in config.overrides:
            return configured
        return min(configured, max(1, replication_factor - 1))

    def replication_factor(self, config: BrokerConfig, broker_count: int) -> int:
        """Return the number of replicas; the default is as many as possible, up to 3."""
        configured: int = config[self.replication_factor_key]
        if self.replication_factor_key in config.overrides:
            return configured
        return min(configured, broker_count)


GROUP_METADATA = InternalTopic(
    name=GROUP_METADATA_TOPIC,
    partition_count_key="offsets.topic.num.partitions",
    replication_factor_key="offsets.topic.replication.factor",
    settings={"cleanup.policy": "compact", "compression.type": "producer"},
    settings_from={"segment.bytes": "offsets.topic.segment.bytes"},
)
"""`__consumer_offsets`: groups and their committed offsets."""

TRANSACTION_STATE = InternalTopic(
    name=TRANSACTION_STATE_TOPIC,
    partition_count_key="transaction.state.log.num.partitions",
    replication_factor_key="transaction.state.log.replication.factor",
    settings={
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "unclean.leader.election.enable": "false",
    },
    settings_from={"segment.bytes": "transaction.state.log.segment.bytes"},
    min_isr_key="transaction.state.log.min.isr",
)
"""`__transaction_state`: transactional ids and their transactions."""

SHARE_GROUP_STATE = InternalTopic(
    name=SHARE_GROUP_STATE_TOPIC,
    partition_count_key="share.coordinator.state.topic.num.partitions",
    replication_factor_key="share.coordinator.state.topic.replication.factor",
    settings={"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"},
    settings_from={
        "segment.bytes": "share.coordinator.state.topic.segment.bytes",
        "min.insync.replicas": "share.coordinator.state.topic.min.isr",
    },
)
"""`__share_group_state`: what the leaders of share partitions store."""

BY_NAME = {internal.name: internal for internal in (GROUP_METADATA, TRANSACTION_STATE)}
"""The internal topics that Metadata creates when a client names them."""
ALL_BY_NAME = {**BY_NAME, SHARE_GROUP_STATE.name: SHARE_GROUP_STATE}
"""All internal topics."""


@lru_cache(maxsize=4096)
def partition_for(key: str, partition_count: int) -> int:
    """Return the partition of a key: the absolute value of Java's hash code of it, modulo."""
    return partition_for_hash(string_hash(key), partition_count)


def partition_for_hash(key_hash: int, partition_count: int) -> int:
    """Return the partition of a key with this hash, 0 to 2**32 - 1."""
    # Kafka's `Utils.abs` has no positive counterpart of the smallest number, and takes 0.
    return abs(as_java_int(key_hash)) % _INT32_MIN % partition_count


def append_records(
    topic: Topic,
    partition: Partition,
    records: Sequence[CoordinatorRecord],
    compression_codec: int,
    now_ms: int,
    producer: tuple[int, int] | None = None,
) -> None:
    """Append records to an internal topic, as batches that the topic's configuration allows.

    With a producer id and epoch they belong to their transaction, until its marker is appended.
    """
    if len(records) == 1 or batch_bytes_max(records) <= topic.max_message_bytes:
        append_batch(topic, partition, records, compression_codec, now_ms, producer)
    else:
        for part in _split(records, topic.max_message_bytes):
            append_batch(topic, partition, part, compression_codec, now_ms, producer)


def append_batch(
    topic: Topic,
    partition: Partition,
    records: Sequence[CoordinatorRecord],
    compression_codec: int,
    now_ms: int,
    producer: tuple[int, int] | None = None,
) -> None:
    """Append records as one batch, as `append_records` does."""
    log, compaction, leader_epoch = partition.log, partition.compaction, partition.leader_epoch
    base_offset = log.log_end_offset
    base_sequence = _NO_SEQUENCE if topic.name == TRANSACTION_STATE_TOPIC else COORDINATOR_SEQUENCE
    if compression_codec:
        batch = _compressed_batch(
            records, base_offset, leader_epoch, now_ms, compression_codec, producer
        )
    else:
        batch = uncompressed_batch(
            records, base_offset, leader_epoch, now_ms, producer, base_sequence
        )
    log.append(batch, len(records), leader_epoch)
    is_due = False
    if producer is not None:
        partition.producers.apply(
            *producer, base_sequence, len(records) - 1, base_offset, now_ms, is_transactional=True
        )
        if compaction is not None:
            compaction.add_transactional(producer[0], base_offset, records)
            is_due = compaction.is_due()
    elif compaction is not None:
        is_due = compaction.add(base_offset, records, now_ms)
    if is_due and compaction is not None:
        compact(topic, partition, compaction, now_ms)
    if log.waiters:
        log.wake(now_ms)


def _compressed_batch(
    records: Sequence[CoordinatorRecord],
    base_offset: int,
    leader_epoch: int,
    now_ms: int,
    codec: int,
    producer: tuple[int, int] | None,
) -> bytes:
    builder = BatchBuilder(COMPRESSION_NAMES[codec], batch_bytes_max(records))
    for key, value in records:
        builder.append(now_ms, key, value, ())
    built = stamp_producer(
        builder.build(),
        *(producer or _NO_PRODUCER),
        COORDINATOR_SEQUENCE,
        is_transactional=producer is not None,
    )
    return stamp(built, 0, len(built), base_offset, leader_epoch)


def note_appended(topic: Topic, partition: Partition, now_ms: int) -> None:
    """Note the last batch of the log: a marker, or what a client produced."""
    log, compaction = partition.log, partition.compaction
    if compaction is None:
        return
    (batch,) = log.read(log.log_end_offset - 1, 0, at_least_one=True)
    _note_batch(compaction, batch, now_ms)
    if compaction.is_due():
        compact(topic, partition, compaction, now_ms)


def index_of_keys(batches: Iterable[bytes], timers: Timers | None, now_ms: int) -> Compaction:
    """Return what the compaction of a log has to know that has lost its end."""
    compaction = Compaction()
    compaction.timers = timers
    for batch in batches:
        _note_batch(compaction, batch, now_ms)
    return compaction


def _note_batch(compaction: Compaction, batch: bytes, now_ms: int) -> None:
    header, records = read_header(batch, 0), tuple(read_records(batch))
    pairs = [(record.key or b"", record.value) for record in records]
    if header.attributes & CONTROL_FLAG:
        is_commit = decode_control_key(pairs[0][0]) == ControlRecordType.COMMIT
        compaction.end_transaction(
            header.producer_id, header.base_offset, now_ms, is_commit=is_commit
        )
    elif header.attributes & TRANSACTIONAL_FLAG:
        compaction.add_transactional(header.producer_id, header.base_offset, pairs)
    else:
        compaction.add(header.base_offset, pairs, now_ms)


def batch_bytes_max(records: Sequence[CoordinatorRecord]) -> int:
    """Return the maximum size of a batch with these records, before compression."""
    size_bytes = HEADER_BYTES + _RECORD_OVERHEAD_BYTES_MAX * len(records)
    for key, value in records:
        size_bytes += len(key)
        if value is not None:
            size_bytes += len(value)
    return size_bytes


def compact(topic: Topic, partition: Partition, compaction: Compaction, now_ms: int) -> None:
    """Remove the stale records of a partition: at once, or in steps of a timer if there are many.

    The caller is in the middle of a request, and its next append may come before the last step.
    """
    log = partition.log
    if compaction.is_running or log.high_watermark < log.log_end_offset:
        return  # a record that is not committed makes no other one stale
    steps = compaction.steps(log, now_ms, topic.config["delete.retention.ms"])
    if compaction.timers is None:
        for _ in steps:
            pass
    else:
        SteppedWork.of(compaction.timers, steps).go_on(now_ms)


def _split(
    records: Sequence[CoordinatorRecord], bytes_max: int
) -> Iterator[Sequence[CoordinatorRecord]]:
    """Yield the records in parts whose batches have at most `bytes_max`, one record at least."""
    start, size_bytes = 0, HEADER_BYTES
    for index, record in enumerate(records):
        record_bytes = batch_bytes_max((record,)) - HEADER_BYTES
        if index > start and size_bytes + record_bytes > bytes_max:
            yield records[start:index]
            start, size_bytes = index, HEADER_BYTES
        size_bytes += record_bytes
    yield records[start:]
