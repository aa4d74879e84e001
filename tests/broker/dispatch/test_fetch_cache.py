"""The cache of a connection takes what its session would take, and nothing else.

That it leaves the same behind as the ordinary path is a property in
`tests/broker/fetch/test_session_fetch.py`.
"""

import gc
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from benchmarks import fetch_load, request_bytes
from benchmarks.in_process import InProcessBroker, InProcessConnection
from broker.dispatch import fetch_cache
from broker.dispatch.connection import Connection
from broker.dispatch.fetch_cache import LAYOUTS_MAX, PAUSE_MAX, FetchCache
from broker.fetch import session_fetch
from broker.journal.journal import Journal
from broker.journal.lines import Entry, Outcome
from broker.responses import PARTS_BYTES_MIN, WAITING, EncodedParts
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from protocol.pacing import MessageTooLargeError
from tests.broker.dispatch.produce_runs import counted_calls

TOPIC = "t"
VERSION = fetch_load.FETCH_VERSION


class Consumer:
    """A consumer that keeps up with one producer."""

    def __init__(self) -> None:
        self.broker = InProcessBroker()
        self.broker.create_topic(TOPIC, 1)
        self.producer = self.broker.connect()
        self.consumer: InProcessConnection = self.broker.connect()
        self.requests = fetch_load.SessionRequests(self.consumer, TOPIC)
        self.produced = 0
        for _ in range(4):
            self.produce()
            self.fetch()

    @property
    def connection(self) -> Any:
        """The connection of the consumer."""
        return self.consumer._connection

    @property
    def cache(self) -> FetchCache:
        """The cache of the consumer's connection."""
        cache: FetchCache = self.connection._fetch_cache
        return cache

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


def test_requests_that_are_repeated_are_taken() -> None:
    made = Consumer()
    with (
        counted_calls(FetchCache, "respond") as taken,
        counted_calls(FetchCache, "learn") as learnt,
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


def recorded(made: Consumer) -> list[Entry]:
    """Return the requests in the journal."""
    return [line for line in made.broker.dispatcher.journal if isinstance(line, Entry)]


def test_the_journal_has_the_requests_that_are_taken() -> None:
    made = Consumer()
    made.broker.dispatcher.journal.is_enabled = True
    requests, responses = [], []
    for _ in range(2):
        made.produce()
        requests.append(made.next_request())
        responses.append(made.consumer.receive(requests[-1]))
    # This one waits.
    requests.append(made.next_request())
    made.connection.receive(requests[-1], made.broker.now_ms)
    waiting = recorded(made)[-1]
    assert (waiting.outcome, waiting.duration_us) == (Outcome.WAITING, None)
    made.produce()
    made.broker.cluster.timers.run_due(made.broker.now_ms)
    responses.append(made.connection.resume(made.broker.now_ms).write)

    fetches = [line for line in recorded(made) if line.context.api_key == ApiKey.FETCH]
    assert [line.frame for line in fetches] == [request[4:] for request in requests]
    assert [line.response for line in fetches] == responses
    assert {line.outcome for line in fetches} == {Outcome.RESPONDED}
    assert fetches[-1] is waiting
    assert waiting.duration_us is not None


def test_a_client_that_is_gone_closes_its_request_in_the_journal() -> None:
    made = Consumer()
    journal = made.broker.dispatcher.journal
    journal.is_enabled = True
    made.connection.receive(made.next_request(), made.broker.now_ms)
    made.connection.lose()
    journal.disconnected(made.connection, "gone", made.broker.now_ms)

    (entry,) = recorded(made)
    assert (entry.outcome, entry.close_reason) == (Outcome.CLOSED, "gone")


def test_a_bug_is_in_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Consumer()
    made.produce()
    made.broker.dispatcher.journal.is_enabled = True
    bugs: list[BaseException] = []
    services = replace(made.cache._services, report_bug=lambda bug, _context: bugs.append(bug))
    monkeypatch.setattr(made.cache, "_services", services)
    monkeypatch.setattr(fetch_cache, "frame_newest", None)
    made.connection.receive(made.next_request(), made.broker.now_ms)

    (entry,) = recorded(made)
    assert entry.outcome is Outcome.CLOSED
    assert "internal error in FETCH" in str(entry.close_reason)
    assert len(bugs) == 1


def bound(journal: Journal) -> None:
    """Enable the journal, with room for short requests only."""
    journal.is_enabled = True
    journal.bytes_max = 20


CHANGES: dict[str, Callable[[Consumer], object]] = {
    "produce version": lambda made: setattr(made.broker.cluster, "generation", -1),
    "session ends": lambda made: made.broker.cluster.fetch_sessions[1].remove(
        made.session.session_id
    ),
    "all sessions end": lambda made: made.broker.cluster.fetch_sessions[1].clear(),
    "epoch": lambda made: setattr(made.session, "epoch", 1),
    "change of the session": lambda made: setattr(made.session, "change_count", 99),
    "limit of the journal": lambda made: bound(made.broker.dispatcher.journal),
    "faults": lambda made: setattr(made.broker.dispatcher.faults, "is_enabled", True),
    "end of the authentication": lambda made: setattr(
        made.connection.session, "limited_from_ms", made.broker.now_ms
    ),
    "quota": lambda made: made.broker.cluster.quotas.clients.alter(
        (("user", "ANONYMOUS"),), [("consumer_byte_rate", 1.0)]
    ),
}


def limit(made: Consumer, key: str, value: float) -> None:
    """Set a quota of all clients that are not authenticated."""
    quotas = made.broker.cluster.quotas.clients
    assert quotas.alter((("user", "ANONYMOUS"),), [(key, value)]) is None


def limited_consumer() -> Consumer:
    """Return a consumer that is far below its quota."""
    made = Consumer()
    limit(made, "consumer_byte_rate", 1e7)
    for _ in range(6):
        made.produce()
        made.fetch()
    return made


def fetched_bytes(made: Consumer) -> int:
    """Return the bytes that were charged."""
    counters = made.broker.cluster.quotas.brokers[1].fetch._counters
    return counters.get("ANONYMOUS", None, made.broker.now_ms).total(made.broker.now_ms)


def test_requests_below_their_quota_are_taken_and_charged() -> None:
    made = limited_consumer()
    before = fetched_bytes(made)
    with counted_calls(FetchCache, "respond") as responses:
        made.produce()
        made.fetch()
    charged = fetched_bytes(made) - before
    assert charged == len(responses[0]) - 5, "without size, correlation id and tags, with a size"

    # One that waits is charged when it gets the record.
    output = made.connection.receive(made.next_request(), made.broker.now_ms)
    assert output is WAITING
    made.produce()
    made.broker.cluster.timers.run_due(made.broker.now_ms)
    made.check(made.connection.resume(made.broker.now_ms).write)
    assert fetched_bytes(made) - before == 2 * charged


def test_a_request_for_several_batches_is_charged() -> None:
    made = limited_consumer()
    before = fetched_bytes(made)
    for _ in range(3):
        made.produce()
    with (
        counted_calls(fetch_cache, "_frame_read") as frames,
        counted_calls(fetch_cache, "ordinary_fetch") as ordinary,
    ):
        made.consumer.receive(made.next_request())
    assert not ordinary
    assert fetched_bytes(made) - before == len(frames[0]) - 5


def test_a_response_in_parts_is_charged() -> None:
    made = limited_consumer()
    limit(made, "consumer_byte_rate", 1e9)
    for _ in range(3):
        made.produce()
        made.fetch()
    before = fetched_bytes(made)
    partition = made.broker.cluster.topics.get(TOPIC).partitions[0]  # type: ignore[union-attr]
    partition.log.append(bytes(PARTS_BYTES_MIN), 1, partition.leader_epoch)
    with counted_calls(fetch_cache, "_frame_read") as frames:
        made.connection.receive(made.next_request(), made.broker.now_ms)
    [frame] = frames
    assert isinstance(frame, EncodedParts)
    assert fetched_bytes(made) - before == frame.size_bytes - 5


def test_a_response_that_a_quota_may_throttle_comes_from_the_ordinary_path() -> None:
    made = limited_consumer()
    limit(made, "consumer_byte_rate", 500.0)
    with counted_calls(fetch_cache, "ordinary_fetch") as ordinary:
        for _ in range(40):
            made.produce()
            output = made.connection.receive(made.next_request(), made.broker.now_ms)
            if output.muted_until_ms:
                break
    assert output.muted_until_ms
    assert ordinary


def spent_ns(made: Consumer) -> int:
    """Return the time of requests that was charged."""
    counters = made.broker.cluster.quotas.brokers[1].request._counters
    return counters.get("ANONYMOUS", None, made.broker.now_ms).total(made.broker.now_ms)


def test_the_time_of_requests_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    made = limited_consumer()
    limit(made, "request_percentage", 1e3)
    for _ in range(6):
        made.produce()
        made.fetch()
    readings = count(0, 1_000)
    services = replace(made.cache._services, now_ns=lambda: next(readings))
    monkeypatch.setattr(made.cache, "_services", services)
    made.produce()
    before = spent_ns(made)
    with counted_calls(FetchCache, "respond") as responses:
        made.fetch()
        output = made.connection.receive(made.next_request(), made.broker.now_ms)
    assert output is WAITING
    assert None not in responses
    assert spent_ns(made) - before == 2 * 1_000

    # The limit is in percent of a thread.
    manager = made.broker.cluster.quotas.brokers[1].request
    manager.record("ANONYMOUS", None, 99_990_000_000, made.broker.now_ms)
    made.produce()
    made.broker.cluster.timers.run_due(made.broker.now_ms)
    made.connection.resume(made.broker.now_ms)
    assert made.cache.respond(made.next_request(), made.broker.now_ms) is None


LIMIT_CHANGES: dict[str, Callable[[Consumer], object]] = {
    "of the quota": lambda made: limit(made, "consumer_byte_rate", 2e7),
    "to a small quota": lambda made: limit(made, "consumer_byte_rate", 10.0),
    "of the time of requests": lambda made: limit(made, "request_percentage", 1e6),
}


@pytest.mark.parametrize("change", LIMIT_CHANGES)
def test_after_a_change_of_the_limits_the_ordinary_path_takes_the_request(change: str) -> None:
    made = limited_consumer()
    made.produce()
    request = made.next_request()
    LIMIT_CHANGES[change](made)
    assert made.cache.respond(request, made.broker.now_ms) is None


@pytest.mark.parametrize("change", LIMIT_CHANGES)
def test_after_a_change_of_the_limits_a_wait_ends_on_the_ordinary_path(change: str) -> None:
    made = limited_consumer()
    made.connection.receive(made.next_request(), made.broker.now_ms)
    LIMIT_CHANGES[change](made)
    with counted_calls(session_fetch, "ordinary_fetch") as ordinary:
        made.produce()
        made.broker.cluster.timers.run_due(made.broker.now_ms)
    assert len(ordinary) == 1


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_the_ordinary_path_takes_the_request(change: str) -> None:
    made = Consumer()
    made.produce()
    request = made.next_request()
    session = made.session
    CHANGES[change](made)
    before = session.epoch

    assert made.cache.respond(request, made.broker.now_ms) is None
    assert session.epoch == before


def test_a_request_with_one_other_byte_is_not_taken() -> None:
    made = Consumer()
    made.produce()
    request = made.next_request()
    session, epoch = made.session, made.session.epoch
    for position in range(len(request)):
        changed = request[:position] + bytes((request[position] ^ 0x80,)) + request[position + 1 :]
        taken = made.cache.respond(changed, made.broker.now_ms)
        if taken is not None:
            # Only the correlation id, what a consumer has no log for, and the maximum of bytes.
            session.epoch = epoch
            assert b"x" * 50 in taken or position not in range(8, 12)  # type: ignore[operator]
        assert session.epoch == epoch


def test_a_request_that_asks_for_more_than_another_offset_is_learnt_again() -> None:
    made = Consumer()
    partition = made.cache._known[len(made.next_request())].named
    assert partition is not None
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
    batch = bytes(PARTS_BYTES_MIN)
    partition.log.append(batch, 1, partition.leader_epoch)
    output = made.connection.receive(made.next_request(), made.broker.now_ms)
    assert output.write == b""
    assert any(part is batch for part in output.parts)


@pytest.mark.parametrize("module", [fetch_cache, session_fetch])
@pytest.mark.parametrize(
    ("error", "reason", "is_bug"),
    [
        (MessageTooLargeError("too much"), "response to FETCH v12 (response.bytes.max)", False),
        (DecodeError("torn"), "undecodable FETCH v12: torn", False),
        (KeyError("key"), "internal error in FETCH v12: KeyError('key')", True),
    ],
)
def test_an_exception_closes_the_connection_as_in_the_ordinary_path(
    monkeypatch: pytest.MonkeyPatch, module: Any, error: Exception, reason: str, is_bug: bool
) -> None:
    def fail(*_arguments: Any) -> Any:
        raise error

    made = Consumer()
    made.produce()
    bugs: list[BaseException] = []
    dispatcher = made.broker.dispatcher
    monkeypatch.setattr(dispatcher, "report_bug", lambda bug, _context: bugs.append(bug))
    services = replace(made.cache._services, report_bug=lambda bug, _context: bugs.append(bug))
    monkeypatch.setattr(made.cache, "_services", services)
    if module is session_fetch:
        monkeypatch.setattr(FetchCache, "respond", lambda *_arguments: None)
    monkeypatch.setattr(module, "encode_found", fail)
    monkeypatch.setattr(fetch_cache, "frame_newest", fail)

    output = made.connection.receive(made.next_request(), made.broker.now_ms)

    assert (output.close_reason or "").startswith(reason)
    assert bugs == ([error] if is_bug else [])


def test_what_is_never_repeated_is_seldom_learnt_and_little_is_kept() -> None:
    made = Consumer()
    cache = made.cache
    frame = made.next_request()
    for _ in range(200):
        cache.learn((frame, 4, len(frame)))
    assert cache._pause <= PAUSE_MAX
    assert len(cache._known) <= LAYOUTS_MAX


def test_a_request_without_a_session_is_not_learnt() -> None:
    made = Consumer()
    other = made.broker.connect()
    request = fetch_load.fetch_request(TOPIC, 0, 0, -1, wait_ms=0)
    for _ in range(5):
        assert isinstance(other.ask(request), messages.FetchResponse)
    assert not other._connection._fetch_cache._known  # type: ignore[union-attr]
