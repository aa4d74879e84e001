"""Load a share partition on its leader: read its state, or choose where the group starts.

Sources: Kafka's `SharePartition.maybeInitialize` and `ShareFetchUtils`.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.offset_by_time import first_record_from
from broker.cluster.share_leaders import LedSharePartition
from broker.cluster.topics import Partition
from broker.config.api_versions import release_of
from broker.config.features import SHARE_VERSION
from broker.errors import Refusal
from broker.share_groups.dead_letters import DeadLetters, SendDeadLetters
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.share_partition import SharePartition
from broker.share_groups.share_rules import ShareRules
from broker.share_groups.share_state import SharePartitionKey
from broker.share_groups.state_batches import NO_OFFSET
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from protocol.releases import Release

DEAD_LETTER_TOPIC_KEY = "errors.deadletterqueue.topic.name"
DEAD_LETTERS_LEVEL = 2
"""Level of share.version from which on groups have dead letter queues (KIP-1191)."""

AUTO_OFFSET_RESET_KEY = "share.auto.offset.reset"
ISOLATES_BAD_RECORDS_SINCE: Release = (4, 2)
SWITCHED_BY_KEY_BEFORE: Release = (4, 3)
_UNIT_MS = (86_400_000, 3_600_000, 60_000, 1000)
_DURATION = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d*)?)S)?)?", re.IGNORECASE
)

_ERRORS = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""What a member sees of the errors of the share coordinator; others are UNKNOWN_SERVER_ERROR."""


class DeadLetterWriter(Protocol):
    """Writes the dead letters of one share partition, and calls `archive` then."""

    archive: SendDeadLetters | None

    def write(self, dead: DeadLetters, now_ms: int) -> None:
        """Write dead letters soon."""


MakeQueue = Callable[[Cluster, SharePartitionKey], DeadLetterWriter]


_NOT_LEADER = Refusal(
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "For requests intended only for the leader, this error indicates that the broker is not the"
    " current leader. For requests intended for any replica, this error indicates that the broker"
    " is not a replica of the topic partition.",
)


def are_share_groups_enabled(cluster: Cluster) -> bool:
    """Return whether the feature share.version or Kafka's internal key switches them on.

    Kafka 4.3 has this key no more.
    """
    if cluster.features.level(SHARE_VERSION) > 0:
        return True
    config = cluster.config
    return config["group.share.enable"] and release_of(config) < SWITCHED_BY_KEY_BEFORE


def share_rules(cluster: Cluster, group_id: str, release: Release) -> ShareRules:
    """Return the rules of a group on a leader of a release, as they are now."""
    setting = cluster.share.setting
    return ShareRules(
        record_locks_max=setting(group_id, "share.partition.max.record.locks"),
        delivery_count_max=setting(group_id, "share.delivery.count.limit"),
        isolates_bad_records=release >= ISOLATES_BAD_RECORDS_SINCE,
        can_renew=setting(group_id, "share.renew.acknowledge.enable"),
        has_dead_letter_queue=cluster.features.level(SHARE_VERSION) >= DEAD_LETTERS_LEVEL
        and setting(group_id, DEAD_LETTER_TOPIC_KEY) != "",
    )


@may_pause
def load_share_partition(
    cluster: Cluster,
    broker_id: int,
    topic_id: UUID,
    partition: Partition,
    group_id: str,
    now_ms: int,
    make_queue: MakeQueue,
) -> LedSharePartition | Refusal:
    """Return a share partition that a broker leads, or why the broker cannot serve it.

    `make_queue` makes what writes the dead letters of a new one.
    """
    key = SharePartitionKey(group_id, topic_id, partition.partition_index)
    leader = cluster.share.leaders[broker_id]
    led = leader.partition(key, now_ms)
    if led is not None:
        return led
    if partition.leader_id != broker_id:
        return _NOT_LEADER
    leader_epoch = partition.leader_epoch
    state = cluster.share.states.read(key, leader_epoch, now_ms)
    if isinstance(state, Refusal):
        return _for_member(state)
    start_offset = state.start_offset
    if start_offset == NO_OFFSET:
        first_offset = _first_offset(cluster, group_id, partition, now_ms)
        if isinstance(first_offset, Refusal):
            return first_offset
        # The log was perhaps read with pauses: others may have altered the offset, or loaded it.
        state = cluster.share.states.read(key, leader_epoch, now_ms)
        if isinstance(state, Refusal):
            return _for_member(state)
        start_offset = first_offset if state.start_offset == NO_OFFSET else state.start_offset
    led = leader.partition(key, now_ms)
    if led is not None:
        return led
    if (partition.leader_id, partition.leader_epoch) != (broker_id, leader_epoch):
        return _NOT_LEADER

    def write_state(
        start_offset: int, finished_count: int, state_batches: Sequence[StateBatch], now_ms: int
    ) -> Refusal | None:
        refusal = cluster.share.states.write(
            key,
            state_epoch=state.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            finished_count=finished_count,
            state_batches=state_batches,
            now_ms=now_ms,
        )
        return None if refusal is None else _for_member(refusal)

    release = release_of(cluster.config.for_broker(broker_id))
    queue = make_queue(cluster, key)
    share_partition = SharePartition(
        start_offset,
        state.state_batches,
        state_epoch=state.state_epoch,
        leader_epoch=leader_epoch,
        get_rules=partial(share_rules, cluster, group_id, release),
        write_state=write_state,
        send_dead_letters=queue.write,
    )
    queue.archive = share_partition.archive_dead_letters
    led = LedSharePartition(share_partition, cluster.timers)
    leader.add(key, led)
    share_partition.resume_dead_letters(now_ms)
    return led


def _for_member(refusal: Refusal) -> Refusal:
    error_code = _ERRORS.get(refusal.error_code, ErrorCode.UNKNOWN_SERVER_ERROR)
    return Refusal(error_code, refusal.message)


@may_pause
def _first_offset(
    cluster: Cluster, group_id: str, partition: Partition, now_ms: int
) -> int | Refusal:
    """Return where a group begins that has not read a partition before."""
    strategy: str = cluster.share.setting(group_id, AUTO_OFFSET_RESET_KEY)
    if strategy == "latest":
        if partition.has_lagging_high_watermark:
            return Refusal(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"The high watermark of {partition.topic_name}-{partition.partition_index} is"
                f" before the start of leader epoch {partition.leader_epoch}",
            )
        return partition.log.high_watermark
    if strategy == "earliest":
        return partition.log.log_start_offset
    timestamp = now_ms - duration_ms(strategy.partition(":")[2])
    topic = cluster.topics.get(partition.topic_name)
    assert topic is not None
    settings = topic.on_broker(partition.leader_id).segment_settings
    found = first_record_from(partition, timestamp, settings)
    if found.offset >= 0:
        return found.offset
    return Refusal(
        ErrorCode.OFFSET_NOT_AVAILABLE,
        f"Offset for timestamp {timestamp} not found for topic partition:"
        f" {partition.topic_name}-{partition.partition_index}",
    )


def duration_ms(text: str) -> int:
    """Return the milliseconds of an ISO 8601 duration such as `PT1H`.

    Raises:
        ValueError: it is none.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"no ISO 8601 duration: {text}")
    numbers = (float((group or "0").replace(",", ".")) for group in match.groups())
    return int(sum(number * unit for number, unit in zip(numbers, _UNIT_MS, strict=True)))
