"""Fetch sessions of one broker: what each client fetches, and what it was sent (KIP-227).

Sources: Kafka's `FetchSession`, `FetchSessionCacheShard` and `FetchManager`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from broker.cluster.transaction_index import AbortedTransaction
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, no_pause, paced_elements
from quotas.metrics import Measurement

NO_SESSION_ID = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
CHANGING_EPOCH = -2
"""The epoch of a session while a request changes its partitions, which may pause."""
EPOCH_MAX = (1 << 31) - 1
SHARD_COUNT = 8
SHARD_ID_RANGE = ((1 << 31) - 1) // SHARD_COUNT
EVICTION_MS = 120_000
"""A session may be evicted if it is unused for so long, or so old and smaller than a new one."""
PARTITIONS_MAX = 200_000
"""Partitions in all sessions of a broker; Kafka bounds the number of sessions only."""
GROUP = "FetchSessionCache"

NO_TOPIC_ID = UUID(int=0)
"""Stands for a topic name in Kafka: its sessions cannot hold a partition that has neither."""

PartitionKey = tuple[str | UUID, int]
"""Topic id, or topic name before version 13, and partition index."""


class CachedPartition:
    """One partition of a request or session: what the client asks for, and what it was last sent.

    `topic_name` is None if the topic id is unknown; `topic_id` is None before version 13.
    `high_watermark` and `log_start_offset` are those of the last response; -1 before the first one.
    """

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "partition_index",
        "topic_id",
        "topic_name",
    )

    def __init__(
        self,
        topic_name: str | None,
        topic_id: UUID | None,
        partition_index: int,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partition_index = partition_index
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.high_watermark = -1
        self.log_start_offset = -1

    @property
    def key(self) -> PartitionKey:
        """The key in the partitions of a session."""
        topic = self.topic_id if self.topic_id is not None else self.topic_name
        assert topic is not None
        return topic, self.partition_index

    @property
    def is_nameless(self) -> bool:
        """Whether its topic id is zero, and so no topic's."""
        return self.topic_name is None and self.topic_id == NO_TOPIC_ID

    def update_request(self, request: "CachedPartition") -> bool:
        """Replace what the client asks for by that of a later request.

        Returns whether more than the fetch offset has changed.
        """
        has_changed = (
            self.max_bytes != request.max_bytes
            or self.current_leader_epoch != request.current_leader_epoch
            or self.last_fetched_epoch != request.last_fetched_epoch
        )
        self.fetch_offset = request.fetch_offset
        self.max_bytes = request.max_bytes
        self.current_leader_epoch = request.current_leader_epoch
        self.last_fetched_epoch = request.last_fetched_epoch
        return has_changed


class FetchPartitionData(NamedTuple):
    """What a Fetch response says of one partition."""

    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    batches: Sequence[bytes] = ()
    preferred_read_replica: int = -1
    diverging_epoch: tuple[int, int] | None = None
    """The largest epoch that the client has in common with the log, and its end offset."""
    aborted_transactions: Sequence[AbortedTransaction] | None = None
    """Those with a part in `batches`, for a client that reads only committed records."""
    is_beyond_end: bool = False
    """Whether a batch was asked for that this client may not read yet: Kafka does not wait for it
    (case F of `DelayedFetch`)."""
    record_bytes: int = 0
    """The bytes of all batches."""

    @property
    def records(self) -> bytes:
        """All batches behind each other; to join them takes time."""
        return b"".join(self.batches)


new_partition_data: Callable[[tuple[Any, ...]], FetchPartitionData]
new_partition_data = partial(tuple.__new__, FetchPartitionData)
"""Make the data from all its fields, in less time than the class takes."""


SentPartition = tuple[CachedPartition, FetchPartitionData]
"""A partition and what the response says of it."""


class FetchSession:
    """The partitions that one client fetches, in the order in which they are read.

    `epoch` is the one that the next request must have. `size` is the number of partitions at the
    last use. `change_count` rises when a partition is added, removed, or asked for in another way
    than before, and when the session is removed. `logs` is what `broker/fetch/session_logs.py`
    remembers of many partitions.
    """

    __slots__ = (
        "change_count",
        "created_ms",
        "epoch",
        "is_privileged",
        "last_used_ms",
        "logs",
        "partitions",
        "session_id",
        "size",
        "uses_topic_ids",
        "was_old_when_used",
    )

    def __init__(
        self, session_id: int, *, is_privileged: bool, uses_topic_ids: bool, created_ms: int
    ) -> None:
        """`is_privileged`: a follower fetches, not a consumer."""
        self.session_id = session_id
        self.is_privileged = is_privileged
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = created_ms
        self.last_used_ms = created_ms
        self.was_old_when_used = False
        self.epoch = INITIAL_EPOCH + 1
        self.partitions: dict[PartitionKey, CachedPartition] = {}
        self.size = 0
        self.change_count = 0
        self.logs: object = None

    @may_pause
    def update(
        self,
        requested: Mapping[PartitionKey, CachedPartition],
        forgotten: Iterable[PartitionKey],
    ) -> bool:
        """Add and change the partitions that a request names, then remove the forgotten ones.

        Returns False at the first partition without name and topic id, where Kafka's session has a
        NullPointerException; what came before has its effect.
        """
        for key, request in paced_elements(list(requested.items())):
            if request.is_nameless:
                return False
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = request
                self.change_count += 1
            elif known.update_request(request):
                self.change_count += 1
        for key in forgotten:
            if key[0] == NO_TOPIC_ID and self.partitions:
                return False
            self.partitions.pop(key, None)
            self.change_count += 1
        return True

    def note_use(self, now_ms: int) -> None:
        """Record that a request of the session came."""
        self.last_used_ms = now_ms
        self.was_old_when_used = now_ms - self.created_ms > EVICTION_MS

    @may_pause
    def note_sent(self, sent: Sequence[SentPartition]) -> None:
        """Record what a response says; partitions with records go to the end of the order."""
        partitions = self.partitions
        for partition, data in paced_elements(sent):
            # After an error the partition is sent again, even if nothing else has changed.
            partition.high_watermark = -1 if data.error_code else data.high_watermark
            partition.log_start_offset = data.log_start_offset
            if data.batches and len(partitions) > 1:
                key = partition.key
                # A later request may have removed it during a pause.
                known = partitions.pop(key, None)
                if known is not None:
                    partitions[key] = known


def must_send(partition: CachedPartition, data: FetchPartitionData) -> bool:
    """Return whether an incremental response includes a partition: it has records or has changed.

    Kafka's `CachedPartition.maybeUpdateResponseData`.
    """
    return (
        bool(data.batches)
        or data.error_code != ErrorCode.NONE
        or partition.high_watermark != data.high_watermark
        or partition.log_start_offset != data.log_start_offset
        or data.preferred_read_replica >= 0
        or data.diverging_epoch is not None
    )


def next_epoch(epoch: int) -> int:
    """Return the epoch after this one; after the largest it is 1."""
    return 1 if epoch == EPOCH_MAX else epoch + 1


class FetchSessionCacheShard:
    """A part of the sessions of a broker: which of them are evicted is decided per shard."""

    def __init__(self, number: int, slot_count: int, new_random: Callable[[], int]) -> None:
        self._slot_count = slot_count
        self._new_random = new_random
        self._first_id = max(1, number * SHARD_ID_RANGE)
        self._end_id = (number + 1) * SHARD_ID_RANGE
        self.sessions: dict[int, FetchSession] = {}
        self.partition_count = 0
        self.eviction_count = 0

    def use(self, session: FetchSession, now_ms: int) -> None:
        """Record that a session is used, and how many partitions it has now."""
        session.note_use(now_ms)
        self.partition_count += len(session.partitions) - session.size
        session.size = len(session.partitions)

    def add(
        self,
        partitions: dict[PartitionKey, CachedPartition],
        now_ms: int,
        *,
        is_privileged: bool,
        uses_topic_ids: bool,
    ) -> FetchSession | None:
        """Add a session of these partitions; return None if no other session can be evicted."""
        is_full = len(self.sessions) >= self._slot_count
        if is_full and not self._evict(len(partitions), now_ms, is_privileged=is_privileged):
            return None
        session = FetchSession(
            self._new_session_id(),
            is_privileged=is_privileged,
            uses_topic_ids=uses_topic_ids,
            created_ms=now_ms,
        )
        session.partitions = partitions
        self.sessions[session.session_id] = session
        self.use(session, now_ms)
        return session

    def remove(self, session_id: int) -> None:
        """Remove a session, if there is one with this id."""
        session = self.sessions.pop(session_id, None)
        if session is not None:
            session.change_count += 1  # what is remembered of it is not used any more
            self.partition_count -= session.size

    def clear(self) -> None:
        """Remove all sessions."""
        for session_id in tuple(self.sessions):
            self.remove(session_id)

    def _new_session_id(self) -> int:
        id_count = self._end_id - self._first_id
        while True:
            session_id = self._first_id + self._new_random() % id_count
            if session_id not in self.sessions:
                return session_id

    def _evict(self, new_size: int, now_ms: int, *, is_privileged: bool) -> bool:
        """Evict a session that is unused, or less valuable than a new one of `new_size`."""
        sessions = self.sessions.values()
        oldest = min(
            sessions, key=lambda session: (session.last_used_ms, session.session_id), default=None
        )
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms <= EVICTION_MS:
            evictable = [
                (session.is_privileged, session.size, session.session_id)
                for session in sessions
                if session.was_old_when_used or (is_privileged and not session.is_privileged)
            ]
            least = min(evictable, default=None)
            if least is None or (is_privileged, new_size, 0) < least:
                return False
            oldest = self.sessions[least[2]]
        self.remove(oldest.session_id)
        self.eviction_count += 1
        return True


class FetchSessionCache:
    """The fetch sessions of one broker, in eight shards as in Kafka; they end with the broker.

    A session id belongs to one shard. New sessions go to the shards in turn.
    """

    def __init__(self, slot_count: int, new_random: Callable[[], int]) -> None:
        """Create a cache for `max.incremental.fetch.session.cache.slots`.

        Each shard has an eighth of the slots, rounded down. `new_random` returns a large integer,
        from which a session id is made.
        """
        self._slot_count = slot_count
        self._new_random = new_random
        self._next_shard = 0
        self._shards: list[FetchSessionCacheShard] = []
        self.clear()

    def clear(self) -> None:
        """Remove all sessions: the broker stops."""
        for shard in self._shards:
            shard.clear()
        slot_count = self._slot_count // SHARD_COUNT
        self._shards = [
            FetchSessionCacheShard(number, slot_count, self._new_random)
            for number in range(SHARD_COUNT)
        ]

    @property
    def partition_count(self) -> int:
        """The number of partitions in all sessions."""
        return sum(shard.partition_count for shard in self._shards)

    def get(self, session_id: int) -> FetchSession | None:
        """Return the session with this id, or None."""
        return self._shard(session_id).sessions.get(session_id)

    def remove(self, session_id: int) -> None:
        """Remove a session, if there is one with this id."""
        self._shard(session_id).remove(session_id)

    @may_pause
    def create(
        self,
        partitions: Sequence[SentPartition],
        now_ms: int,
        *,
        is_privileged: bool,
        uses_topic_ids: bool,
    ) -> int:
        """Create a session for the partitions of a full response; return its id, or NO_SESSION_ID.

        Partitions of the session are the objects in `partitions`.
        """
        by_key: dict[PartitionKey, CachedPartition] = {}
        for partition, data in paced_elements(partitions):
            partition.high_watermark = data.high_watermark
            partition.log_start_offset = data.log_start_offset
            by_key[partition.key] = partition
        with no_pause():  # other requests would take the same last slot
            shard = self._shards[self._next_shard]
            self._next_shard = (self._next_shard + 1) % SHARD_COUNT
            if self.partition_count + len(by_key) > PARTITIONS_MAX:
                return NO_SESSION_ID
            session = shard.add(
                by_key, now_ms, is_privileged=is_privileged, uses_topic_ids=uses_topic_ids
            )
        return NO_SESSION_ID if session is None else session.session_id

    @may_pause
    def resume(
        self,
        session_id: int,
        epoch: int,
        requested: Mapping[PartitionKey, CachedPartition],
        forgotten: Iterable[PartitionKey],
        now_ms: int,
        *,
        uses_topic_ids: bool,
    ) -> FetchSession | ErrorCode:
        """Take an incremental request into its session; return the session, or why there is none.

        A session without partitions is removed.
        """
        shard = self._shard(session_id)
        session = shard.sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch or epoch == CHANGING_EPOCH:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        # During a pause another request with this epoch comes too late, and one with the next epoch
        # too early: the older of two would overwrite the offsets of the newer one.
        session.epoch = CHANGING_EPOCH
        is_changed = session.update(requested, forgotten)
        session.epoch = next_epoch(epoch) if is_changed else epoch
        if not is_changed:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        if shard.sessions.get(session_id) is not session:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND  # removed during a pause
        if not session.partitions:
            shard.remove(session_id)
            return session
        shard.use(session, now_ms)
        if self.partition_count > PARTITIONS_MAX:
            shard.remove(session_id)
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        return session

    def measurements(self, _now_ms: int) -> Iterator[Measurement]:
        """Kafka's metrics `kafka.server:type=FetchSessionCache`; of the meter its count."""
        session_count = sum(len(shard.sessions) for shard in self._shards)
        eviction_count = sum(shard.eviction_count for shard in self._shards)
        yield Measurement(GROUP, "NumIncrementalFetchSessions", {}, session_count)
        yield Measurement(GROUP, "NumIncrementalFetchPartitionsCached", {}, self.partition_count)
        yield Measurement(GROUP, "IncrementalFetchSessionEvictions", {}, eviction_count)

    def _shard(self, session_id: int) -> FetchSessionCacheShard:
        number = session_id // SHARD_ID_RANGE
        return self._shards[number if 0 <= number < SHARD_COUNT else 0]
