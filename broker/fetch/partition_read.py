"""Read the partitions of a Fetch from the logs.

Sources: Kafka's `ReplicaManager.readFromLog`, `Partition.fetchRecords` and `DelayedFetch`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from broker.administration.epoch_end import UNDEFINED, epoch_end_offset
from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import (
    CachedPartition,
    FetchPartitionData,
    SentPartition,
    must_send,
    new_partition_data,
)
from broker.cluster.leader_epoch import leader_epoch_error
from broker.cluster.partition_log import SHORT_BATCHES_MAX, PartitionLog
from broker.cluster.topics import Partition
from broker.fetch.replica_selection import LEADER, preferred_read_replica
from broker.responses import JOINED_PARTS_MAX, PART_BYTES_MIN
from protocol import records
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_elements

_NO_ERROR = ErrorCode.NONE


@dataclass(slots=True)
class FetchParams:
    """How a request reads (Kafka's `FetchParams`).

    `replica_id` is -1 for a consumer. `rack_id` is empty unless the broker selects replicas by
    rack. `bytes_max` and `bytes_min` are those of the request, made smaller by a quota.
    """

    broker_id: int
    bytes_max: int
    bytes_min: int
    replica_id: int = -1
    rack_id: str = ""
    requires_leader: bool = True
    reads_committed: bool = False
    supports_zstd: bool = True
    takes_turns: bool = False
    """Whether the request may read very many batches: it pauses then."""

    @property
    def is_from_follower(self) -> bool:
        """Whether a broker sent the request, to replicate."""
        return self.replica_id >= 0


class ManyBatchesError(Exception):
    """A request would read more batches than one without `FetchParams.takes_turns` may."""


class ReadResult(NamedTuple):
    """What was read. `is_final`: the response does not wait for more."""

    partitions: list[SentPartition]
    is_final: bool


_new_result: Callable[[tuple[list[SentPartition], bool]], ReadResult]
_new_result = partial(tuple.__new__, ReadResult)
"""Make a result in less time than the class takes."""


def find_partition(cluster: Cluster, partition: CachedPartition) -> Partition | None:
    """Return the partition of this name; None if there is none, or its topic id is unknown."""
    if partition.topic_name is None:
        return None
    topic = cluster.topics.get(partition.topic_name)
    return None if topic is None else topic.partition(partition.partition_index)


def unknown_error(partition: CachedPartition) -> ErrorCode:
    """Return the error of a partition that `find_partition` does not find."""
    if partition.topic_name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@may_pause
def read_partitions(
    cluster: Cluster,
    params: FetchParams,
    requested: Sequence[CachedPartition],
    *,
    is_in_session: bool,
) -> ReadResult:
    """Read all partitions in their order, within the bytes that the response may have.

    The first partition with records returns at least one batch, however large it is (KIP-74). For a
    session the result leaves out partitions of which there is nothing to say.

    Raises:
        ManyBatchesError: it is long, and `params` do not say that it takes turns.
    """
    sent: list[SentPartition] = []
    byte_count = batch_count = 0
    bytes_max = params.bytes_max
    is_final = False
    for cached in paced_elements(requested):
        data = read_partition(cluster, params, cached, bytes_max, byte_count == 0)
        if not is_in_session or must_send(cached, data):
            sent.append((cached, data))
        batches = data.batches
        if batches:
            batch_count += len(batches)
            if batch_count > SHORT_BATCHES_MAX and not params.takes_turns:
                raise ManyBatchesError
            record_bytes = data.record_bytes
            byte_count += record_bytes
            bytes_max -= record_bytes
        else:
            is_final |= (
                data.is_beyond_end
                or data.error_code != _NO_ERROR
                or data.preferred_read_replica != LEADER
                or data.diverging_epoch is not None
            )
        # As in Kafka, only the first partition fails.
        bytes_max = max(bytes_max, 0)
    return _new_result((sent, is_final or byte_count >= params.bytes_min))


@may_pause
def is_satisfied(
    cluster: Cluster, params: FetchParams, requested: Collection[CachedPartition]
) -> bool:
    """Return whether a fetch may complete: an error, or enough bytes."""
    waiting_bytes = WaitingBytes(cluster, params, ())
    return any(map(waiting_bytes.is_enough_with, paced_elements(tuple(requested))))


class _Counted(NamedTuple):
    """The bytes of one partition that were counted: at most `limit`, up to `end_offset`."""

    log: PartitionLog | None
    fetch_offset: int
    limit: int
    end_offset: int
    byte_count: int


class WaitingBytes:
    """How many bytes a fetch that waits could read by now (Kafka's `DelayedFetch.tryComplete`).

    A change of one partition costs one look at its new batches, however many partitions the request
    names, and however much of this one it has counted.
    """

    def __init__(
        self, cluster: Cluster, params: FetchParams, read: Sequence[SentPartition]
    ) -> None:
        """`read` is what the request found before it began to wait: less than `bytes_min`."""
        self._cluster = cluster
        self._params = params
        self._counted: dict[CachedPartition, _Counted] = {}
        self._total = 0
        for cached, data in read:
            if data.batches:
                counted = self._counted[cached] = self._read(cached, data)
                self._total += counted.byte_count

    @property
    def has_any(self) -> bool:
        """Whether there is something to read."""
        return self._total > 0

    def is_enough_with(self, cached: CachedPartition) -> bool:
        """Look at a partition again; return whether the fetch may complete: bytes, or an error."""
        cluster, params = self._cluster, self._params
        partition = checked_partition(cluster, params, cached)
        if not isinstance(partition, Partition):
            return True
        log = partition.log
        if not log.log_start_offset <= cached.fetch_offset <= log.log_end_offset:
            return True
        if cached.fetch_offset < log.log_end_offset:
            end_offset = _end_offset(params, partition)
            if params.bytes_min <= 1 and cached.fetch_offset < end_offset and not log.has_gaps:
                return True  # one batch is enough, whatever its size
            counted = self._counted.get(cached)
            found = self._count(counted, cached, log, end_offset)
            self._total += found.byte_count - (0 if counted is None else counted.byte_count)
            self._counted[cached] = found
        return self._total >= params.bytes_min

    def leave_out(self, cached: CachedPartition) -> None:
        """Count a partition no more until the next look at it."""
        counted = self._counted.pop(cached, None)
        if counted is not None:
            self._total -= counted.byte_count

    def _read(self, cached: CachedPartition, data: FetchPartitionData) -> _Counted:
        """Return what was counted by a read, which may have paused since."""
        first, last = data.batches[0], data.batches[-1]
        fetch_offset = cached.fetch_offset
        partition = find_partition(self._cluster, cached)
        log = None if partition is None else partition.log
        if log is not None and not (
            log.has_batch(last)
            and records.batch_base_offset(first) <= fetch_offset <= records.last_offset(first)
        ):
            log = None  # the topic was created again, or the client fetches from another offset
        end_offset = records.last_offset(last) + 1
        return _Counted(log, fetch_offset, self._limit(cached), end_offset, data.record_bytes)

    def _count(
        self, counted: _Counted | None, cached: CachedPartition, log: PartitionLog, end_offset: int
    ) -> _Counted:
        """Count new batches; count all again if what was counted is not as it was."""
        fetch_offset, limit = cached.fetch_offset, self._limit(cached)
        if (
            counted is None
            or counted.log is not log
            or counted.fetch_offset != fetch_offset
            or counted.limit != limit
            or not fetch_offset < counted.end_offset <= end_offset
            or log.has_gaps  # compaction may have removed counted batches
        ):
            start_offset, byte_count = fetch_offset, 0
        else:
            start_offset, byte_count = counted.end_offset, counted.byte_count
        if byte_count < limit:
            byte_count += log.readable_bytes(start_offset, limit - byte_count, end_offset)
        return _Counted(log, fetch_offset, limit, end_offset, min(byte_count, limit))

    def _limit(self, cached: CachedPartition) -> int:
        return min(self._params.bytes_min, max(1, cached.max_bytes))


def checked_partition(
    cluster: Cluster, params: FetchParams, cached: CachedPartition
) -> Partition | ErrorCode:
    """Return the partition if this broker may serve it to this client."""
    assert cached.topic_name is not None
    topic = cluster.topics.get(cached.topic_name)
    if topic is None or (partition := topic.partition(cached.partition_index)) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic_id = cached.topic_id
    has_other_id = topic_id is not None and topic_id is not topic.topic_id
    if has_other_id and topic_id != topic.topic_id and params.broker_id in partition.replicas:
        # The topic was deleted and created again since the client named it.
        return ErrorCode.INCONSISTENT_TOPIC_ID
    error_code = leader_epoch_error(
        partition,
        params.broker_id,
        cached.current_leader_epoch,
        requires_leader=params.requires_leader,
    )
    if error_code:
        return error_code
    if params.replica_id >= 0 and (
        params.replica_id == params.broker_id or params.replica_id not in partition.replicas
    ):
        knows_epoch = cached.current_leader_epoch >= 0
        return ErrorCode.UNKNOWN_LEADER_EPOCH if knows_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
    return partition


# Hot path: inlined on purpose.
@may_pause
def read_partition(  # noqa: C901, PLR0912, PLR0915
    cluster: Cluster,
    params: FetchParams,
    cached: CachedPartition,
    bytes_max: int,
    at_least_one: bool,
) -> FetchPartitionData:
    """Check and read one partition; with `at_least_one` its first batch may be larger than allowed.

    Each partition of each request is read here, and all rules about that are here and in
    `checked_partition`.
    """
    partition = checked_partition(cluster, params, cached)
    if not isinstance(partition, Partition):
        return FetchPartitionData(partition)
    log, fetch_offset = partition.log, cached.fetch_offset
    log_start_offset, high_watermark = log.log_start_offset, log.high_watermark
    stable_offset = high_watermark
    if partition.producers.first_unstable_offset >= 0:
        stable_offset = partition.last_stable_offset
    if params.rack_id:
        if partition.leader_id == params.broker_id:
            replica_id = preferred_read_replica(cluster, partition, params.rack_id, fetch_offset)
            if replica_id != LEADER:
                offsets = high_watermark, stable_offset, log_start_offset
                return FetchPartitionData(_NO_ERROR, *offsets, preferred_read_replica=replica_id)
        elif params.broker_id in partition.replica_ends:
            replica_end = partition.end_of(params.broker_id)
            if fetch_offset > replica_end:
                return FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE)
            high_watermark = min(high_watermark, replica_end)
            stable_offset = min(stable_offset, replica_end)
    if fetch_offset < log_start_offset:
        return FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE)
    if cached.last_fetched_epoch >= 0:
        end = epoch_end_offset(partition, cached.last_fetched_epoch)
        if end == UNDEFINED:
            return FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE)
        if end[0] < cached.last_fetched_epoch or end[1] < fetch_offset:
            offsets = high_watermark, stable_offset, log_start_offset
            return FetchPartitionData(_NO_ERROR, *offsets, diverging_epoch=end)
    if fetch_offset > log.log_end_offset:
        return FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE)
    reads_committed = params.reads_committed
    end_offset = stable_offset if reads_committed else high_watermark
    if params.replica_id >= 0:
        end_offset = log.log_end_offset
    if fetch_offset >= end_offset:
        is_beyond_end = fetch_offset > end_offset < log.base_offset_at(fetch_offset)
        # fmt: off
        return new_partition_data((
            _NO_ERROR, high_watermark, stable_offset, log_start_offset, (), LEADER, None,
            () if reads_committed else None, is_beyond_end, 0,
        ))
        # fmt: on
    limit = min(cached.max_bytes, bytes_max)
    if limit < 0:
        return FetchPartitionData(ErrorCode.UNKNOWN_SERVER_ERROR)  # an IllegalArgumentException
    takes_turns = params.takes_turns
    if takes_turns:
        runs: Iterable[list[bytes]]
        runs = log.read_runs(fetch_offset, limit, at_least_one=at_least_one, end_offset=end_offset)
    else:
        runs = (
            log.read_short(fetch_offset, limit, at_least_one=at_least_one, end_offset=end_offset),
        )
    batches: list[bytes] = []
    last, aborted = b"", None
    for run in runs:
        if not params.supports_zstd and any(map(records.is_zstd, run)):
            return FetchPartitionData(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        batches = [*batches, *_joined(run)] if takes_turns else run
        if reads_committed and run:
            last = run[-1]
    if reads_committed:
        if last:
            read_end = records.last_offset(last) + 1
            aborted = tuple(log.transaction_index.overlapping(fetch_offset, read_end))
        elif limit == 0:
            aborted = ()
    # Often it is one batch, and a sum takes four times as long.
    record_bytes = len(batches[0]) if len(batches) == 1 else sum(map(len, batches))
    # fmt: off
    return new_partition_data((
        _NO_ERROR, high_watermark, stable_offset, log_start_offset, batches, LEADER, None,
        aborted, False, record_bytes,
    ))
    # fmt: on


@may_pause
def _joined(batches: list[bytes]) -> list[bytes]:
    """Return the bytes of small batches in a few parts; it takes time to go through many."""
    if sum(map(len, batches)) >= PART_BYTES_MIN * len(batches):
        return batches
    starts = paced(range(0, len(batches), JOINED_PARTS_MAX))
    return [b"".join(batches[start : start + JOINED_PARTS_MAX]) for start in starts]


def _end_offset(params: FetchParams, partition: Partition) -> int:
    """Return the offset up to which a request may read."""
    log_end_offset = partition.end_of(params.broker_id)
    if params.reads_committed:
        return min(partition.last_stable_offset, log_end_offset)
    return (
        log_end_offset
        if params.is_from_follower
        else min(partition.log.high_watermark, log_end_offset)
    )
