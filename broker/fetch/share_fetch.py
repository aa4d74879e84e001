"""Read and acquire the records of a ShareFetch, or wait until there are some.

Sources: Kafka's `SharePartitionManager.processShareFetch`, `DelayedShareFetch` and
`ShareFetchUtils.processFetchResponse`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition, FetchPartitionData
from broker.cluster.partition_log import PartitionLog
from broker.cluster.share_leaders import LedSharePartition, share_partition_key
from broker.cluster.share_loading import load_share_partition
from broker.config.api_versions import release_of
from broker.errors import UNKNOWN_PARTITION, UNKNOWN_TOPIC_ID, Refusal
from broker.fetch.dead_letter_queue import DeadLetterQueue
from broker.fetch.partition_read import (
    FetchParams,
    WaitingBytes,
    is_satisfied,
    read_partitions,
)
from broker.fetch.share_acknowledge import RECORD_LOCK_DURATION_KEY
from broker.fetch.waiting_fetch import WaitingFetch, WaitingPartition
from broker.pending_response import Failed
from broker.share_groups.acquisition import (
    AbortedRange,
    AcquiredRecords,
    FetchedBatch,
    overlapping_bytes,
    record_count,
)
from broker.share_groups.sessions import ShareSessionKey, TopicIdPartition
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.errors import ErrorCode
from protocol.pacing import current_turn, may_pause, paced, paced_elements
from protocol.records import (
    CONTROL_FLAG,
    LOG_OVERHEAD_BYTES,
    TRANSACTIONAL_FLAG,
    read_header,
    read_records,
)
from protocol.releases import Release

ENDS_EMPTY_FETCHES_SINCE: Release = (4, 2)
"""First release that reads no partition if no records or bytes are asked for."""
BATCHES_MAX = 10_000
"""Batches of a partition that one request acquires at most; the next one goes on behind them."""


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
    is_record_limit: bool = False
    refused: dict[TopicIdPartition, SharePartitionData] = field(default_factory=dict)
    """Partitions that cannot be read, and why."""

    @may_pause
    def load(self, now_ms: int) -> dict[TopicIdPartition, LedSharePartition]:
        """Return the share partitions that this broker leads; note the others as refused."""
        loaded = {}
        self.refused.clear()
        for requested in paced_elements(self.partitions):
            led = self._load(requested, now_ms)
            if isinstance(led, Refusal):
                self.refused[requested] = SharePartitionData(led.error_code, led.message)
            else:
                loaded[requested] = led
        if any(led.is_dropped for led in paced_elements(tuple(loaded.values()))):
            self._refuse_deleted(loaded)
        return loaded

    @property
    def is_empty(self) -> bool:
        """Whether the request ends at once, since the member asks for no records or no bytes."""
        values = self.cluster.config.for_broker(self.params.broker_id)
        asks_for_nothing = self.records_max == 0 or self.params.bytes_max == 0
        return asks_for_nothing and release_of(values) >= ENDS_EMPTY_FETCHES_SINCE

    @may_pause
    def unknown(self) -> ShareFetchResult:
        """Return the errors of partitions that do not exist."""
        found = {}
        for requested in paced_elements(self.partitions):
            refusal = self._unknown(requested)
            if refusal is not None:
                found[requested] = SharePartitionData(refusal.error_code, refusal.message)
        return found

    def _unknown(self, requested: TopicIdPartition) -> Refusal | None:
        topic = self.cluster.topics.get_by_id(requested.topic_id)
        if topic is None:
            return UNKNOWN_TOPIC_ID
        return UNKNOWN_PARTITION if topic.partition(requested.partition_index) is None else None

    @may_pause
    def _refuse_deleted(self, loaded: dict[TopicIdPartition, LedSharePartition]) -> None:
        """Refuse what was deleted after it was loaded, while another partition was loaded."""
        for requested in paced_elements(tuple(loaded)):
            if self.cluster.topics.get_by_id(requested.topic_id) is None:
                del loaded[requested]
                self.refused[requested] = SharePartitionData(
                    UNKNOWN_TOPIC_ID.error_code, UNKNOWN_TOPIC_ID.message
                )

    @may_pause
    def _load(self, requested: TopicIdPartition, now_ms: int) -> LedSharePartition | Refusal:
        topic = self.cluster.topics.get_by_id(requested.topic_id)
        if topic is None:
            return UNKNOWN_TOPIC_ID
        partition = topic.partition(requested.partition_index)
        if partition is None:
            return UNKNOWN_PARTITION
        return load_share_partition(
            self.cluster,
            self.params.broker_id,
            topic.topic_id,
            partition,
            self.group_id,
            now_ms,
            DeadLetterQueue,
        )

    @may_pause
    def readable(
        self, loaded: Mapping[TopicIdPartition, LedSharePartition]
    ) -> dict[TopicIdPartition, CachedPartition]:
        """Return where to read the partitions of which records may be acquired."""
        acquirable = [
            (requested, led.share_partition)
            for requested, led in paced_elements(tuple(loaded.items()))
            if led.share_partition.can_acquire()
        ]
        bytes_max = self.params.bytes_max // max(1, len(acquirable))
        readable = {}
        for requested, share_partition in paced_elements(acquirable):
            topic = self.cluster.topics.get_by_id(requested.topic_id)
            if topic is not None:  # else it was deleted during a pause
                readable[requested] = CachedPartition(
                    topic.name,
                    requested.topic_id,
                    requested.partition_index,
                    share_partition.next_fetch_offset(),
                    bytes_max,
                )
        return readable

    @may_pause
    def is_satisfied(self, readable: Mapping[TopicIdPartition, CachedPartition]) -> bool:
        """Return whether to respond now: enough bytes, or an error."""
        if not readable:
            return False
        params = self.params
        return params.bytes_min <= 0 or is_satisfied(self.cluster, params, readable.values())

    @may_pause
    def acquire(
        self,
        loaded: Mapping[TopicIdPartition, LedSharePartition],
        readable: Mapping[TopicIdPartition, CachedPartition],
        now_ms: int,
    ) -> ShareFetchResult:
        """Read, and acquire what was read; without bytes all partitions fail."""
        if self.params.bytes_max <= 0:
            failed = SharePartitionData(ErrorCode.UNKNOWN_SERVER_ERROR)
            return dict.fromkeys(readable, failed) | self.refused
        keys = {id(cached): requested for requested, cached in readable.items()}
        read = read_partitions(
            self.cluster, self.params, tuple(readable.values()), is_in_session=False
        ).partitions
        result: dict[TopicIdPartition, SharePartitionData] = {}
        left = self.records_max
        for cached, data in paced(read):
            requested = keys[id(cached)]
            led = loaded[requested]
            if not self._has_session() or not self._is_led(requested, led, now_ms):
                # Another request came in while this one read. The member fetches again.
                result[requested] = SharePartitionData()
                continue
            result[requested] = entry = self._acquire(led, cached, data, left, now_ms)
            left -= record_count(entry.acquired)
        return result | self.refused

    def _has_session(self) -> bool:
        sessions = self.cluster.share.leaders[self.params.broker_id].sessions
        return sessions.get(ShareSessionKey(self.group_id, self.member_id)) is not None

    def _is_led(self, requested: TopicIdPartition, led: LedSharePartition, now_ms: int) -> bool:
        """Return whether the leader still has it; what closed sessions had is released."""
        key = share_partition_key(self.group_id, requested)
        return self.cluster.share.leaders[self.params.broker_id].partition(key, now_ms) is led

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
        batches = list(islice(_batches(records), BATCHES_MAX))
        lock_ms: int = self.cluster.share.setting(self.group_id, RECORD_LOCK_DURATION_KEY)
        acquired = led.share_partition.acquire(
            self.member_id,
            batches,
            fetch_offset=cached.fetch_offset,
            records_max=records_max,
            batch_size=self.batch_size,
            lock_expires_ms=self.cluster.timers.deadline_ms(now_ms, lock_ms),
            is_record_limit=self.is_record_limit,
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


@may_pause
def fetch_or_wait(
    fetch: ShareFetch, respond: Callable[[ShareFetchResult, int], object], now_ms: int
) -> object:
    """Return the response if there are records or errors, or a `PendingResponse`.

    `respond(result, now_ms)` makes the response.
    """
    if fetch.is_empty:
        return respond(fetch.unknown(), now_ms)
    loaded = fetch.load(now_ms)
    readable = fetch.readable(loaded)
    if not loaded or fetch.max_wait_ms <= 0 or fetch.is_satisfied(readable):
        return respond(fetch.acquire(loaded, readable, now_ms), now_ms)
    waiting = WaitingFetch(
        fetch.cluster,
        now_ms + fetch.max_wait_ms,
        partial(WaitingBytes, fetch.cluster, fetch.params, ()),
        partial(_respond_again, fetch, respond),
        fetch.cluster.in_turns,
        partial(_is_ready, fetch, loaded),
    )
    _watch(fetch, loaded, waiting, now_ms)
    return waiting.pending


@may_pause
def _watch(
    fetch: ShareFetch,
    loaded: Mapping[TopicIdPartition, LedSharePartition],
    waiting: WaitingFetch,
    now_ms: int,
) -> None:
    """Have all partitions call the request when they change, and count what they have."""
    for requested, led in paced_elements(tuple(loaded.items())):
        if waiting.is_over:  # during a pause
            return
        topic = fetch.cluster.topics.get_by_id(requested.topic_id)
        if topic is None:
            waiting.plan_response(now_ms)  # it was deleted during a pause
            continue
        index = requested.partition_index
        cached = CachedPartition(topic.name, topic.topic_id, index, 0, fetch.params.bytes_max)
        wait = _WaitingSharePartition(waiting, cached, topic.partitions[index].log, led)
        waiting.watch(wait)
        wait.is_enough(waiting.found)
    turn = current_turn()
    if turn is not None and turn.is_long:
        waiting.plan_response(now_ms)  # nobody woke this request for what came during a pause


@may_pause
def _is_ready(fetch: ShareFetch, loaded: Mapping[TopicIdPartition, LedSharePartition]) -> bool:
    if any(led.is_dropped for led in paced_elements(tuple(loaded.values()))):
        return True
    return fetch.is_satisfied(fetch.readable(loaded))


@may_pause
def _respond_again(
    fetch: ShareFetch,
    respond: Callable[[ShareFetchResult, int], object],
    now_ms: int,
    deliver: Callable[[object], None],
) -> None:
    """Deliver what there is after a wait: leaders may have moved, and partitions been dropped."""
    try:
        loaded = fetch.load(now_ms)
        response = respond(fetch.acquire(loaded, fetch.readable(loaded), now_ms), now_ms)
    except Exception as error:  # noqa: BLE001 - the dispatcher reports it
        response = Failed(error)
    deliver(response)


class _WaitingSharePartition(WaitingPartition):
    """The waiter of a share partition, which also changes when records are released."""

    __slots__ = ("_led",)

    def __init__(
        self,
        fetch: WaitingFetch,
        cached: CachedPartition,
        log: PartitionLog,
        led: LedSharePartition,
    ) -> None:
        super().__init__(fetch, cached, log)
        self._led = led

    def join(self) -> None:
        """See `WaitingPartition`."""
        super().join()
        self._led.wait(self)

    def leave(self) -> None:
        """See `WaitingPartition`."""
        super().leave()
        self._led.leave(self)

    def is_enough(self, found: WaitingBytes) -> bool:
        """Count what may be acquired."""
        if self._led.is_dropped:
            return True
        share_partition = self._led.share_partition
        if not share_partition.can_acquire():
            found.leave_out(self._cached)
            return False
        self._cached.fetch_offset = share_partition.next_fetch_offset()
        return super().is_enough(found)
