"""The partitions of a snapshot: what a log has at one moment, and how it is saved.

Source: Kafka's `ProducerStateManager.takeSnapshot` and `LeaderEpochCheckpointFile`, for what is
beside the records.
"""

from base64 import b64encode
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from broker.cluster.cluster import Cluster
from broker.cluster.producer_rules import adopt_rule_of_leader
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.cluster.transaction_index import AbortedTransaction
from broker.http_admin.json_parts import encoded_elements
from broker.http_admin.operation import Problem
from broker.http_admin.snapshot_document import (
    SavedAbort,
    SavedBatch,
    SavedEpoch,
    SavedPartition,
    SavedProducer,
    SavedRecord,
    SavedReplica,
)
from producer_state.entries import ProducerEntries
from producer_state.rules import Batch, Entry
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.pacing import LOOK_EVERY, current_turn, may_pause, paced_elements, paced_stream
from protocol.records import (
    CONTROL_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    read_header,
    read_records,
)

_FIRST_EPOCH = ((0, 0),)


class LeftBytes:
    """How many bytes of records a snapshot has room for."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = self._left = bytes_max

    def take(self, byte_count: int) -> None:
        """Use some of them.

        Raises:
            Problem: 409, there are not so many.
        """
        self._left -= byte_count
        if self._left < 0:
            mib = self._bytes_max >> 20
            detail = f"the cluster has more than {mib} MiB of records; use records=false"
            raise Problem(409, detail)


@dataclass(frozen=True, slots=True)
class LogAtOnce:
    """What a log, its producers and its transactions are at one moment."""

    batches: list[bytes]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    leader_epochs: tuple[tuple[int, int], ...]
    producers: ProducerEntries
    aborted: list[AbortedTransaction]


def log_at_once(partition: Partition) -> LogAtOnce:
    """Return what a log is now; it copies no record and decodes no producer."""
    log = partition.log
    return LogAtOnce(
        list(log.rewind()),
        log.log_start_offset,
        log.log_end_offset,
        log.high_watermark,
        log.epoch_starts,
        partition.producers.copied(),
        list(log.transaction_index.overlapping(0, log.log_end_offset)),
    )


def saved_leader(partition: Partition) -> SavedPartition:
    """Return the replicas and the leader of a partition; what is as in a new topic is left out."""
    replicas = list(partition.replicas)
    is_new = (
        partition.leader_id == replicas[0]
        and partition.leader_epoch == 0
        and list(partition.isr) == replicas
    )
    return SavedPartition(
        replicas,
        leader_id=None if is_new else partition.leader_id,
        leader_epoch=partition.leader_epoch,
        isr=None if is_new else list(partition.isr),
        eligible_leader_replicas=list(partition.eligible_leader_replicas),
        last_known_leader_id=partition.last_known_leader_id,
        behind=[SavedReplica(*entry) for entry in partition.replica_ends.items()],
    )


@may_pause
def fill_log(saved: SavedPartition, log: LogAtOnce, left: LeftBytes, *, all_batches: bool) -> None:
    """Add the records of a log to a saved partition, and what belongs to them.

    With `all_batches` each batch is saved as its bytes, else those that records cannot replace.
    """
    epochs = log.leader_epochs
    saved.leader_epochs = [] if epochs in {(), _FIRST_EPOCH} else [SavedEpoch(*e) for e in epochs]
    saved.log_start_offset, saved.log_end_offset = log.log_start_offset, log.log_end_offset
    if log.high_watermark < log.log_end_offset:
        saved.high_watermark = log.high_watermark
    raw: list[str] = []
    saved.records = _encoded(_saved_records(log, raw, left, all_batches=all_batches))
    saved.batches = _encoded(raw)
    saved.producers = _encoded(_saved_producer(*known) for known in log.producers.entries())
    saved.aborted_transactions = [SavedAbort(*transaction) for transaction in log.aborted]


@may_pause
def _encoded(elements: Iterable[Any]) -> Any:
    """Return a list as encoded JSON, which takes less memory."""
    return encoded_elements(elements)


class _Outcomes:
    """Which batches of a log are of open and of aborted transactions."""

    def __init__(self, log: LogAtOnce) -> None:
        self._producers = log.producers
        self._aborted: dict[int, list[AbortedTransaction]] = {}
        for transaction in log.aborted:
            self._aborted.setdefault(transaction.producer_id, []).append(transaction)

    def is_committed(self, header: BatchHeader) -> bool:
        """Return whether a batch without markers is of no transaction, or of a committed one."""
        if not header.attributes & TRANSACTIONAL_FLAG:
            return True
        producer = self._producers.entry(header.producer_id)
        if producer is not None and 0 <= producer.current_txn_start_offset <= header.base_offset:
            return False
        aborted = self._aborted.get(header.producer_id, [])
        index = bisect_left(aborted, header.base_offset, key=lambda one: one.last_offset)
        return index == len(aborted) or aborted[index].first_offset > header.base_offset


@may_pause
def _saved_records(
    log: LogAtOnce, raw: list[str], left: LeftBytes, *, all_batches: bool
) -> Iterator[SavedRecord]:
    """Yield the records of the batches that they can replace; add the others to `raw`.

    The marker of a committed transaction is neither: its offset is one without a record.
    """
    outcomes = _Outcomes(log)
    turn = current_turn()
    for batch in log.batches:
        header, records = read_header(batch, 0), None
        if not all_batches:
            with suppress(ValueError):
                records = list(paced_stream(read_records(batch), LOOK_EVERY))
        is_marker = bool(header.attributes & CONTROL_FLAG)
        if records is None or not (is_marker or outcomes.is_committed(header)):
            raw.append(_as_base64(batch, left))
        elif is_marker:
            keys = [record.key or b"" for record in records]
            if any(decode_control_key(key) != ControlRecordType.COMMIT for key in keys):
                raw.append(_as_base64(batch, left))
        else:
            for record in records:
                if record.offset >= log.log_start_offset:
                    left.take(len(record.key or b"") + len(record.value or b""))
                    yield SavedRecord.of(record)
        if turn is not None:
            turn.pause()


def _as_base64(batch: bytes, left: LeftBytes) -> str:
    left.take(len(batch))
    return b64encode(batch).decode()


def _saved_producer(producer_id: int, entry: Entry) -> SavedProducer:
    return SavedProducer(
        producer_id,
        entry.producer_epoch,
        [SavedBatch(*batch) for batch in entry.batches],
        entry.floor,
        entry.coordinator_epoch,
        entry.last_timestamp,
        entry.current_txn_start_offset,
    )


# Loading -----------------------------------------------------------------------------------------


def load_leader(
    cluster: Cluster, topic: Topic, partition: Partition, saved: SavedPartition
) -> None:
    """Have a new partition be led as it was saved, before it has records.

    Raises:
        Problem: 422, the leader or a replica in sync is none of its replicas.
    """
    partition.leader_epoch = saved.leader_epoch
    if saved.leader_id is None:
        return
    isr = list(partition.isr) if saved.isr is None else saved.isr
    known = {NO_LEADER, *partition.replicas}
    if not {saved.leader_id, *isr, *saved.eligible_leader_replicas} <= known:
        name = f"{partition.topic_name}-{partition.partition_index}"
        raise Problem(422, f"topics: {name}: its leader, or one in sync, is none of its replicas")
    partition.leader_id, partition.isr = saved.leader_id, tuple(isr)
    partition.eligible_leader_replicas = tuple(saved.eligible_leader_replicas)
    partition.last_known_leader_id = saved.last_known_leader_id
    if saved.behind:
        partition.replica_ends = {entry.node_id: entry.log_end_offset for entry in saved.behind}
    adopt_rule_of_leader(cluster.config, partition)
    topic.hold_or_release(partition)


@may_pause
def load_producers(partition: Partition, saved: SavedPartition) -> None:
    """Have a partition know its producers and aborted transactions.

    Raises:
        Problem: 422, a producer is there twice.
    """
    known: set[int] = set()
    for producer in paced_elements(saved.producers):
        if producer.producer_id in known:
            name = f"{partition.topic_name}-{partition.partition_index}"
            raise Problem(422, f"topics: {name}: producer {producer.producer_id} is there twice")
        known.add(producer.producer_id)
        entry = Entry(
            producer.producer_epoch,
            tuple(Batch(*msgspec.structs.astuple(batch)) for batch in producer.batches),
            producer.floor,
            producer.coordinator_epoch,
            producer.last_timestamp,
            producer.current_txn_start_offset,
        )
        partition.producers.restore(producer.producer_id, entry)
    for aborted in paced_elements(saved.aborted_transactions):
        transaction = AbortedTransaction(*msgspec.structs.astuple(aborted))
        partition.log.transaction_index.append(transaction)
