"""Read and acquire the records of a ShareFetch, or wait until there are some.

Sources: Kafka's `SharePartitionManager.processShareFetch`, `DelayedShareFetch` and
`ShareFetchUtils.processFetchResponse`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition, FetchPartitionData
from broker.cluster.partition_log import PartitionLog
from broker.cluster.share_leaders import LedSharePartition
from broker.cluster.share_loading import load_share_partition
from broker.errors import UNKNOWN_PARTITION, UNKNOWN_TOPIC_ID, Refusal
from broker.fetch.partition_read import FetchParams, is_satisfied, read_partitions
from broker.pending_response import PendingResponse
from broker.share_groups.acquisition import (
    AbortedRange,
    AcquiredRecords,
    FetchedBatch,
    overlapping_bytes,
    record_count,
)
from broker.share_groups.sessions import TopicIdPartition
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.errors import ErrorCode
from protocol.records import (
    CONTROL_FLAG,
    LOG_OVERHEAD_BYTES,
    TRANSACTIONAL_FLAG,
    read_header,
    read_records,
)

RECORD_LOCK_DURATION_KEY = "share.record.lock.duration.ms"


@dataclass(slots=True)
class SharePartitionData:
    """What a ShareFetch response says of one partition."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    records: bytes = b""
    acquired: Sequence[AcquiredRecords] = ()


ShareFetchResult = Mapping[TopicIdPartition, SharePartitionData]


@dataclass(slots=True)
class ShareFetch:
    """A fetch of a member: `partitions` in the order in which they are read."""

    cluster: Cluster
    params: FetchParams
    group_id: str
    member_id: str
    partitions: Sequence[TopicIdPartition]
    max_wait_ms: int
    records_max: int
    batch_size: int
    refused: dict[TopicIdPartition, SharePartitionData] = field(default_factory=dict)
    """Partitions that cannot be read, and why."""

    def load(self, now_ms: int) -> dict[TopicIdPartition, LedSharePartition]:
        """Return the share partitions that this broker leads; note the others as refused."""
        loaded = {}
        self.refused.clear()
        for requested in self.partitions:
            led = self._load(requested, now_ms)
            if isinstance(led, Refusal):
                self.refused[requested] = SharePartitionData(led.error_code, led.message)
            else:
                loaded[requested] = led
        if any(led.is_dropped for led in loaded.values()):
            self._refuse_deleted(loaded)
        return loaded

    def _refuse_deleted(self, loaded: dict[TopicIdPartition, LedSharePartition]) -> None:
        """Refuse what was deleted after it was loaded, while another partition was loaded."""
        for requested in tuple(loaded):
            if self.cluster.topics.get_by_id(requested.topic_id) is None:
                del loaded[requested]
                self.refused[requested] = SharePartitionData(
                    UNKNOWN_TOPIC_ID.error_code, UNKNOWN_TOPIC_ID.message
                )

    def _load(self, requested: TopicIdPartition, now_ms: int) -> LedSharePartition | Refusal:
        topic = self.cluster.topics.get_by_id(requested.topic_id)
        if topic is None:
            return UNKNOWN_TOPIC_ID
        partition = topic.partition(requested.partition_index)
        if partition is None:
            return UNKNOWN_PARTITION
        return load_share_partition(
            self.cluster, self.params.broker_id, topic.topic_id, partition, self.group_id, now_ms
        )

    def readable(
        self, loaded: Mapping[TopicIdPartition, LedSharePartition]
    ) -> dict[TopicIdPartition, CachedPartition]:
        """Return where to read the partitions of which records may be acquired."""
        acquirable = [
            requested for requested, led in loaded.items() if led.share_partition.can_acquire()
        ]
        bytes_max = self.params.bytes_max // max(1, len(acquirable))
        return {
            requested: CachedPartition(
                self._topic_name(requested),
                requested.topic_id,
                requested.partition_index,
                loaded[requested].share_partition.next_fetch_offset(),
                bytes_max,
            )
            for requested in acquirable
        }

    def _topic_name(self, requested: TopicIdPartition) -> str:
        topic = self.cluster.topics.get_by_id(requested.topic_id)
        assert topic is not None
        return topic.name

    def is_satisfied(self, readable: Mapping[TopicIdPartition, CachedPartition]) -> bool:
        """Return whether to respond now: enough bytes, or an error."""
        if not readable:
            return False
        params = self.params
        return params.bytes_min <= 0 or is_satisfied(self.cluster, params, readable.values())

    def acquire(
        self,
        loaded: Mapping[TopicIdPartition, LedSharePartition],
        readable: Mapping[TopicIdPartition, CachedPartition],
        now_ms: int,
    ) -> ShareFetchResult:
        """Read, and acquire what was read."""
        keys = {id(cached): requested for requested, cached in readable.items()}
        read = read_partitions(
            self.cluster, self.params, tuple(readable.values()), omit_unchanged=False
        ).partitions
        result: dict[TopicIdPartition, SharePartitionData] = {}
        left = self.records_max
        for cached, data in read:
            requested = keys[id(cached)]
            led = loaded[requested]
            if led.is_dropped:
                # Another request came in while this one read. The member fetches again.
                result[requested] = SharePartitionData()
                continue
            result[requested] = entry = self._acquire(led, cached, data, left, now_ms)
            left -= record_count(entry.acquired)
        return result | self.refused

    def _acquire(
        self,
        led: LedSharePartition,
        cached: CachedPartition,
        data: FetchPartitionData,
        records_max: int,
        now_ms: int,
    ) -> SharePartitionData:
        if data.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
            # Records were deleted. The member fetches again, from the new start of the log.
            led.share_partition.move_log_start(self._log_start_offset(cached))
            return SharePartitionData()
        if data.error_code is not ErrorCode.NONE:
            return SharePartitionData(data.error_code)
        records = data.records
        batches = list(_batches(records))
        lock_ms: int = self.cluster.share.setting(self.group_id, RECORD_LOCK_DURATION_KEY)
        acquired = led.share_partition.acquire(
            self.member_id,
            batches,
            fetch_offset=cached.fetch_offset,
            records_max=records_max,
            batch_size=self.batch_size,
            lock_expires_ms=now_ms + lock_ms,
            aborted=[
                AbortedRange(aborted.producer_id, aborted.first_offset)
                for aborted in data.aborted_transactions or ()
            ],
        )
        led.watch_locks()
        if not acquired:
            return SharePartitionData()
        begin, end = overlapping_bytes(batches, acquired)
        return SharePartitionData(records=records[begin:end], acquired=acquired)

    def _log_start_offset(self, cached: CachedPartition) -> int:
        topic = self.cluster.topics.get(cached.topic_name or "")
        partition = None if topic is None else topic.partition(cached.partition_index)
        return 0 if partition is None else partition.log.log_start_offset


def _batches(records: bytes) -> Iterator[FetchedBatch]:
    position = 0
    while position < len(records):
        header = read_header(records, position)
        size_bytes = LOG_OVERHEAD_BYTES + header.batch_length
        is_control = bool(header.attributes & CONTROL_FLAG)
        yield FetchedBatch(
            header.base_offset,
            header.base_offset + header.last_offset_delta,
            size_bytes,
            header.producer_id,
            bool(header.attributes & TRANSACTIONAL_FLAG),
            is_control and _is_abort(records[position : position + size_bytes]),
        )
        position += size_bytes


def _is_abort(batch: bytes) -> bool:
    first = next(read_records(batch), None)
    if first is None or first.key is None:
        return False
    return decode_control_key(first.key) == ControlRecordType.ABORT


def fetch_or_wait(
    fetch: ShareFetch, respond: Callable[[ShareFetchResult, int], object], now_ms: int
) -> object:
    """Return the response if there are records or errors, or a `PendingResponse`.

    `respond(result, now_ms)` makes the response.
    """
    loaded = fetch.load(now_ms)
    readable = fetch.readable(loaded)
    if not loaded or fetch.max_wait_ms <= 0 or fetch.is_satisfied(readable):
        return respond(fetch.acquire(loaded, readable, now_ms), now_ms)
    return _wait(fetch, loaded, respond, now_ms)


def _wait(
    fetch: ShareFetch,
    loaded: Mapping[TopicIdPartition, LedSharePartition],
    respond: Callable[[ShareFetchResult, int], object],
    now_ms: int,
) -> PendingResponse:
    """Wait for new or released records, or the end of `max_wait_ms`."""
    cluster, timers = fetch.cluster, fetch.cluster.timers
    topics = (cluster.topics.get_by_id(requested.topic_id) for requested in loaded)
    logs = [
        topic.partitions[requested.partition_index].log
        for topic, requested in zip(topics, loaded, strict=True)
        if topic is not None
    ]
    waits: list[tuple[PartitionLog | LedSharePartition, Callable[[int], None]]] = []
    is_due = False

    def forget() -> None:
        timers.cancel(deadline)
        for place, waiter in waits:
            place.leave(waiter)
        waits.clear()  # they refer to this function: reference counting frees the request

    def finish(now_ms: int) -> None:
        forget()
        # Leaders may have moved, and share partitions may have been dropped: look again.
        current = fetch.load(now_ms)
        result = fetch.acquire(current, fetch.readable(current), now_ms)
        pending.complete(respond(result, now_ms))

    def finish_if_satisfied(now_ms: int) -> None:
        # Another member may have acquired the records since this was scheduled.
        nonlocal is_due
        is_due = False
        if not pending.is_done and is_ready(now_ms):
            finish(now_ms)

    def is_ready(_now_ms: int) -> bool:
        if any(led.is_dropped for led in loaded.values()):
            return True
        return fetch.is_satisfied(fetch.readable(loaded))

    def look_again(now_ms: int) -> None:
        nonlocal is_due
        if not is_due and is_ready(now_ms):
            is_due = True
            timers.schedule(now_ms, finish_if_satisfied)

    pending = PendingResponse(on_cancel=forget, on_force_complete=finish)
    deadline = timers.schedule(now_ms + fetch.max_wait_ms, finish)
    places: list[PartitionLog | LedSharePartition] = [*logs, *loaded.values()]
    for place in places:
        waits.append((place, look_again))
        place.wait(look_again)
    return pending
