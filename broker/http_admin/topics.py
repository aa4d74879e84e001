"""Topics: list, create and delete them, and move leaders."""

from typing import Annotated

import msgspec

from broker.administration.new_topic import (
    BY_DEFAULT,
    NewTopic,
    check_new_topic,
    check_size,
    create_planned,
)
from broker.administration.record_deletion import HIGH_WATERMARK, delete_records
from broker.cluster.cleaning import compact_now
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.config.topic_keys import TOPIC_KEYS
from broker.dispatch.turn_queue import TurnKind
from broker.errors import Refusal
from broker.http_admin.operation import (
    INT32_MAX,
    Count,
    Input,
    Name,
    NodeId,
    PartitionIndex,
    Problem,
    operation,
)
from broker.http_admin.state import Admin, broker_is_down
from broker.http_admin.unknown_names import unknown_key_hint
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

NewCount = Annotated[int, msgspec.Meta(ge=-1, le=INT32_MAX)]


class PartitionView(msgspec.Struct):
    """One partition; `leader` is null while there is none.

    Consumers read the records before `high_watermark`. `replica_ends` has the log end offset of
    each replica that is behind, `paused_followers` those that do not fetch.
    """

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    bytes: int
    batches: int
    producers: int
    replica_ends: dict[int, int]
    paused_followers: list[int]


class TopicView(msgspec.Struct):
    """One topic; `config` has the values set on the topic itself.

    `is_internal`: coordinators keep their state in it, as in `__consumer_offsets`.
    """

    name: str
    topic_id: str
    is_internal: bool
    config: dict[str, str]
    partitions: list[PartitionView]


class TopicPath(Input):
    """A topic by its name."""

    name: Name


class PartitionPath(Input):
    """A partition of a topic."""

    name: Name
    partition: PartitionIndex


class NewTopicBody(Input):
    """A new topic; missing numbers are the configured defaults."""

    name: Name
    partitions: NewCount = BY_DEFAULT
    replication_factor: Annotated[int, msgspec.Meta(ge=-1, le=2**15 - 1)] = BY_DEFAULT
    config: dict[str, str] = msgspec.field(default_factory=dict)


class DeletedRecordsQuery(Input):
    """The records to delete: of one partition or of all, those before an offset or all."""

    partition: PartitionIndex | None = None
    before_offset: Count | None = None


class CompactedQuery(Input):
    """The partition to compact; all without it."""

    partition: PartitionIndex | None = None


class CompactedView(msgspec.Struct):
    """What a compaction removed from a partition.

    `removed_records` counts neither markers of transactions nor batches that stay without records.
    It looked at the offsets before `cleaned_until`; null if it looked at none.
    """

    partition: int
    removed_records: int
    freed_bytes: int
    cleaned_until: int | None


class LeaderBody(Input):
    """The new leader; null for none."""

    broker: NodeId | None


@operation("GET", "/v1/topics", tag="topics", turn_kind=TurnKind.READING)
@may_pause
def list_topics(admin: Admin) -> list[TopicView]:
    """List all topics with partitions, leaders and offsets."""
    return [topic_view(topic) for topic in paced(admin.cluster.topics.all())]


@operation(
    "POST",
    "/v1/topics",
    tag="topics",
    status=201,
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="A broker would refuse to create the topic",
)
@may_pause
def create_topic(admin: Admin, body: NewTopicBody) -> TopicView:
    """Create a topic; no quota is charged.

    It makes the checks of CreateTopics, with the same messages.
    """
    cluster = admin.cluster
    new_topic = NewTopic(
        body.name, body.partitions, body.replication_factor, overrides=dict(body.config)
    )
    plan = check_size(cluster, [new_topic]) or check_new_topic(cluster, new_topic)
    topic = plan if isinstance(plan, Refusal) else create_planned(cluster, new_topic, plan)
    if isinstance(topic, Refusal):
        status = 409 if topic.error_code == ErrorCode.TOPIC_ALREADY_EXISTS else 422
        unknown = next((name for name in body.config if name not in TOPIC_KEYS), None)
        hint = "" if unknown is None else unknown_key_hint(unknown, TOPIC_KEYS)
        raise Problem(status, f"{topic.error_code.name}: {topic.message or body.name}{hint}")
    return topic_view(topic)


@operation("GET", "/v1/topics/{name}", tag="topics", turn_kind=TurnKind.READING)
@may_pause
def get_topic(admin: Admin, path: TopicPath) -> TopicView:
    """Return one topic."""
    return topic_view(admin.topic(path.name))


@operation(
    "DELETE",
    "/v1/topics/{name}",
    tag="topics",
    status=204,
    media_type=None,
    turn_kind=TurnKind.EXCLUSIVE,
)
@may_pause
def delete_topic(admin: Admin, path: TopicPath) -> None:
    """Delete a topic with its records, whatever `delete.topic.enable` says."""
    admin.cluster.delete_topic(admin.topic(path.name), admin.now_ms())


@operation(
    "DELETE",
    "/v1/topics/{name}/records",
    tag="topics",
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="A broker would refuse to delete the records",
)
@may_pause
def delete_topic_records(
    admin: Admin, path: TopicPath, query: DeletedRecordsQuery
) -> list[PartitionView]:
    """Delete records from the start of the logs on; return the partitions afterwards.

    It makes the checks of DeleteRecords: topics that are internal or only compacted keep theirs.
    """
    topic = admin.topic(path.name)
    partitions = admin.partitions(path.name, query.partition)
    offset = HIGH_WATERMARK if query.before_offset is None else query.before_offset
    now_ms = admin.now_ms()
    for partition in paced(partitions):
        index, leader_id = partition.partition_index, partition.leader_id
        if leader_id == NO_LEADER:
            raise Problem(409, f"partition {index} has no leader")
        error_code, _ = delete_records(admin.cluster, topic, partition, leader_id, offset, now_ms)
        if error_code is not ErrorCode.NONE:
            raise Problem(422, f"{error_code.name}: partition {index} of {path.name!r}")
    return [partition_view(partition) for partition in paced(partitions)]


@operation(
    "POST",
    "/v1/topics/{name}/compact",
    tag="topics",
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="The topic is internal, or its `cleanup.policy` does not have `compact`",
)
@may_pause
def compact_topic(admin: Admin, path: TopicPath, query: CompactedQuery) -> list[CompactedView]:
    """Compact a topic now, as Kafka's log cleaner would with the active segment rolled.

    The log need not be dirty. Records that `min.compaction.lag.ms` protects, and those behind the
    last stable offset, stay; a tombstone goes `delete.retention.ms` after its first compaction.
    """
    topic = admin.topic(path.name)
    if topic.is_internal:
        raise Problem(422, f"{path.name} is internal: coordinators compact it")
    if not topic.is_compacted:
        policy = ",".join(topic.config["cleanup.policy"])
        detail = f"topic {path.name!r} has cleanup.policy={policy}, which does not have compact"
        raise Problem(422, detail)
    partitions = admin.partitions(path.name, query.partition)
    now_ms = admin.now_ms()
    return [_compacted(admin, topic, partition, now_ms) for partition in paced(partitions)]


@may_pause
def _compacted(admin: Admin, topic: Topic, partition: Partition, now_ms: int) -> CompactedView:
    cleaning = compact_now(admin.cluster, topic, partition, now_ms)
    index = partition.partition_index
    if cleaning is None:
        return CompactedView(index, 0, 0, None)
    return CompactedView(index, cleaning.removed_count, cleaning.freed_bytes, cleaning.end_offset)


@operation("PUT", "/v1/topics/{name}/partitions/{partition}/leader", tag="leaders")
@may_pause
def put_leader(admin: Admin, path: PartitionPath, body: LeaderBody) -> PartitionView:
    """Move the leadership of a partition to a broker, or leave it without a leader.

    A broker that is no replica becomes one. The old leader returns NOT_LEADER_OR_FOLLOWER.
    """
    partition = admin.partition(path.name, path.partition)
    if body.broker is None:
        admin.cluster.set_leader(partition, NO_LEADER, admin.now_ms())
    else:
        admin.check_broker(body.broker)
        try:
            admin.cluster.move_leader(partition, body.broker, admin.now_ms())
        except ValueError as error:
            raise broker_is_down(error, body.broker) from error
    return partition_view(partition)


@may_pause
def topic_view(topic: Topic) -> TopicView:
    """Return a topic as JSON values."""
    return TopicView(
        topic.name,
        str(topic.topic_id),
        topic.is_internal,
        dict(topic.config.overrides),
        [partition_view(partition) for partition in paced(topic.partitions)],
    )


def partition_view(partition: Partition) -> PartitionView:
    """Return a partition as JSON values."""
    log = partition.log
    return PartitionView(
        partition=partition.partition_index,
        leader=partition.leader_id if partition.leader_id >= 0 else None,
        leader_epoch=partition.leader_epoch,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        bytes=log.size_bytes,
        batches=log.batch_count,
        producers=len(partition.producers),
        replica_ends=dict(partition.replica_ends),
        paused_followers=sorted(partition.paused_followers),
    )
