"""Produce requests with changes of the cluster in between, and all that they leave behind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from broker.cluster.topics import NO_LEADER
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.faults import fault_rule
from broker.journal.lines import Entry, Line
from protocol import messages
from tests.batches import altered, make_batch
from tests.broker.acl_cluster import set_denied
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster
from tests.broker.connection_driver import FRAME_BYTES_MAX, NOW_MS

TOPICS = ("t", "topic-with-a-longer-name")
PARTITIONS = 3
HANDLING_NS = 100_000
"""How long it takes to append a record, and all that belongs to it."""


@dataclass(frozen=True)
class Produce:
    """Equal requests in one read of a connection: each has a batch for each of its places."""

    connection: int = 0
    topics: tuple[str, ...] = ("t",)
    indexes: tuple[int, ...] = (0,)
    version: int = 9
    acks: int = -1
    producer_id: int = -1
    producer_epoch: int = 0
    gap: int = 0
    """Added to the next sequence number: below 0 for a duplicate."""
    records: int = 1
    value: bytes = b"value"
    growth: int = 0
    """How many bytes longer the values for each further partition are."""
    codec: str = "none"
    later_ms: int = 0
    """How far the timestamp is after the time of the request."""
    damage: tuple[int, str, int, bool] | None = None
    """A field of the batch that is overwritten, as `tests.batches.altered` takes it."""
    damaged_from: int = 0
    """The place of the first partition whose batch is damaged."""
    count: int = 1
    client_id: str = "client"
    cut: int | None = None
    """Where the bytes are cut into two reads."""
    rest: bytes = b""
    """Bytes behind the request in its frame."""
    changed: tuple[tuple[int, int], ...] = ()
    """Places of bytes of the frame, and what their values are combined with by "exclusive or"."""
    transactional_id: str | None = None
    """With one, the batches are those of its producer, with `producer_epoch` added to its epoch."""
    is_outside: bool = False
    """Whether the batches do not say that they belong to the transaction."""


Change = tuple[str, *tuple[Any, ...]]
"""A method of `Run` and its arguments."""


class Run:
    """Two brokers, three connections to them, and a clock."""

    def __init__(self, read_bytes_max: int | None = None, **overrides: str) -> None:
        """`read_bytes_max` is what a connection receives at once; by default it is all."""
        self.read_bytes_max = read_bytes_max
        self.cluster = make_cluster(2, **{**ALL_VERSIONS, **overrides})
        self.bugs: list[BaseException] = []
        self.dispatcher = Dispatcher(
            self.cluster, lambda error, _context: self.bugs.append(error), self._now_ns
        )
        self.now_ms = NOW_MS
        self.written: list[tuple[int, bytes, str | None, int]] = []
        self.followed: list[tuple[Any, ...]] = []
        self._sequences: dict[tuple[str, int, int, int], int] = {}
        self._correlation_ids = count(1)
        self.connections: list[Connection] = []
        for topic in TOPICS:
            self.create(topic)
        for number in range(3):
            self._connect(number)

    def _now_ns(self) -> int:
        logs = (part.log for topic in self.cluster.topics.all() for part in topic.partitions)
        return HANDLING_NS * sum(log.log_end_offset for log in logs)

    def _connect(self, number: int) -> None:
        connection = Connection(
            self.dispatcher,
            broker_id=1 if number < 2 else 2,
            connection_id=len(self.connections) + 1,
            client_host="h",
            frame_bytes_max=FRAME_BYTES_MAX,
            on_ready=lambda: None,
        )
        if number < len(self.connections):
            self.connections[number].lose()
            self.connections[number] = connection
        else:
            self.connections.append(connection)

    def do(self, step: Produce | Change) -> None:
        """Send requests, or change something."""
        if isinstance(step, Produce):
            self.send(step)
        else:
            name, *arguments = step
            getattr(self, name)(*arguments)
        self.cluster.timers.run_due(self.now_ms)

    # Requests ------------------------------------------------------------------------------

    def send(self, produce: Produce) -> None:
        """Send the requests, and note what the connection returns."""
        data = b"".join(self._frame(produce) for _ in range(produce.count))
        cut = len(data) if produce.cut is None else produce.cut
        for piece in (data[:cut], data[cut:]):
            if piece:
                self._receive(produce.connection, piece)

    def send_together(self, *produces: Produce) -> None:
        """Send one request of each kind, all in one read of the first connection."""
        self._receive(0, b"".join(map(self._frame, produces)))

    def _receive(self, number: int, data: bytes) -> None:
        connection = self.connections[number]
        size = self.read_bytes_max or len(data)
        for start in range(0, len(data), size):
            if self.connections[number] is connection:  # it was not closed
                self._note(number, connection.receive(data[start : start + size], self.now_ms))

    def _note(self, number: int, output: Any) -> None:
        write, close_reason, has_more, muted_until_ms, _parts = output
        self.written.append((number, write, close_reason, muted_until_ms))
        if write:
            self.dispatcher.acknowledgements.written(self.connections[number].connection_id)
        if close_reason is not None:
            self._connect(number)
        elif has_more:
            self._note(number, self.connections[number].resume(self.now_ms))

    def _frame(self, produce: Produce) -> bytes:
        version = produce.version
        topic_class = messages.ProduceRequest.TopicProduceData
        topics = []
        for name in produce.topics:
            known = self.cluster.topics.get(name)
            fields: dict[str, Any] = {"name": name}
            if version >= 13 and known is not None:
                fields = {"topic_id": known.topic_id}
            partitions = [
                topic_class.PartitionProduceData(
                    version=version, index=index, records=self._batch(produce, name, index, place)
                )
                for place, index in enumerate(produce.indexes)
            ]
            topics.append(topic_class(version=version, **fields, partition_data=partitions))
        request = messages.ProduceRequest(
            version=version,
            transactional_id=produce.transactional_id,
            acks=produce.acks,
            timeout_ms=1000,
            topic_data=topics,
        )
        request.with_header(next(self._correlation_ids), produce.client_id)
        frame = bytes(request.encode(version=version, header=True)) + produce.rest
        changed = bytearray(frame)
        for place, value in produce.changed:
            changed[place] ^= value
        frame = bytes(changed)
        return len(frame).to_bytes(4, "big") + frame

    def _batch(self, produce: Produce, topic: str, index: int, place: int) -> bytes:
        producer: dict[str, Any] = {}
        producer_id, producer_epoch = produce.producer_id, produce.producer_epoch
        if produce.transactional_id is not None:
            transaction = self.cluster.transactions.get(produce.transactional_id)
            if transaction is not None:
                producer_id = transaction.producer_id
                producer_epoch += transaction.producer_epoch
        if producer_id >= 0:
            key = topic, index, producer_id, producer_epoch
            sequence = max(0, self._sequences.get(key, 0) + produce.gap)
            self._sequences[key] = sequence + produce.records
            producer = {
                "producer_id": producer_id,
                "producer_epoch": producer_epoch,
                "base_sequence": sequence,
                "is_transactional": produce.transactional_id is not None and not produce.is_outside,
            }
        batch = make_batch(
            *[produce.value + bytes(place * produce.growth)] * produce.records,
            timestamps=[self.now_ms + produce.later_ms] * produce.records,
            codec=produce.codec,
            **producer,
        )
        if produce.damage is not None and place >= produce.damaged_from:
            position, layout, value, fix_crc = produce.damage
            batch = altered(batch, position, layout, value, fix_crc=fix_crc)
        return batch

    # Changes -------------------------------------------------------------------------------

    def create(self, topic: str) -> None:
        if self.cluster.topics.get(topic) is None:
            self.cluster.create_topic(topic, [(1, 2)] * (PARTITIONS - 1) + [(2, 1)], {})

    def delete(self, topic: str) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            self.cluster.delete_topic(known, self.now_ms)

    def configure(self, topic: str, key: str, value: str) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            overrides = {**known.config.overrides, key: value}
            self.cluster.alter_topic_config(known, overrides)

    def configure_brokers(self, broker_id: int | None, key: str, value: str) -> None:
        config = self.cluster.config
        layer = dict(config.dynamic_layer(broker_id))
        self.cluster.set_config(config.with_dynamic(broker_id, {**layer, key: value}))

    def lead(self, topic: str, index: int, node_id: int) -> None:
        known = self.cluster.topics.get(topic)
        if known is None:
            return
        partition = known.partitions[index]
        if node_id < 0:
            self.cluster.set_leader(partition, NO_LEADER, self.now_ms)
        else:
            self.cluster.move_leader(partition, node_id, self.now_ms)

    def keep_in_sync(self, topic: str, index: int, isr: tuple[int, ...]) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            self.cluster.set_isr(known.partitions[index], isr, self.now_ms)

    def assign(self, topic: str, index: int, replicas: tuple[int, ...]) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            self.cluster.assign(known.partitions[index], replicas, self.now_ms)

    def delete_records(self, topic: str, index: int) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            partition = known.partitions[index]
            end_offset = partition.log.log_end_offset
            self.cluster.delete_records_before(partition, end_offset, self.now_ms)

    def set_quota(self, key: str, value: float | None, is_shadow: bool) -> None:
        problem = self.cluster.quotas.clients.alter(
            (("user", "ANONYMOUS"),), [(key, value)], is_shadow=is_shadow
        )
        assert problem is None

    def add_rule(self, **fields: Any) -> None:
        self.dispatcher.faults.add(fault_rule(**fields), self.now_ms)

    def add_error_rule(self, times: int | None) -> None:
        self.add_rule(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=times)

    def remove_rules(self) -> None:
        self.dispatcher.faults.clear()

    def set_denied(self, topic: str, is_denied: bool) -> None:
        set_denied(self.cluster, topic, is_denied=is_denied)

    def keep_journal(self, is_enabled: bool) -> None:
        self.dispatcher.journal.is_enabled = is_enabled

    def follow_journal(self) -> None:
        self.dispatcher.journal.subscribe(lambda line: self.followed.append(fields_of_line(line)))

    def bound_journal(self, bytes_max: int) -> None:
        self.dispatcher.journal.bytes_max = bytes_max

    def audit(self, is_enabled: bool) -> None:
        self.dispatcher.acknowledgements.is_enabled = is_enabled

    def end_session(self, number: int, after_ms: int) -> None:
        connection = self.connections[number]
        connection.session.limited_from_ms = self.now_ms + after_ms
        connection.hold(b"")  # what changes a session comes with a request of the connection

    def log_in(self, number: int, principal: str) -> None:
        """Authenticate a client, before its first request."""
        self.connections[number].session.authenticate(principal, None)

    def advance(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        self.cluster.timers.run_due(self.now_ms)
        for number, connection in enumerate(self.connections):
            self._note(number, connection.resume(self.now_ms))

    def reset(self) -> None:
        self.dispatcher.faults.reset()
        self.cluster.reset()

    # Results -------------------------------------------------------------------------------

    def result(self) -> dict[str, Any]:
        """Return all that requests leave behind."""
        cluster, dispatcher = self.cluster, self.dispatcher
        partitions = [p for topic in cluster.topics.all() for p in topic.partitions]
        logs = [partition.log for partition in partitions]
        return {
            "written": self.written,
            "logs": [
                (list(log.rewind()), log.log_start_offset, log.epoch_starts, log.size_bytes)
                for log in logs
            ],
            "log_bytes": cluster.log_bytes,
            "producers": [p.producers.describe() for p in partitions],
            "entries": [
                [p.producers.entry(found.producer_id) for found in p.producers.describe()]
                for p in partitions
            ],
            "metrics": [str(found) for found in cluster.quotas.metrics.measure(self.now_ms)],
            "shadow": [str(found) for found in cluster.quotas.shadow.measurements(self.now_ms)],
            "journal": [fields_of_line(line) for line in dispatcher.journal],
            "followed": self.followed,
            "acknowledged": dispatcher.acknowledgements.sent,
            "rules": dispatcher.faults.is_enabled,
            "queues": [
                manager.queue_size
                for quotas in cluster.quotas.brokers.values()
                for manager in (quotas.produce, quotas.request, quotas.producer_ids)
            ],
            "due": cluster.timers.next_due_ms(),
            "bugs": [repr(bug) for bug in self.bugs],
        }


def fields_of_line(line: Line) -> tuple[Any, ...]:
    """Return what a line of the journal says, except for durations."""
    if not isinstance(line, Entry):
        return (line.number,)
    context = line.context
    # A run of requests is timed as a whole.
    is_timed = line.duration_us is not None
    fields = line.frame, line.response, line.outcome, is_timed, line.close_reason
    throttle = context.throttle_time_ms, context.muted_until_ms, context.size_bytes
    return line.number, *fields, *throttle, *context.describe().values()


@contextmanager
def counted_calls(owner: Any, name: str) -> Iterator[list[Any]]:
    """Collect what a function returns."""
    results: list[Any] = []
    function = getattr(owner, name)

    def counting(*arguments: Any) -> Any:
        results.append(function(*arguments))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, counting)
        yield results


def streams(written: Sequence[tuple[int, bytes, str | None, int]]) -> list[list[Any]]:
    """Return what each connection has written, and why it was closed, whatever the reads were."""
    found: list[list[Any]] = [[b""] for _ in range(3)]
    for number, data, close_reason, _muted_until_ms in written:
        found[number][-1] += data
        if close_reason is not None:
            found[number] += [close_reason, b""]
    return found


def run(
    steps: Sequence[Produce | Change], read_bytes_max: int | None = None, **overrides: str
) -> dict[str, Any]:
    """Carry out the steps; return what they leave behind."""
    made = Run(read_bytes_max, **overrides)
    for step in steps:
        made.do(step)
    return made.result()
