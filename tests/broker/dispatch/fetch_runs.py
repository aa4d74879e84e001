"""Fetch requests of sessions with changes of the cluster in between, and what they leave behind."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st

from broker.cluster import partition_log
from broker.cluster.fetch_sessions import FetchSession
from broker.cluster.transaction_index import AbortedTransaction
from broker.dispatch import fetch_replay
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.turns import TURN_NS
from broker.fetch import partition_read, session_logs
from broker.handlers import k01_fetch
from broker.journal.lines import Entry, Line, Outcome
from broker.produce.append import append_batch
from broker.responses import PARTS_BYTES_MIN
from producer_state.rules import APPEND
from protocol import messages, pacing, records
from protocol.api_keys import ApiKey
from tests.batches import make_batch
from tests.broker.acl_cluster import set_denied
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS, make_cluster, make_context
from tests.broker.dispatch.produce_runs import fields_of_line

PARTITIONS = 3
FRAME_BYTES_MAX = 1 << 20
_Topic = messages.FetchRequest.FetchTopic

Step = tuple[str, dict[str, Any]]


def _split(data: bytes) -> Iterator[bytes]:
    """Yield each response of what a connection wrote."""
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        yield data[:end]
        data = data[end:]


class Client:
    """One cluster, and two connections of a client that fetches in one session.

    `between` are done one by one after turns of requests that pause wherever they may; without it
    no request pauses.
    """

    def __init__(self, between: Sequence[Step] | None = None) -> None:
        self.cluster = make_cluster(2, **ALL_VERSIONS)
        self.bugs: list[BaseException] = []
        clock = count(0, 0 if between is None else TURN_NS)
        self.dispatcher = Dispatcher(
            self.cluster, lambda error, _context: self.bugs.append(error), lambda: next(clock)
        )
        self._turns: list[Callable[[], None]] = []
        self._between = list(between or ())
        if between is not None:
            self.dispatcher.turns.call_later = lambda _delay_s, turn: self._turns.append(turn)
        self.now_ms = NOW_MS
        self.written: list[tuple[int, int, bytes]] = []
        self.followed: list[tuple[Any, ...]] = []
        self.session_id, self.epoch, self.version = 0, 0, 0
        self.offsets: dict[tuple[str, int], int] = {}
        self.connections = [self._connect(number) for number in range(2)]
        for topic in "ab":
            self.create(topic)

    def _connect(self, number: int) -> Connection:
        return Connection(
            self.dispatcher,
            broker_id=1,
            connection_id=number + 1,
            client_host="h",
            frame_bytes_max=FRAME_BYTES_MAX,
            on_ready=lambda: None,
        )

    def do(self, step: Step) -> None:
        """Carry out a step, and what is due after it."""
        self._begin(step)
        while True:
            self.cluster.timers.run_due(self.now_ms)
            while self._turns:
                self._turns.pop()()
                if self._between:
                    self._begin(self._between.pop(0))
                self.cluster.timers.run_due(self.now_ms)
            for number, connection in enumerate(self.connections):
                self._note(number, connection.resume(self.now_ms))
            due_ms = self.cluster.timers.next_due_ms()
            if not self._turns and (due_ms is None or due_ms > self.now_ms):
                return
            # A response made room for a request that was queued behind it: it takes turns, or it
            # completes at once.

    def _begin(self, step: Step) -> None:
        name, arguments = step
        getattr(self, name)(**arguments)

    def lose(self, connection: int) -> None:
        self.connections[connection].lose()
        self.connections[connection] = self._connect(connection)

    def _note(self, number: int, output: Any) -> None:
        if output.close_reason is not None:
            self.connections[number] = self._connect(number)
        # Responses are written together or not, depending on how long each one takes.
        for response in _split(output.write):
            self.written.append((self.now_ms, number, response))
            self._follow(response)

    def create(self, topic: str) -> None:
        if self.cluster.topics.get(topic) is None:
            self.cluster.create_topic(topic, [(1, 2)] * PARTITIONS, {})

    def delete(self, topic: str) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            self.cluster.delete_topic(known, self.now_ms)

    def produce(self, topic: str, partition: int, values: list[bytes]) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            found, batch = known.partitions[partition], make_batch(*values)
            context = make_context(ApiKey.PRODUCE, 9, broker_id=found.leader_id)
            append_batch(context, self.cluster, known, found, batch, 0, len(batch))

    def produce_long(self, topic: str, partition: int) -> None:
        self.produce(topic, partition, [bytes(PARTS_BYTES_MIN)])

    def begin_transaction(self, topic: str, partition: int) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            found = known.partitions[partition]
            if found.producers.first_unstable_offset < 0:
                end, batch = found.log.log_end_offset, make_batch(b"t")
                assert found.producers.check(8, 0, 0, 0, True) is APPEND
                found.producers.apply(8, 0, 0, 0, end, NOW_MS, True)
                stamped = records.stamp(batch, 0, len(batch), end, found.leader_epoch)
                found.log.append(stamped, 1, found.leader_epoch)
                found.log.wake(self.now_ms)

    def delete_records(self, topic: str, partition: int) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            found = known.partitions[partition]
            self.cluster.delete_records_before(found, found.log.log_end_offset, self.now_ms)

    def abort(self, topic: str, partition: int) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            end = known.partitions[partition].log.log_end_offset
            index = known.partitions[partition].log.transaction_index
            index.append(AbortedTransaction(7, max(0, end - 1), end, end))

    def lead(self, topic: str, partition: int, node_id: int) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            self.cluster.set_leader(known.partitions[partition], node_id, self.now_ms)

    def set_quota(self, rate: float | None) -> None:
        quotas = self.cluster.quotas.clients
        assert quotas.alter((("user", "ANONYMOUS"),), [("consumer_byte_rate", rate)]) is None

    def set_denied(self, topic: str, is_denied: bool) -> None:
        set_denied(self.cluster, topic, is_denied=is_denied)

    def set_journal(self, is_enabled: bool) -> None:
        self.dispatcher.journal.is_enabled = is_enabled

    def follow_journal(self) -> None:
        def take(line: Line) -> None:
            # A request that takes turns is heard twice.
            if isinstance(line, Entry) and line.outcome is not Outcome.WAITING:
                self.followed.append(fields_of_line(line))

        self.dispatcher.journal.subscribe(take)

    def advance(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    def fetch(
        self,
        connection: int,
        version: int,
        named: list[tuple[str, int, int]],
        forgotten: list[tuple[str, int]],
        epoch_change: int,
        begins: bool,
        **limits: int,
    ) -> None:
        """Fetch; the offsets of `named` count from what the client has read."""
        if begins:
            self.session_id = self.epoch = 0
        topics: dict[str, list[Any]] = {}
        for topic, index, skipped in named:
            offset = max(0, self.offsets.get((topic, index), 0) + skipped)
            topics.setdefault(topic, []).append(
                _Topic.FetchPartition(
                    version=version,
                    partition=index,
                    current_leader_epoch=limits["leader_epoch"],
                    fetch_offset=offset,
                    last_fetched_epoch=-1,
                    log_start_offset=-1,
                    partition_max_bytes=limits["partition_bytes"],
                )
            )
        names = {name: known.topic_id for name in "ab" if (known := self.cluster.topics.get(name))}
        request = messages.FetchRequest(
            version=version,
            replica_id=-1,
            max_wait_ms=limits["max_wait_ms"],
            min_bytes=limits["min_bytes"],
            max_bytes=limits["max_bytes"],
            isolation_level=limits["isolation_level"],
            session_id=self.session_id,
            session_epoch=self.epoch + epoch_change if self.session_id else 0,
            topics=[
                _Topic(version=version, topic=name, topic_id=names[name], partitions=partitions)
                for name, partitions in topics.items()
                if name in names
            ],
            forgotten_topics_data=[
                messages.FetchRequest.ForgottenTopic(
                    topic=name, topic_id=names[name], partitions=[index]
                )
                for name, index in forgotten
                if name in names
            ],
            rack_id="",
        )
        request.with_header(len(self.written), "client")
        frame = bytes(request.encode(version=version, header=True))
        data = len(frame).to_bytes(4, "big") + frame
        self.version = version
        self._note(connection, self.connections[connection].receive(data, self.now_ms))

    def _follow(self, frame: bytes) -> None:
        version = self.version
        body = frame[8 if version < 12 else 9 :]
        response = messages.FetchResponse.decode(body, version=version)
        if response.session_id:
            self.epoch = self.epoch + 1 if response.session_id == self.session_id else 1
            self.session_id = response.session_id
        for topic in response.responses:
            name = topic.topic if version < 13 else self._name_of(topic.topic_id)
            for part in topic.partitions:
                if part.records and name is not None:
                    self.offsets[name, part.partition_index] = part.high_watermark

    def _name_of(self, topic_id: Any) -> str | None:
        known = self.cluster.topics.get_by_id(topic_id)
        return None if known is None else known.name

    def _state(self, session: FetchSession) -> list[tuple[Any, ...]]:
        """Return the partitions of a session in their order, and what it knows of them."""
        return [
            (
                self._name_of(cached.topic_id) if cached.topic_id else cached.topic_name,
                cached.partition_index,
                cached.fetch_offset,
                cached.max_bytes,
                cached.current_leader_epoch,
                cached.high_watermark,
                cached.log_start_offset,
            )
            for cached in session.partitions.values()
        ]

    def result(self) -> dict[str, Any]:
        """Return all that the requests leave behind."""
        partitions = [p for topic in self.cluster.topics.all() for p in topic.partitions]
        return {
            # Which of two connections responds first at the same time may differ.
            "written": sorted(self.written, key=lambda response: response[:2]),
            "waiters": [len(partition.log.waiters) for partition in partitions],
            "due": self.cluster.timers.next_due_ms(),
            "sessions": [
                (session.epoch, session.last_used_ms, session.size, self._state(session))
                for cache in self.cluster.fetch_sessions.values()
                for shard in cache._shards
                for session in shard.sessions.values()
            ],
            "metrics": [str(found) for found in self.cluster.quotas.metrics.measure(self.now_ms)],
            "journal": [fields_of_line(line) for line in self.dispatcher.journal],
            "followed": self.followed,
            "bugs": [repr(bug) for bug in self.bugs],
        }


def run(steps: Sequence[Step], between: Sequence[Step] | None = None) -> dict[str, Any]:
    """Carry out the steps; return what they leave behind."""
    client = Client(between)
    for step in steps:
        client.do(step)
    return client.result()


def as_long(steps: Sequence[Step], between: Sequence[Step] | None = None) -> dict[str, Any]:
    """Return the result if all sessions have many partitions."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (fetch_replay, k01_fetch):
            patch.setattr(module, "PARTITIONS_MAX", 0)
        patch.setattr(session_logs, "PARTITIONS_MIN", 0)
        patch.setattr(pacing, "LOOK_EVERY", 1)
        return run(steps, between)


def as_many(steps: Sequence[Step], between: Sequence[Step] | None = None) -> dict[str, Any]:
    """Return the result if two batches are very many."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (partition_log, partition_read):
            patch.setattr(module, "SHORT_BATCHES_MAX", 1)
        patch.setattr(partition_log, "RUN_BATCHES", 1)
        patch.setattr(partition_read, "JOINED_PARTS_MAX", 1)
        return run(steps, between)


def with_logs(steps: Sequence[Step]) -> dict[str, Any]:
    """Return the result if sessions with few partitions remember their logs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_logs, "PARTITIONS_MIN", 0)
        return run(steps)


def fetch(*named: tuple[str, int, int], **changes: Any) -> Step:
    usual: dict[str, Any] = {
        "connection": 0,
        "version": 12,
        "named": list(named),
        "forgotten": [],
        "epoch_change": 0,
        "begins": False,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 10_000,
        "partition_bytes": 10_000,
        "leader_epoch": -1,
        "isolation_level": 0,
    }
    return "fetch", {**usual, **changes}


def produce(topic: str = "a", partition: int = 0) -> Step:
    return "produce", {"topic": topic, "partition": partition, "values": [b"v"]}


ALL = [("a", index, 0) for index in range(PARTITIONS)]
topics = st.sampled_from("aab")
indexes = st.integers(0, PARTITIONS - 1)
mostly = {
    "version": st.shared(st.sampled_from([7, 9, 11, 12, 13, 16, 18]), key="version"),
    "isolation_level": st.shared(st.sampled_from([0, 1]), key="isolation"),
    "max_wait_ms": st.shared(st.sampled_from([0, 100]), key="wait"),
    "max_bytes": st.shared(st.sampled_from([10_000, 100, 0]), key="bytes"),
    "min_bytes": st.shared(st.sampled_from([1, 1, 0, 200]), key="least"),
}
requests = st.builds(
    fetch,
    connection=st.sampled_from([0, 0, 0, 1]),
    named=st.one_of(
        st.just([]),
        st.lists(st.tuples(topics, indexes, st.sampled_from([0, 0, 0, -1, 5])), max_size=3),
    ),
    forgotten=st.one_of(st.just([]), st.just([]), st.lists(st.tuples(topics, indexes), max_size=1)),
    epoch_change=st.sampled_from([0] * 8 + [-1, 1]),
    begins=st.sampled_from([False] * 9 + [True]),
    partition_bytes=st.sampled_from([10_000, 10_000, 10_000, 60, -1]),
    leader_epoch=st.sampled_from([-1, -1, 0, 1]),
    **mostly,
)
changes = st.one_of(
    st.tuples(st.just("delete"), st.fixed_dictionaries({"topic": topics})),
    st.tuples(st.just("create"), st.fixed_dictionaries({"topic": topics})),
    *(
        st.tuples(st.just(name), st.fixed_dictionaries({"topic": topics, "partition": indexes}))
        for name in ("delete_records", "abort")
    ),
    st.tuples(
        st.just("lead"),
        st.fixed_dictionaries(
            {"topic": topics, "partition": indexes, "node_id": st.sampled_from([1, 2])}
        ),
    ),
    st.tuples(
        st.just("set_quota"), st.fixed_dictionaries({"rate": st.sampled_from([None, 100.0, 1e7])})
    ),
    st.tuples(st.just("set_journal"), st.fixed_dictionaries({"is_enabled": st.booleans()})),
    st.tuples(
        st.just("set_denied"),
        st.fixed_dictionaries({"topic": topics, "is_denied": st.booleans()}),
    ),
    st.tuples(st.just("follow_journal"), st.just({})),
)
advances = st.tuples(
    st.just("advance"),
    st.fixed_dictionaries({"duration_ms": st.sampled_from([1, 50, 100, 130_000])}),
)


def _weighted(*strategies: st.SearchStrategy[Step]) -> st.SearchStrategy[Step]:
    """Draw from one of them; one that is there twice is drawn from twice as often."""
    # `one_of` would drop what is there twice.
    return st.sampled_from(strategies).flatmap(lambda chosen: chosen)


steps = _weighted(*[requests] * 3, *[st.builds(produce, topics, indexes)] * 2, advances, changes)

ONE = [("a", 0, 0)]
FIRST = {"topic": "a", "partition": 0}
one = st.builds(
    fetch,
    connection=st.sampled_from([0] * 15 + [1]),
    named=st.sampled_from([*[ONE] * 8, [], [], [("a", 0, -1)], [("a", 0, 5)]]),
    epoch_change=st.sampled_from([0] * 18 + [-1, 1]),
    partition_bytes=st.sampled_from([10_000] * 12 + [60, -1]),
    leader_epoch=st.sampled_from([-1] * 12 + [0, 1]),
    **mostly,
)
changes_of_one = st.one_of(
    st.tuples(
        st.sampled_from(["delete_records", "abort", "begin_transaction", "produce_long"]),
        st.just(FIRST),
    ),
    st.tuples(
        st.just("advance"), st.fixed_dictionaries({"duration_ms": st.sampled_from([1, 100])})
    ),
    changes,
    requests,
)
steps_of_one = _weighted(*[one] * 10, *[st.just(produce())] * 8, changes_of_one)

RECORD: Step = ("set_journal", {"is_enabled": True})
losses = st.tuples(st.just("lose"), st.fixed_dictionaries({"connection": st.integers(0, 1)}))
