"""Requests of a session get the same responses with and without the shortcut for usual ones."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from broker.cluster import partition_log
from broker.cluster.fetch_sessions import FetchSession
from broker.cluster.transaction_index import AbortedTransaction
from broker.dispatch import fetch_cache
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.fetch_cache import CachedWait
from broker.dispatch.turn_queue import TurnKind
from broker.dispatch.turns import TURN_NS
from broker.fetch import partition_read, session_fetch, session_logs, session_plan
from broker.fetch.session_plan import NamedPartition
from broker.handlers import k01_fetch
from broker.journal.lines import Entry, Line, Outcome
from broker.produce.append import append_batch
from broker.responses import PARTS_BYTES_MIN
from producer_state.rules import APPEND
from protocol import messages, pacing, records
from protocol.api_keys import ApiKey
from tests.batches import make_batch
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS, make_cluster, make_context
from tests.broker.dispatch.produce_runs import counted_calls, fields_of_line
from tests.examples import examples

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
            "written": self.written,
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


@contextmanager
def counted_shortcuts() -> Iterator[list[object]]:
    """Collect what the shortcut returns, if that is a response."""
    found: list[object] = []

    def noting(module: Any, name: str) -> None:
        function = getattr(module, name)

        def call(*arguments: Any) -> Any:
            found.append((module, name))
            return function(*arguments)

        patch.setattr(module, name, call)

    with pytest.MonkeyPatch.context() as patch:
        noting(session_fetch, "encode_found")
        noting(session_fetch.SessionWait, "wait")
        noting(fetch_cache, "encode_found")
        noting(fetch_cache, "frame_newest")
        yield found


def run(steps: Sequence[Step], between: Sequence[Step] | None = None) -> dict[str, Any]:
    """Carry out the steps; return what they leave behind."""
    client = Client(between)
    for step in steps:
        client.do(step)
    return client.result()


def both(steps: Sequence[Step]) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Return the results with and without the shortcut, and how often it was taken."""
    with counted_shortcuts() as taken:
        with_shortcut = run(steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_plan, "_targets", lambda *_arguments: {})
        without = run(steps)
    return with_shortcut, without, len(taken)


def as_long(steps: Sequence[Step], between: Sequence[Step] | None = None) -> dict[str, Any]:
    """Return the result if all sessions have many partitions."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (session_fetch, session_logs, fetch_cache, k01_fetch):
            patch.setattr(module, "PARTITIONS_MAX", 0)
        patch.setattr(pacing, "LOOK_EVERY", 1)
        return run(steps, between)


def as_many(steps: Sequence[Step], between: Sequence[Step] | None = None) -> dict[str, Any]:
    """Return the result if two batches are very many."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (partition_log, partition_read, session_plan):
            patch.setattr(module, "SHORT_BATCHES_MAX", 1)
        for module in (partition_log, session_plan):
            patch.setattr(module, "RUN_BATCHES", 1)
        patch.setattr(partition_read, "JOINED_PARTS_MAX", 1)
        return run(steps, between)


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


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(steps, max_size=25))
@example([RECORD, *[produce()] * 2, fetch(), fetch(), fetch(max_wait_ms=100), produce(), fetch()])
@example([*[fetch(max_wait_ms=100)] * 2, fetch(max_wait_ms=100, epoch_change=1), produce()])
@example([*[produce()] * 2, fetch(max_wait_ms=100, max_bytes=100, min_bytes=200)])
def test_a_session_goes_on_the_same_way_without_the_shortcut(found: list[Step]) -> None:
    with_shortcut, without, taken = both([fetch(*ALL), *found])
    event(f"taken: {min(taken, 5)}")

    assert with_shortcut == without
    assert as_long([fetch(*ALL), *found]) == without
    assert as_long([fetch(*ALL), *found], between=()) == without
    assert as_many([fetch(*ALL), *found]) == without
    assert as_many([fetch(*ALL), *found], between=()) == without
    assert with_shortcut["bugs"] == []


@settings(max_examples=examples(500), deadline=None)
@given(
    st.lists(steps_of_one, min_size=5, max_size=30),
    st.fixed_dictionaries(mostly),
    st.booleans(),
    st.sampled_from([None, 1e7]),
)
def test_a_session_of_one_partition_goes_on_the_same_way_without_the_shortcut(
    found: list[Step], usual: dict[str, int], is_recorded: bool, quota: float | None
) -> None:
    # With so many requests a connection remembers them, and so does the session.
    begun: list[Step] = [
        ("set_journal", {"is_enabled": is_recorded}),
        ("set_quota", {"rate": quota}),
    ]
    begun += [fetch(*ONE, **usual), *[produce(), fetch(*ONE, **usual)] * 3]

    with counted_calls(NamedPartition, "take_offset") as taken:
        with_shortcut, without, _taken = both([*begun, *found])
    event(f"taken: {min(len(taken), 5)}")

    assert with_shortcut == without
    assert with_shortcut["bugs"] == []


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(steps, max_size=15), st.lists(st.one_of(steps, losses), max_size=15))
def test_changes_between_the_turns_of_a_request_leave_nothing_broken(
    found: list[Step], between: list[Step]
) -> None:
    end: list[Step] = [("lose", {"connection": 0}), ("lose", {"connection": 1})]

    for result in (
        as_long([fetch(*ALL), *found, *end], between),
        as_many([fetch(*ALL), *found, *end], between),
    ):
        assert result["bugs"] == []
        assert not any(result["waiters"])
        assert result["due"] is None


@pytest.mark.parametrize("turns_before", range(12))
@pytest.mark.parametrize("end", [produce(), ("advance", {"duration_ms": 100})])
def test_a_long_wait_that_ends_while_it_begins_leaves_no_waiter(
    end: Step, turns_before: int
) -> None:
    nothing: Step = ("advance", {"duration_ms": 0})
    steps = [fetch(*ALL), fetch(), fetch(max_wait_ms=100), ("advance", {"duration_ms": 100})]

    result = as_long(steps, [nothing] * turns_before + [end])

    assert not any(result["waiters"])
    assert result["due"] is None
    assert len(result["written"]) == 3


@pytest.mark.parametrize("version", [9, 11, 12, 13, 18])
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_usual_requests_take_the_shortcut(version: int, isolation_level: int) -> None:
    usual: dict[str, Any] = {"version": version, "isolation_level": isolation_level}
    found, without, taken = both(
        [
            fetch(*ALL, **usual),
            produce(),
            fetch(**usual),
            fetch(("a", 0, 0), **usual),
            produce(partition=1),
            produce(partition=2),
            fetch(**usual, max_wait_ms=100),
            fetch(("a", 1, 0), ("a", 2, 0), **usual, max_wait_ms=100),
            produce(partition=1),
            fetch(("a", 1, 0), **usual, max_wait_ms=100),
            ("advance", {"duration_ms": 100}),
        ]
    )

    assert found == without
    assert taken >= 6


@pytest.mark.parametrize(
    "change",
    [
        ("delete", {"topic": "a"}),
        ("delete_records", {"topic": "a", "partition": 1}),
        ("lead", {"topic": "a", "partition": 0, "node_id": 2}),
        ("abort", {"topic": "a", "partition": 0}),
        ("set_quota", {"rate": 1.0}),
        fetch(("a", 0, 5)),
        fetch(connection=1),
        fetch(("a", 0, 0), ("b", 0, 0), connection=1),
        fetch(forgotten=[("a", 1)], connection=1),
    ],
)
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_a_change_while_a_request_waits_has_the_same_result(
    change: Step, isolation_level: int
) -> None:
    waiting = fetch(max_wait_ms=100, isolation_level=isolation_level)
    found, without, taken = both(
        [
            fetch(*ALL, isolation_level=isolation_level),
            waiting,
            change,
            produce(),
            ("advance", {"duration_ms": 100}),
            fetch(isolation_level=isolation_level),
        ]
    )

    assert found == without
    assert taken


@pytest.mark.parametrize(("partition_count", "kinds"), [(100, []), (101, [TurnKind.LIGHT] * 2)])
@pytest.mark.parametrize("change", [("advance", {"duration_ms": 1}), ("set_quota", {"rate": 1.0})])
def test_a_session_with_more_than_a_hundred_partitions_takes_turns(
    partition_count: int, kinds: list[TurnKind], change: Step
) -> None:
    client = Client()
    cluster = client.cluster
    topic = cluster.topics.get("a")
    assert topic is not None
    cluster.add_partitions(topic, [(1, 2)] * (partition_count - PARTITIONS))
    client.do(fetch(*[("a", index, 0) for index in range(partition_count)]))
    found = []

    def run(respond: Callable[[], Any], _frame_bytes: int, kind: TurnKind) -> Any:
        found.append(kind)
        return respond()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client.dispatcher.turns, "run", run)
        for step in (fetch(), change, fetch()):
            client.do(step)

    assert found == kinds


@pytest.mark.parametrize("end", [produce(), ("advance", {"duration_ms": 100})])
@pytest.mark.parametrize("version", [11, 12, 13])
def test_a_quota_set_while_a_request_waits_in_the_cache_throttles_and_mutes(
    version: int, end: Step
) -> None:
    usual = fetch(("a", 0, 0), version=version, max_wait_ms=100)
    steps = [
        fetch(*ALL, version=version),
        *[produce(), usual] * 3,
        usual,
        ("set_quota", {"rate": 1.0}),
        end,
        usual,
        ("advance", {"duration_ms": 1000}),
        ("advance", {"duration_ms": 130_000}),
        ("advance", {"duration_ms": 1000}),
    ]
    with counted_calls(CachedWait, "begin") as taken:
        found, without, _taken = both(steps)

    assert len(taken) == 1
    assert found == without
    # The client is mute: its next request gets its response seconds later.
    assert found["written"][-1][0] > found["written"][-2][0] + 1000


@pytest.mark.parametrize("version", [9, 11, 12, 13, 15, 18])
def test_a_connection_remembers_requests_that_name_no_partition(version: int) -> None:
    client = Client()
    for step in [fetch(*ONE, version=version), *[fetch(version=version)] * 4]:
        client.do(step)

    with counted_calls(fetch_cache.FetchCache, "learn") as learnt:
        client.do(fetch(version=version))
    assert not learnt
