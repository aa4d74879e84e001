"""A replayed Fetch request leaves the same behind as on the ordinary path."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from benchmarks import fetch_load, request_bytes
from benchmarks.in_process import InProcessBroker, InProcessConnection
from broker.dispatch import fetch_replay
from broker.dispatch.connection import Connection
from broker.dispatch.fetch_replay import TEMPLATES_MAX, FetchReplay
from broker.dispatch.ordinary_path import PAUSE_MAX
from broker.dispatch.turn_queue import TurnKind
from broker.fetch import fetch_wait
from broker.journal.lines import Entry
from broker.responses import PARTS_BYTES_MIN, WAITING
from protocol import messages, records
from protocol.codec import DecodeError
from protocol.fetch_template import FetchTemplate
from protocol.pacing import MessageTooLargeError
from tests.batches import make_batch
from tests.broker.dispatch.fetch_runs import (
    ALL,
    ONE,
    PARTITIONS,
    RECORD,
    Client,
    Step,
    as_long,
    as_many,
    fetch,
    losses,
    mostly,
    produce,
    run,
    steps,
    steps_of_one,
    with_logs,
)
from tests.broker.dispatch.produce_runs import counted_calls
from tests.examples import examples

TOPIC = "t"
VERSION = fetch_load.FETCH_VERSION


@contextmanager
def ordinary_path() -> Iterator[None]:
    """Let the ordinary path handle all requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FetchReplay, "respond", lambda *_arguments: None)
        yield


def both(steps: Sequence[Step]) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Return the results with and without a replay, and how many requests were replayed."""
    with counted_calls(fetch_replay, "read_or_wait") as replayed:
        found = run(steps)
    with ordinary_path():
        without = run(steps)
    return found, without, len(replayed)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(steps, max_size=25))
@example([RECORD, *[produce()] * 2, fetch(), fetch(), fetch(max_wait_ms=100), produce(), fetch()])
@example([*[fetch(max_wait_ms=100)] * 2, fetch(max_wait_ms=100, epoch_change=1), produce()])
@example([*[produce()] * 2, fetch(max_wait_ms=100, max_bytes=100, min_bytes=200)])
def test_a_session_goes_on_the_same_way_without_a_replay(found: list[Step]) -> None:
    replayed, without, taken = both([fetch(*ALL), *found])
    event(f"taken: {min(taken, 5)}")

    assert replayed == without
    assert with_logs([fetch(*ALL), *found]) == without
    assert as_long([fetch(*ALL), *found]) == without
    assert as_long([fetch(*ALL), *found], between=()) == without
    assert as_many([fetch(*ALL), *found]) == without
    assert as_many([fetch(*ALL), *found], between=()) == without
    assert replayed["bugs"] == []


@settings(max_examples=examples(250), deadline=None)
@given(
    st.lists(steps_of_one, min_size=5, max_size=30),
    st.fixed_dictionaries(mostly),
    st.booleans(),
    st.sampled_from([None, 1e7]),
)
def test_a_session_of_one_partition_goes_on_the_same_way_without_a_replay(
    found: list[Step], usual: dict[str, int], is_recorded: bool, quota: float | None
) -> None:
    # With so many requests a connection remembers them, and so does the session.
    begun: list[Step] = [
        ("set_journal", {"is_enabled": is_recorded}),
        ("set_quota", {"rate": quota}),
    ]
    begun += [fetch(*ONE, **usual), *[produce(), fetch(*ONE, **usual)] * 3]

    replayed, without, taken = both([*begun, *found])
    event(f"taken: {min(taken, 5)}")

    assert replayed == without
    assert replayed["bugs"] == []


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(steps, max_size=15), st.lists(st.one_of(steps, losses), max_size=15))
@example(
    [*[produce()] * 2, *[fetch(version=7, max_wait_ms=100, min_bytes=200)] * 2],
    [("lose", {"connection": 0})],
)
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


def test_a_journal_that_ends_keeps_what_it_has() -> None:
    usual = [*[produce(), fetch(*ONE)] * 4]
    replayed, without, taken = both(
        [
            ("set_journal", {"is_enabled": True}),
            *usual,
            ("set_journal", {"is_enabled": False}),
            *usual,
        ]
    )

    assert taken > 3
    assert replayed["journal"] == without["journal"]


@pytest.mark.parametrize("version", [9, 11, 12, 13, 18])
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_usual_requests_are_replayed(version: int, isolation_level: int) -> None:
    usual: dict[str, Any] = {"version": version, "isolation_level": isolation_level}
    usual["max_wait_ms"] = 100
    wait = "advance", {"duration_ms": 100}
    named = ("a", 1, 0), ("a", 2, 0)
    found, without, taken = both(
        [
            fetch(*ALL, **{**usual, "max_wait_ms": 0}),
            *[fetch(**usual), wait] * 2,
            *[fetch(*named, **usual), wait] * 2,
            *[produce(), fetch(**usual)] * 2,
            *[produce(partition=1), produce(partition=2), fetch(*named, **usual)] * 2,
            fetch(*named, **usual),
            produce(partition=1),
            fetch(**usual),
            wait,
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
            *[waiting, ("advance", {"duration_ms": 100})] * 2,
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
def test_a_quota_set_while_a_replayed_request_waits_throttles_and_mutes(
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
    found, without, taken = both(steps)

    assert taken >= 3
    assert found == without
    # The client is mute: its next request gets its response seconds later.
    assert found["written"][-1][0] > found["written"][-2][0] + 1000


@pytest.mark.parametrize("version", [9, 11, 12, 13, 15, 18])
def test_a_connection_remembers_requests_that_name_no_partition(version: int) -> None:
    client = Client()
    for step in [fetch(*ONE, version=version), *[fetch(version=version)] * 4]:
        client.do(step)

    with counted_calls(FetchReplay, "learn") as learnt:
        client.do(fetch(version=version))
    assert not learnt


class Consumer:
    """A consumer that keeps up with one producer."""

    def __init__(self) -> None:
        self.broker = InProcessBroker()
        self.broker.create_topic(TOPIC, 1)
        self.producer = self.broker.connect()
        self.consumer: InProcessConnection = self.broker.connect()
        self.requests = fetch_load.SessionRequests(self.consumer, TOPIC)
        self.produced = 0
        for _ in range(6):
            self.produce()
            self.fetch()

    @property
    def connection(self) -> Any:
        """The connection of the consumer."""
        return self.consumer._connection

    @property
    def replay(self) -> FetchReplay:
        """What the consumer's connection remembers."""
        replay: FetchReplay = self.connection._fetch_replay
        return replay

    @property
    def session(self) -> Any:
        """The only fetch session."""
        shards = self.broker.cluster.fetch_sessions[1]._shards
        (session,) = (found for shard in shards for found in shard.sessions.values())
        return session

    def produce(self) -> None:
        """Append a record."""
        frame = bytes(request_bytes.produce_requests(TOPIC, 1).frames)
        self.producer.receive(frame)
        self.produced += 1

    def next_request(self) -> bytes:
        """Return the bytes of the next request."""
        return bytes(self.requests.next_request())

    def fetch(self) -> None:
        """Fetch the next record."""
        self.check(self.consumer.receive(self.next_request()))

    def check(self, response: bytes) -> None:
        """Check that a response has the newest record."""
        fetch_load.check(response, self.produced - 1)


def connection_count() -> int:
    """Return how many connections are not freed."""
    return sum(isinstance(found, Connection) for found in gc.get_objects())


def test_requests_that_are_repeated_are_replayed() -> None:
    made = Consumer()
    with (
        counted_calls(FetchReplay, "respond") as taken,
        counted_calls(FetchReplay, "learn") as learnt,
    ):
        for _ in range(10):
            made.produce()
            made.fetch()
    assert (len(taken), len(learnt)) == (10, 0)


def test_a_request_waits_for_a_record_and_the_next_one_after_it() -> None:
    made = Consumer()
    log = made.broker.cluster.topics.get(TOPIC).partitions[0].log  # type: ignore[union-attr]
    for _ in range(3):
        output = made.connection.receive(made.next_request(), made.broker.now_ms)
        assert output is WAITING
        assert made.connection.is_waiting
        assert not made.connection.buffered_bytes
        assert len(log.waiters) == 1
        made.produce()
        made.broker.cluster.timers.run_due(made.broker.now_ms)
        made.check(made.connection.resume(made.broker.now_ms).write)
        assert not log.waiters
    assert len(made.broker.cluster.timers) == 0


def test_a_request_that_waits_too_long_gets_an_empty_response() -> None:
    made = Consumer()
    made.connection.receive(made.next_request(), made.broker.now_ms)
    late_ms = made.broker.now_ms + fetch_load.WAIT_MS
    made.broker.cluster.timers.run_due(late_ms - 1)
    assert made.connection.resume(late_ms).write == b""
    made.broker.cluster.timers.run_due(late_ms)
    response = request_bytes.decode_response(1, VERSION, made.connection.resume(late_ms).write)  # type: ignore[arg-type]
    assert (response.error_code, response.responses) == (0, [])


def test_a_client_that_is_gone_waits_no_longer() -> None:
    made = Consumer()
    made.connection.receive(made.next_request(), made.broker.now_ms)
    made.connection.lose()
    log = made.broker.cluster.topics.get(TOPIC).partitions[0].log  # type: ignore[union-attr]
    assert (len(log.waiters), len(made.broker.cluster.timers)) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_connection_that_is_lost_leaves_no_work_for_the_garbage_collector(
    is_waiting: bool,
) -> None:
    made = Consumer()
    if is_waiting:
        made.connection.receive(made.next_request(), made.broker.now_ms)
        assert made.connection.is_waiting
    gc.collect()
    gc.disable()
    try:
        before = connection_count()
        made.connection.lose()
        del made.consumer, made.requests
        assert connection_count() == before - 1
    finally:
        gc.enable()


def test_a_broker_that_stops_responds_at_once() -> None:
    made = Consumer()
    made.connection.receive(made.next_request(), made.broker.now_ms)
    made.connection.force_complete(made.broker.now_ms)
    assert made.connection.resume(made.broker.now_ms).write


CHANGES: dict[str, Callable[[Consumer], object]] = {
    "of the cluster": lambda made: setattr(made.broker.cluster, "generation", -1),
    "session ends": lambda made: made.broker.cluster.fetch_sessions[1].remove(
        made.session.session_id
    ),
    "all sessions end": lambda made: made.broker.cluster.fetch_sessions[1].clear(),
    "epoch": lambda made: setattr(made.session, "epoch", 1),
    "of the session": lambda made: setattr(made.session, "change_count", 99),
    "faults": lambda made: setattr(made.broker.dispatcher.faults, "is_enabled", True),
    "end of the authentication": lambda made: setattr(
        made.connection.session, "limited_from_ms", made.broker.now_ms
    ),
    "principal": lambda made: setattr(made.connection.session, "principal", "User:other"),
    "quota": lambda made: made.broker.cluster.quotas.clients.alter(
        (("user", "ANONYMOUS"),), [("consumer_byte_rate", 1.0)]
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_the_ordinary_path_takes_the_request(change: str) -> None:
    made = Consumer()
    made.produce()
    request = made.next_request()
    session = made.session
    CHANGES[change](made)
    before = session.epoch

    assert made.replay.respond(request, made.broker.now_ms) is None
    assert session.epoch == before


def test_a_request_with_one_other_byte_is_not_replayed() -> None:
    made = Consumer()
    made.produce()
    request = made.next_request()
    session, epoch = made.session, made.session.epoch
    for position in range(len(request)):
        changed = request[:position] + bytes((request[position] ^ 0x80,)) + request[position + 1 :]
        (cached,) = session.partitions.values()
        before = cached.fetch_offset
        taken = made.replay.respond(changed, made.broker.now_ms)
        # Only the correlation id and the fetch offset may differ.
        is_offset = cached.fetch_offset != before
        assert (taken is not None) == (position in range(8, 12) or is_offset)
        session.epoch, cached.fetch_offset = epoch, before


def test_a_request_that_asks_for_more_than_another_offset_is_learnt_again() -> None:
    made = Consumer()
    for size in (99, 1 << 19):
        request = fetch_load.fetch_request(
            TOPIC, made.produced - 1, made.session.session_id, made.session.epoch
        )
        request.topics[0].partitions[0].partition_max_bytes = size
        made.check(made.consumer.receive(request_bytes.frame_request(request, 0)))
        (cached,) = made.session.partitions.values()
        assert cached.max_bytes == size


def test_a_response_with_many_records_is_in_parts() -> None:
    made = Consumer()
    made.connection._writes_parts = True
    partition = made.broker.cluster.topics.get(TOPIC).partitions[0]  # type: ignore[union-attr]
    batch = make_batch(bytes(PARTS_BYTES_MIN))
    stamped = records.stamp(batch, 0, len(batch), made.produced, 0)
    partition.log.append(stamped, 1, partition.leader_epoch)
    output = made.connection.receive(made.next_request(), made.broker.now_ms)
    assert output.write == b""
    assert any(part is stamped for part in output.parts)


@pytest.mark.parametrize(
    ("error", "reason", "is_bug"),
    [
        (MessageTooLargeError("too much"), "response to FETCH v12 (response.bytes.max)", False),
        (DecodeError("torn"), "undecodable FETCH v12: torn", False),
        (KeyError("key"), "internal error in FETCH v12: KeyError('key')", True),
    ],
)
@pytest.mark.parametrize("is_replayed", [False, True])
def test_an_exception_closes_the_connection_and_is_in_the_journal(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, is_bug: bool, is_replayed: bool
) -> None:
    def fail(*_arguments: Any) -> Any:
        raise error

    made = Consumer()
    made.produce()
    bugs: list[BaseException] = []
    dispatcher = made.broker.dispatcher
    dispatcher.journal.is_enabled = True
    monkeypatch.setattr(dispatcher, "report_bug", lambda bug, _context: bugs.append(bug))
    if not is_replayed:
        monkeypatch.setattr(FetchReplay, "respond", lambda *_arguments: None)
    monkeypatch.setattr(fetch_wait, "respond", fail)

    output = made.connection.receive(made.next_request(), made.broker.now_ms)

    assert (output.close_reason or "").startswith(reason)
    assert bugs == ([error] if is_bug else [])
    (entry,) = dispatcher.journal
    assert isinstance(entry, Entry)
    assert entry.close_reason == output.close_reason


def test_what_is_never_repeated_is_seldom_learnt_and_little_is_kept() -> None:
    made = Consumer()
    replay = made.replay
    with counted_calls(FetchTemplate, "of") as read:
        for _ in range(200):
            frame = made.next_request()
            replay.learn((frame, 4, len(frame)), made.broker.now_ms)
    assert len(read) <= 9
    assert replay._pause <= PAUSE_MAX
    assert len(replay._learnt) <= TEMPLATES_MAX


def test_a_request_without_a_session_is_not_learnt() -> None:
    made = Consumer()
    other = made.broker.connect()
    request = fetch_load.fetch_request(TOPIC, 0, 0, -1, wait_ms=0)
    for _ in range(5):
        assert isinstance(other.ask(request), messages.FetchResponse)
    assert not other._connection._fetch_replay._learnt  # type: ignore[union-attr]
