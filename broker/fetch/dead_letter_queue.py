"""Write the dead letters of share partitions to the dead letter queues of their groups (KIP-1191).

A record of the queue has headers that say where the dead letter was, and a copy of its key and
value if the group wants one. What cannot be written is archived without.

Kafka writes with a Produce request to the leader of the queue's partition. Here the records get the
same checks.

Sources: Kafka's `ShareGroupDLQStateManager` and `ShareGroupDLQRecordFetcher`, with their messages.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from broker.administration.new_topic import NewTopic, check_new_topic, create_planned
from broker.cluster.cluster import Cluster
from broker.cluster.share_loading import DEAD_LETTER_TOPIC_KEY
from broker.cluster.topics import NO_LEADER, Topic
from broker.errors import Refusal
from broker.log import log
from broker.produce.store_records import NewRecord, store_records
from broker.share_groups.dead_letters import DeadLetters, SendDeadLetters
from broker.share_groups.share_state import SharePartitionKey
from protocol.batch_builder import record_bytes_max
from protocol.compression import TooLargeError
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from protocol.records import HEADER_BYTES, Record, read_records

COPY_KEY = "errors.deadletterqueue.copy.record.enable"
TOPIC_SWITCH_KEY = "errors.deadletterqueue.group.enable"
AUTO_CREATE_KEY = "errors.deadletterqueue.auto.create.topics.enable"
PREFIX_KEY = "errors.deadletterqueue.topic.name.prefix"

ATTEMPTS_MAX = 5
BACKOFF_MS = 1000
BACKOFF_MAX_MS = 30_000
RECORDS_PER_STEP = 100
"""Records of a queue that are written before other requests are served."""

COPIED_BYTES_MAX = 1024 * 1024
"""Bytes of the log that are read at once for the copies of dead letters."""

_INTERNAL_PREFIX = "__"
_RETRIED = frozenset({ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.LEADER_NOT_AVAILABLE})


@dataclass(slots=True)
class _Job:
    """Dead letters that are being written."""

    dead: DeadLetters
    next_offset: int
    attempt_count: int = 0


class DeadLetterQueue:
    """Writes the dead letters of one share partition, in their order unless one has to wait."""

    __slots__ = ("_cluster", "_is_planned", "_jobs", "_key", "archive")

    def __init__(self, cluster: Cluster, key: SharePartitionKey) -> None:
        self._cluster = cluster
        self._key = key
        self._jobs: deque[_Job] | None = None  # most share partitions have no dead letters
        self._is_planned = False
        self.archive: SendDeadLetters | None = None
        """Called when dead letters are written, or cannot be."""

    def write(self, dead: DeadLetters, now_ms: int) -> None:
        """Write dead letters soon."""
        self._add(_Job(dead, dead.first_offset), now_ms)

    def _add(self, job: _Job, now_ms: int) -> None:
        if self._jobs is None:
            self._jobs = deque()
        self._jobs.append(job)
        self._plan(now_ms)

    def _plan(self, now_ms: int) -> None:
        """Have the next step done in a millisecond, after other requests."""
        if self._jobs and not self._is_planned:
            self._is_planned = True
            self._cluster.timers.schedule(now_ms + 1, self._do_step)

    @may_pause
    def _do_step(self, now_ms: int) -> None:
        assert self._jobs is not None
        job = self._jobs.popleft()
        try:
            self._go_on(job, now_ms)
        finally:
            self._is_planned = False
            self._plan(now_ms)

    @may_pause
    def _go_on(self, job: _Job, now_ms: int) -> None:
        assert self._jobs is not None
        refusal = self._write_some(job, now_ms)
        if refusal is None:
            job.attempt_count = 0
            if job.next_offset <= job.dead.last_offset:
                self._jobs.appendleft(job)
                return
        elif refusal.error_code in _RETRIED and self._retry(job, now_ms):
            return
        else:
            log.warning(
                "dead letters are lost",
                group=self._key.group_id,
                first_offset=job.next_offset,
                last_offset=job.dead.last_offset,
                reason=refusal.message,
            )
        if self.archive is not None:
            self.archive(job.dead, now_ms)

    def _retry(self, job: _Job, now_ms: int) -> bool:
        """Try again later; return False if this was the last attempt."""
        job.attempt_count += 1
        if job.attempt_count >= ATTEMPTS_MAX:
            return False
        delay_ms = backoff_ms(job.attempt_count, self._cluster.new_uuid().int)
        self._cluster.timers.schedule(now_ms + delay_ms, partial(self._add, job))
        return True

    @may_pause
    def _write_some(self, job: _Job, now_ms: int) -> Refusal | None:
        """Write the next dead letters of a job as one batch; return why they cannot be written."""
        cluster, group_id = self._cluster, self._key.group_id
        name: str = cluster.share.setting(group_id, DEAD_LETTER_TOPIC_KEY)
        topic = cluster.topics.get(name)
        problem = _topic_problem(cluster, group_id, name, topic)
        if problem is not None:
            return Refusal(ErrorCode.INVALID_CONFIG, problem)
        if topic is None:
            created = _create(cluster, name)
            if isinstance(created, Refusal):
                return created
            topic = created
        index = self._key.partition_index % len(topic.partitions)
        if topic.partitions[index].leader_id == NO_LEADER:
            return Refusal(ErrorCode.LEADER_NOT_AVAILABLE, f"{name}-{index} has no leader")
        records = self._records(job, index, topic.max_message_bytes)
        stored = store_records(cluster, topic, records, now_ms)
        if isinstance(stored, Refusal):
            return stored
        job.next_offset += len(records)
        return None

    def _records(self, job: _Job, index: int, bytes_max: int) -> list[NewRecord]:
        """Return the records of the next dead letters, as many as a batch may have."""
        dead = job.dead
        last_offset = min(dead.last_offset, job.next_offset + RECORDS_PER_STEP - 1)
        copies = self._copies(job, last_offset, bytes_max)
        source = self._cluster.topics.get_by_id(self._key.topic_id)
        topic_name = str(self._key.topic_id) if source is None else source.name
        records: list[NewRecord] = []
        size_bytes = HEADER_BYTES
        for offset in range(job.next_offset, last_offset + 1):
            copied = copies.get(offset)
            key, value = (None, None) if copied is None else (copied.key, copied.value)
            headers = _headers(topic_name, self._key, dead, offset)
            size_bytes += record_bytes_max(key, value, headers)
            if size_bytes > bytes_max and records:
                break
            records.append(NewRecord(key, value, headers, partition=index))
        return records

    def _copies(self, job: _Job, last_offset: int, bytes_max: int) -> Mapping[int, Record]:
        """Return the records of dead letters by offset, without those that are too large."""
        cluster, key = self._cluster, self._key
        topic = cluster.topics.get_by_id(key.topic_id)
        partition = None if topic is None else topic.partition(key.partition_index)
        if partition is None or not cluster.share.setting(key.group_id, COPY_KEY):
            return {}
        source = partition.log
        next_offset = max(job.next_offset, source.log_start_offset)
        end_offset = min(last_offset + 1, source.high_watermark)
        if next_offset >= end_offset:
            return {}
        found: dict[int, Record] = {}
        for batch in source.read(next_offset, COPIED_BYTES_MAX, at_least_one=True):
            try:
                for record in read_records(batch, bytes_max):
                    if record.offset >= end_offset:
                        return found
                    size_bytes = record_bytes_max(record.key, record.value, record.headers)
                    if size_bytes <= bytes_max:
                        found[record.offset] = record
            except TooLargeError:
                continue
        return found


def backoff_ms(attempt_count: int, random: int) -> int:
    """Return how long to wait after so many attempts, with a jitter of a fifth up and down.

    `random` is a large integer that decides on the jitter. Source: Kafka's `ExponentialBackoff`.
    """
    middle_ms = BACKOFF_MS << attempt_count
    jitter_ms = middle_ms // 5
    return min(BACKOFF_MAX_MS, middle_ms - jitter_ms + random % (2 * jitter_ms))


def _topic_problem(cluster: Cluster, group_id: str, name: str, topic: Topic | None) -> str | None:
    """Return why a group cannot have a topic as its dead letter queue, or None."""
    where = f"share group: {group_id}, topic: {name}"
    if not name:
        return f"Configured DLQ topic name in share group: {group_id} is empty."
    if name.startswith(_INTERNAL_PREFIX):
        return f"Configured DLQ topic name in {where} cannot start with __."
    if topic is not None and not topic.config[TOPIC_SWITCH_KEY]:
        return f"DLQ is not enabled on configured DLQ topic for {where}."
    if topic is None and not cluster.config[AUTO_CREATE_KEY]:
        return f"DLQ topic does not exist and auto create is disabled on cluster for {where}."
    prefix = cluster.config[PREFIX_KEY]
    if not name.startswith(prefix):
        return f"Configured DLQ topic name does not comply with the DLQ topic prefix in {where}."
    return None


@may_pause
def _create(cluster: Cluster, name: str) -> Topic | Refusal:
    overrides = {TOPIC_SWITCH_KEY: "true", "message.timestamp.type": "CreateTime"}
    new_topic = NewTopic(name, overrides=overrides)
    plan = check_new_topic(cluster, new_topic)
    return plan if isinstance(plan, Refusal) else create_planned(cluster, new_topic, plan)


def _headers(
    topic_name: str, key: SharePartitionKey, dead: DeadLetters, offset: int
) -> list[tuple[str, bytes | None]]:
    values = {
        "topic": topic_name,
        "partition": key.partition_index,
        "offset": offset,
        "group": key.group_id,
        "delivery.count": dead.delivery_count,
        "message": dead.reason,
    }
    return [(f"__dlq.errors.{name}", str(value).encode()) for name, value in values.items()]
