"""Records: read them without a consumer, add them without a producer, wait for them."""

import asyncio
import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec

from broker.cluster.topics import Partition, Topic
from broker.dispatch.turn_queue import TurnKind
from broker.errors import Refusal
from broker.http_admin.near_misses import RecordsWanted, too_few_records
from broker.http_admin.operation import (
    Count,
    Input,
    PartitionIndex,
    Problem,
    operation,
)
from broker.http_admin.requests import WAIT_MS_MAX
from broker.http_admin.state import Admin, bytes_for_json
from broker.http_admin.topics import NewTopicBody, TopicPath, create_topic
from broker.produce.store_records import NewRecord, store_records
from protocol.pacing import may_pause, paced, paced_elements, paced_stream
from protocol.records import (
    CONTROL_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Record,
    read_header,
    read_records,
)

PEEK_RECORDS_MAX = 10_000
PEEK_BYTES_MAX = 16 * 1024 * 1024
"""Bound of one response, so that reading a large log does not delay other clients."""

NEW_RECORDS_MAX = 10_000

WAIT_POLL_S = 0.01
"""How often a request that waits for records looks at the ends of the logs, in real time."""

COUNTED_BATCHES_MAX = 1_000
"""Batches that a request that waits looks at before other requests are served."""

LOOK_EVERY = 8
"""Records between two looks at the time: they may be long."""

_READ_BYTES = 256 * 1024
_CONTROL_CHARACTERS = bytes(range(32))
_READ_COMMITTED = "read_committed"

TransactionOutcome = Literal["open", "committed", "aborted"]


class RecordsQuery(Input):
    """The records to return: from `offset` on, of one partition or of all.

    With `timestamp`, in ms since the epoch, those of each partition from the first one on that has
    this timestamp or a later one, and is not before `offset`.

    `read_committed` omits those of aborted transactions, and all from the first open transaction
    of a partition on.
    """

    partition: PartitionIndex | None = None
    offset: Count = 0
    timestamp: Count | None = None
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


class WaitForRecordsQuery(RecordsQuery, kw_only=True):
    """How many records there must be, from the start of the log on, and how long to wait.

    `timeout_ms` is in ms of real time.
    """

    count: Count = 1
    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=WAIT_MS_MAX)] = 30_000


class BytesBody(Input):
    """Bytes, as text in UTF-8 or as base64."""

    text: str | None = None
    base64: str | None = None


class HeaderBody(Input):
    """One header of a new record."""

    key: str
    value: str | BytesBody | None = None


class RecordBody(Input):
    """A new record; a string stands for its bytes in UTF-8.

    Without `partition` the key decides, as in the Java client; a record without a key gets the
    partition with the lowest end offset. `timestamp` is in ms since the epoch, by default now.
    """

    value: str | BytesBody | None = None
    key: str | BytesBody | None = None
    headers: list[HeaderBody] = msgspec.field(default_factory=list)
    partition: PartitionIndex | None = None
    timestamp: Count | None = None


class RecordsBody(Input):
    """New records, in their order."""

    records: Annotated[list[RecordBody], msgspec.Meta(min_length=1, max_length=NEW_RECORDS_MAX)]


class ProducedView(msgspec.Struct):
    """Where a record was stored, and its timestamp."""

    partition: int
    offset: int
    timestamp: int


@operation("GET", "/v1/topics/{name}/records", tag="topics", turn_kind=TurnKind.READING)
@may_pause
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
    for partition in paced_elements(partitions):
        next_offset = _start_offset(admin, partition, query)
        if len(records) < query.limit and left_bytes > 0:
            end_offset = _end_offset(partition, query.isolation_level)
            found = _records(partition, next_offset, end_offset, query.isolation_level)
            for record, outcome in islice(found, query.limit - len(records)):
                view = record_view(partition.partition_index, record, query.encoding, outcome)
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


@may_pause
def _start_offset(admin: Admin, partition: Partition, query: RecordsQuery) -> int:
    if query.timestamp is None:
        return query.offset
    return max(query.offset, admin.offset_from_time(partition, query.timestamp))


@operation(
    "POST",
    "/v1/topics/{name}/records",
    tag="topics",
    status=201,
    further_rules="A broker would refuse the records, or bytes are not valid base64",
)
async def produce_records(admin: Admin, path: TopicPath, body: RecordsBody) -> list[ProducedView]:
    """Store records, as a producer with acks=all does; return where they are.

    A missing topic is created if `auto.create.topics.enable` allows it. No quota is charged, and no
    fault rule fires. If one of the records is refused, none is stored.
    """
    return await admin.alone_in_turns(lambda: _produce(admin, path.name, body))


@may_pause
def _produce(admin: Admin, name: str, body: RecordsBody) -> list[ProducedView]:
    records = [_new_record(record) for record in paced(body.records)]
    cluster = admin.cluster
    if cluster.topics.get(name) is None and cluster.config["auto.create.topics.enable"]:
        create_topic(admin, NewTopicBody(name))
    stored = store_records(cluster, admin.topic(name), records, admin.now_ms())
    if isinstance(stored, Refusal):
        raise Problem(422, f"{stored.error_code.name}: {stored.message}")
    return [ProducedView(*place) for place in stored]


def _new_record(record: RecordBody) -> NewRecord:
    return NewRecord(
        bytes_of(record.key),
        bytes_of(record.value),
        [(header.key, bytes_of(header.value)) for header in record.headers],
        record.partition,
        record.timestamp,
    )


def bytes_of(value: str | BytesBody | None) -> bytes | None:
    """Return the bytes that JSON stands for.

    Raises:
        Problem: 422, they are not valid.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if (value.text is None) == (value.base64 is None):
        raise Problem(422, 'bytes are either {"text": ...} or {"base64": ...}', location="body")
    if value.text is not None:
        return value.text.encode()
    return decoded_base64(value.base64 or "")


def saved_bytes(value: bytes | None) -> str | BytesBody | None:
    """Return what `bytes_of` reads: text if the bytes are UTF-8, else base64.

    Text that JSON would mostly escape is base64, too, which is shorter.
    """
    if value is None:
        return None
    with suppress(UnicodeDecodeError):
        text = value.decode()
        control_count = len(value) - len(value.translate(None, _CONTROL_CHARACTERS))
        if control_count <= len(value) // 8:
            return text
    return BytesBody(base64=b64encode(value).decode())


def decoded_base64(text: str) -> bytes:
    """Return the bytes that base64 stands for.

    Raises:
        Problem: 422, they are not valid.
    """
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Problem(422, f"base64: {error}", location="body") from error


@operation("GET", "/v1/topics/{name}/records/wait", tag="topics", turn_kind=TurnKind.READING)
async def wait_for_records(
    admin: Admin, path: TopicPath, query: WaitForRecordsQuery
) -> RecordsView:
    """Return records as soon as there are `count` of them.

    The topic need not exist yet. The other values of the query are those of
    `GET /v1/topics/{name}/records`, and the response is the same. After the timeout 408 with the
    number of records, and the Produce requests that come nearest.
    """
    loop = asyncio.get_running_loop()
    end_s = loop.time() + query.timeout_ms / 1000
    counter: _Counter | None = None
    while True:
        has_more = False
        topic = admin.cluster.topics.get(path.name)
        if topic is not None:
            if counter is None or counter.topic is not topic:
                counter = _Counter(topic, query.partition, query.isolation_level)
            has_more = counter.read()
            if counter.count >= query.count:
                return await admin.in_turns(partial(get_records, admin, path, query))
        if loop.time() >= end_s and not has_more:
            counted = None if counter is None else counter.count
            needed = RecordsWanted(
                path.name, query.partition, query.count, query.timeout_ms, counted
            )
            raise await admin.in_turns(partial(too_few_records, admin, needed))
        await asyncio.sleep(0 if has_more else WAIT_POLL_S)


class _Counter:
    """Counts the records of a topic, each batch once."""

    def __init__(self, topic: Topic, partition_index: int | None, isolation_level: str) -> None:
        self.topic = topic
        self.count = 0
        self._partition_index = partition_index
        self._isolation_level = isolation_level
        self._next_offsets: dict[int, int] = {}

    def read(self) -> bool:
        """Count some of the batches that are new; return whether there may be more."""
        left = COUNTED_BATCHES_MAX
        for partition in self.topic.partitions:
            index = partition.partition_index
            if self._partition_index not in {None, index}:
                continue
            end_offset = _end_offset(partition, self._isolation_level)
            offset = max(self._next_offsets.get(index, 0), partition.log.log_start_offset)
            while offset < end_offset and left > 0:
                batches = partition.log.read(
                    offset, _READ_BYTES, at_least_one=True, end_offset=end_offset
                )
                for batch in islice(batches, left):
                    header = read_header(batch, 0)
                    end = header.base_offset + header.last_offset_delta + 1
                    if not _is_skipped(header, _outcome(partition, header), self._isolation_level):
                        self.count += min(header.records_count, end - offset)
                    offset = end
                left -= len(batches)
            self._next_offsets[index] = offset
            if left <= 0:
                return True
        return False


def _end_offset(partition: Partition, isolation_level: str) -> int:
    is_committed = isolation_level == _READ_COMMITTED
    return partition.last_stable_offset if is_committed else partition.log.high_watermark


@may_pause
def _records(
    partition: Partition, from_offset: int, end_offset: int, isolation_level: str
) -> Iterator[tuple[Record, TransactionOutcome | None]]:
    """Yield records of a range of offsets; skip control batches and undecodable ones.

    A batch may reach beyond the end.
    It may pause before each of them.
    """
    log = partition.log
    offset = from_offset
    while (offset := max(offset, log.log_start_offset)) < end_offset:
        for batch in log.read(offset, _READ_BYTES, at_least_one=True, end_offset=end_offset):
            header = read_header(batch, 0)
            outcome = _outcome(partition, header)
            is_skipped = _is_skipped(header, outcome, isolation_level)
            with suppress(ValueError):
                for record in paced_stream(() if is_skipped else read_records(batch), LOOK_EVERY):
                    if record.offset >= offset:
                        yield record, outcome
            offset = max(offset, header.base_offset + header.last_offset_delta) + 1


@may_pause
def committed_records(partition: Partition, end_offset: int) -> Iterator[Record]:
    """Yield the records before an offset that are in no open and no aborted transaction."""
    for record, outcome in _records(partition, 0, end_offset, "read_uncommitted"):
        if record.offset >= end_offset:
            return
        if outcome in {None, "committed"}:
            yield record


@may_pause
def records_between(
    partition: Partition, from_offset: int, to_offset: int
) -> Iterator[tuple[Record, TransactionOutcome | None]]:
    """Yield the records of a range of offsets with the state of their transaction."""
    for record, outcome in _records(partition, from_offset, to_offset, "read_uncommitted"):
        if record.offset >= to_offset:
            return
        yield record, outcome


def _is_skipped(
    header: BatchHeader, outcome: TransactionOutcome | None, isolation_level: str
) -> bool:
    is_invisible = outcome == "aborted" and isolation_level == _READ_COMMITTED
    return is_invisible or bool(header.attributes & CONTROL_FLAG)


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


def record_view(
    partition_index: int, record: Record, encoding: str, outcome: TransactionOutcome | None
) -> RecordView:
    """Return a record as JSON has it."""
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
