"""Topics: list, create and delete them, read records, and move leaders."""

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from broker.administration.new_topic import BY_DEFAULT, NewTopic, check_new_topic, check_size
from broker.cluster.topics import Partition, Topic
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
from broker.http_admin.state import Admin, bytes_for_json
from protocol.errors import ErrorCode
from protocol.records import (
    CONTROL_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Record,
    read_header,
    read_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


PEEK_RECORDS_MAX = 10_000
PEEK_BYTES_MAX = 16 * 1024 * 1024
"""Bound of one response, so that reading a large log does not delay other clients."""

_READ_BYTES = 256 * 1024
_READ_COMMITTED = "read_committed"

TransactionOutcome = Literal["open", "committed", "aborted"]
NewCount = Annotated[int, msgspec.Meta(ge=-1, le=INT32_MAX)]


class PartitionView(msgspec.Struct):
    """One partition; `leader` is null while there is none."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    log_start_offset: int
    log_end_offset: int
    bytes: int
    batches: int
    producers: int


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


class LeaderBody(Input):
    """The new leader; null for none."""

    broker: NodeId | None


class RecordsQuery(Input):
    """The records to return: from `offset` on, of one partition or of all.

    `read_committed` omits those of aborted transactions, and all from the first open transaction
    of a partition on.
    """

    partition: PartitionIndex | None = None
    offset: Count = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=PEEK_RECORDS_MAX)] = 100
    encoding: Literal["auto", "base64"] = "auto"
    isolation_level: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"


class BytesView(msgspec.Struct, omit_defaults=True):
    """Bytes: as text if they are UTF-8 (unless the query has `encoding=base64`), else base64."""

    text: str | None = None
    base64: str | None = None


class HeaderView(msgspec.Struct):
    """One header of a record."""

    key: str
    value: BytesView | None


class RecordView(msgspec.Struct):
    """One record; `timestamp` in ms since the epoch.

    `transaction` is the state of the transaction it was written in, null if it was in none.
    """

    partition: int
    offset: int
    timestamp: int
    key: BytesView | None
    value: BytesView | None
    headers: list[HeaderView]
    transaction: TransactionOutcome | None


class RecordsView(msgspec.Struct):
    """Records in order; `next_offsets` has the next offset of each partition with more records."""

    records: list[RecordView]
    next_offsets: dict[int, int]


@operation("GET", "/v1/topics", tag="topics")
def list_topics(admin: Admin) -> list[TopicView]:
    """List all topics with partitions, leaders and offsets."""
    return [_view(topic) for topic in admin.cluster.topics.all()]


@operation(
    "POST",
    "/v1/topics",
    tag="topics",
    status=201,
    further_rules="A broker would refuse to create the topic",
)
def create_topic(admin: Admin, body: NewTopicBody) -> TopicView:
    """Create a topic; no quota is charged.

    It makes the checks of CreateTopics, with the same messages.
    """
    cluster = admin.cluster
    new_topic = NewTopic(
        body.name, body.partitions, body.replication_factor, overrides=dict(body.config)
    )
    plan = check_size(cluster, [new_topic]) or check_new_topic(cluster, new_topic)
    if isinstance(plan, Refusal):
        status = 409 if plan.error_code == ErrorCode.TOPIC_ALREADY_EXISTS else 422
        raise Problem(status, f"{plan.error_code.name}: {plan.message or body.name}")
    return _view(cluster.create_topic(plan.name, plan.assignments, plan.overrides))


@operation("GET", "/v1/topics/{name}", tag="topics")
def get_topic(admin: Admin, path: TopicPath) -> TopicView:
    """Return one topic."""
    return _view(admin.topic(path.name))


@operation("DELETE", "/v1/topics/{name}", tag="topics", status=204, media_type=None)
def delete_topic(admin: Admin, path: TopicPath) -> None:
    """Delete a topic with its records, whatever `delete.topic.enable` says."""
    admin.cluster.delete_topic(admin.topic(path.name), admin.now_ms())


@operation("GET", "/v1/topics/{name}/records", tag="topics")
def get_records(admin: Admin, path: TopicPath, query: RecordsQuery) -> RecordsView:
    """Return records without a consumer.

    The response ends after `limit` records or 16 MiB; continue at `next_offsets`.
    """
    topic = admin.topic(path.name)
    if query.partition is None:
        partitions = topic.partitions
    else:
        partitions = [admin.partition(path.name, query.partition)]
    records: list[RecordView] = []
    next_offsets: dict[int, int] = {}
    left_bytes = PEEK_BYTES_MAX
    for partition in partitions:
        next_offset = query.offset
        if len(records) < query.limit and left_bytes > 0:
            found = _records(partition, query.offset, query.isolation_level)
            for record, outcome in islice(found, query.limit - len(records)):
                view = _record_view(partition.partition_index, record, query.encoding, outcome)
                records.append(view)
                next_offset = record.offset + 1
                left_bytes -= len(record.key or b"") + len(record.value or b"")
                if left_bytes <= 0:
                    break
            else:
                if len(records) < query.limit:
                    continue
        if next_offset < _end_offset(partition, query.isolation_level):
            next_offsets[partition.partition_index] = next_offset
    return RecordsView(records, next_offsets)


@operation("PUT", "/v1/topics/{name}/partitions/{partition}/leader", tag="leaders")
def put_leader(admin: Admin, path: PartitionPath, body: LeaderBody) -> PartitionView:
    """Move the leadership of a partition to a broker, or leave it without a leader.

    A broker that is no replica becomes one. The old leader returns NOT_LEADER_OR_FOLLOWER.
    """
    partition = admin.partition(path.name, path.partition)
    if body.broker is None:
        admin.cluster.take_leader_away(partition, admin.now_ms())
    else:
        admin.check_broker(body.broker)
        try:
            admin.cluster.move_leader(partition, body.broker, admin.now_ms())
        except ValueError as error:
            raise Problem(409, f"{error}; POST /v1/brokers/{body.broker}/start first") from error
    return _partition_view(partition)


def _view(topic: Topic) -> TopicView:
    return TopicView(
        topic.name,
        str(topic.topic_id),
        topic.is_internal,
        dict(topic.config.overrides),
        [_partition_view(partition) for partition in topic.partitions],
    )


def _partition_view(partition: Partition) -> PartitionView:
    log = partition.log
    return PartitionView(
        partition=partition.partition_index,
        leader=partition.leader_id if partition.leader_id >= 0 else None,
        leader_epoch=partition.leader_epoch,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        bytes=log.size_bytes,
        batches=log.batch_count,
        producers=len(partition.producers),
    )


def _end_offset(partition: Partition, isolation_level: str) -> int:
    is_committed = isolation_level == _READ_COMMITTED
    return partition.last_stable_offset if is_committed else partition.log.log_end_offset


def _records(
    partition: Partition, from_offset: int, isolation_level: str
) -> "Iterator[tuple[Record, TransactionOutcome | None]]":
    """Yield records from an offset on; skip control batches and undecodable ones."""
    log = partition.log
    offset = max(from_offset, log.log_start_offset)
    end_offset = _end_offset(partition, isolation_level)
    while offset < end_offset:
        for batch in log.read(offset, _READ_BYTES, at_least_one=True, end_offset=end_offset):
            header = read_header(batch, 0)
            outcome = _outcome(partition, header)
            is_skipped = header.attributes & CONTROL_FLAG or (
                outcome == "aborted" and isolation_level == _READ_COMMITTED
            )
            with suppress(ValueError):
                yield from (
                    (read_record, outcome)
                    for read_record in read_records(batch)
                    if read_record.offset >= offset and not is_skipped
                )
            offset = max(offset, header.base_offset + header.last_offset_delta) + 1


def _outcome(partition: Partition, header: BatchHeader) -> TransactionOutcome | None:
    """Return the state of the transaction that a batch belongs to; None if it is in none."""
    if not header.attributes & TRANSACTIONAL_FLAG:
        return None
    start_offset = partition.producers.transaction_start_offset(header.producer_id)
    if 0 <= start_offset <= header.base_offset:
        return "open"
    aborted = partition.log.transaction_index.overlapping(
        header.base_offset, header.base_offset + 1
    )
    is_aborted = any(transaction.producer_id == header.producer_id for transaction in aborted)
    return "aborted" if is_aborted else "committed"


def _record_view(
    partition_index: int, record: Record, encoding: str, outcome: TransactionOutcome | None
) -> RecordView:
    return RecordView(
        partition_index,
        record.offset,
        record.timestamp,
        _bytes_view(record.key, encoding),
        _bytes_view(record.value, encoding),
        [HeaderView(key, _bytes_view(value, encoding)) for key, value in record.headers],
        outcome,
    )


def _bytes_view(value: bytes | None, encoding: str) -> BytesView | None:
    encoded: dict[str, Any] | None = bytes_for_json(value, encoding)
    return None if encoded is None else BytesView(**encoded)
