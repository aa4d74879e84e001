"""The pipelined producer: order, sequences, retries, throttles, lost connections."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import cycle
from operator import itemgetter
from struct import Struct
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.resources import Address
from loadgen import clock
from loadgen.clients import pipelined_producer
from loadgen.clients.connection_settings import ConnectionSettings
from loadgen.clients.load_client import Event, NodeOf, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.pipelined_producer import PipelinedProducer
from loadgen.plan.plan import Plan, Tenant, Topic
from loadgen.plan.run_spec import Counts, RunSpec, Topology
from loadgen.rows import Rows
from protocol.codec import DecodeError
from protocol.produce import PartitionResult, TopicResult, encode_response
from tests.loadgen.fake_load_connection import VERSION, FakeConnection, FakeWire
from tests.loadgen.stubs import rows_of

THROTTLED, OUT_OF_ORDER, LEADER_MOVED, FATAL = 89, 45, 6, 87


class Bench:
    """A client with fake connections, and a partition that accepts sequences in order only."""

    def __init__(self, **tenant_fields: Any) -> None:
        tenant = Tenant("a", "steady", "a", topic="t", rate=1, **tenant_fields)
        plan = Plan(name="p", duration_s=10, tenants=(tenant,), topics=(Topic("t", 1),))
        topology = Topology({1: Address("h", 1)}, 1, {"t": [1]})
        self.run = Run(RunSpec("r", plan, topology), Rows(), [ConnectionSettings("a")], topology)
        self.run.end_us = clock.now_us() + 60_000_000
        self.connections: list[FakeConnection] = []
        bench = self

        class Client(PipelinedProducer):
            async def connect(self, node_of: NodeOf, **_: Any) -> tuple[LoadConnection, int]:
                bench.connections.append(FakeConnection(70 + len(bench.connections)))
                return cast("LoadConnection", bench.connections[-1]), node_of(0)

            async def refresh_leaders(self, connection: LoadConnection, topic: str) -> None:
                assert topic == "t"

        self.client = Client(self.run, tenant, 0)
        self.responded = 0
        self.stored: list[tuple[int, int]] = []
        self._expected: dict[tuple[int, int], int] = {}

    @property
    def connection(self) -> FakeConnection:
        return self.connections[-1]

    def submit(self, *event_ids: int) -> None:
        for event_id in event_ids:
            now_us = clock.now_us()
            self.client.submit(Event(event_id, now_us, now_us, 0))

    @property
    def waiting(self) -> int:
        return len(self.connection.sent) - self.responded

    def broker(self, error_code: int = 0, throttle_time_ms: int = 0) -> int:
        """Respond to the oldest request like a broker, or with this error; return the code."""
        correlation_id, header = self.connection.sent[self.responded]
        self.responded += 1
        key = (header.producer_id, header.producer_epoch)
        if not error_code and header.base_sequence != self._expected.get(key, 0):
            error_code = OUT_OF_ORDER
        if not error_code:
            self._expected[key] = header.base_sequence + header.records_count
            self.stored.append((header.producer_epoch, header.base_sequence))
        self.connection.response(correlation_id, clock.now_us(), error_code, throttle_time_ms)
        return error_code

    async def turn(self) -> None:
        """Run pending callbacks, and open connections."""
        for _ in range(5):
            await asyncio.sleep(0.001)

    async def lose(self) -> None:
        connection, self.responded = self.connection, 0
        connection.lose(clock.now_us())
        await self.turn()

    def statuses(self) -> list[str]:
        return [row["status"] for row in rows_of(self.run) if row["api"] == "Produce"]


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelined_producer, "RETRY_BACKOFF_MS", 0)


def play(scenario: Callable[[Bench], Coroutine[Any, Any, None]], **tenant_fields: Any) -> Bench:
    async def run() -> Bench:
        bench = Bench(**tenant_fields)
        await bench.client.prepare()
        await scenario(bench)
        await bench.client.close()
        return bench

    return asyncio.run(run())


def test_the_window_limits_requests_in_flight() -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(*range(7))
        assert bench.waiting == 3
        bench.broker()
        assert len(bench.connection.sent) == 4
        while bench.waiting:
            bench.broker()
        assert bench.client.is_idle

    bench = play(scenario, window=3, records=2)
    assert bench.stored == [(0, sequence) for sequence in range(0, 14, 2)]


def test_batches_after_a_refused_one_are_sent_again_in_order() -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(*range(5))
        assert bench.broker(THROTTLED) == THROTTLED
        assert [bench.broker() for _ in range(4)] == [OUT_OF_ORDER] * 4
        await bench.turn()
        assert [bench.broker() for _ in range(5)] == [0] * 5

    assert play(scenario).stored == [(0, sequence) for sequence in range(5)]


def test_a_failed_batch_starts_the_next_epoch() -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(*range(3))
        bench.broker(FATAL)
        bench.broker()
        bench.broker()
        await bench.turn()
        assert [bench.broker() for _ in range(2)] == [0, 0]
        bench.submit(9)
        assert bench.broker() == 0

    bench = play(scenario)
    assert bench.stored == [(1, 0), (1, 1), (1, 2)]
    assert bench.run.counts.events_done == 4


def test_after_the_last_epoch_comes_a_new_producer_id() -> None:
    async def scenario(bench: Bench) -> None:
        bench.client._epoch = pipelined_producer.EPOCH_MAX
        bench.submit(0, 1)
        bench.broker(FATAL)
        bench.broker(OUT_OF_ORDER)
        assert bench.connection.is_aborted
        await bench.lose()
        assert [header.producer_id for _, header in bench.connection.sent] == [71]
        assert bench.broker() == 0

    assert play(scenario).stored == [(0, 0)]


def test_an_obeying_client_waits_for_the_throttle() -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(0)
        bench.broker(throttle_time_ms=60_000)
        bench.submit(1)
        await bench.turn()
        assert bench.waiting == 0
        assert bench.client.behind_us(clock.now_us() + 10**7) == 0  # it is throttled
        assert [event.event_id for event in bench.client.unsent()] == [1]

    play(scenario)


def test_a_client_that_ignores_throttles_sends_and_its_row_has_early_us() -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(0)
        bench.broker(throttle_time_ms=60_000)
        bench.submit(1)
        assert bench.waiting == 1
        assert bench.connection.throttled_until_us > clock.now_us() + 50_000_000
        # The target is throttling, which is no reason to abort the run.
        bench.submit(*range(2, 10))
        assert bench.client.behind_us(clock.now_us() + 10**7) == 0

    play(scenario, obeys_throttle=False)


def test_after_a_lost_connection_batches_without_response_keep_their_sequences() -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(*range(4))
        bench.broker()
        await bench.lose()
        assert [header.base_sequence for _, header in bench.connection.sent] == [1, 2, 3]
        assert {header.producer_id for _, header in bench.connection.sent} == {70}
        while bench.waiting:
            bench.broker()

    bench = play(scenario)
    assert bench.stored == [(0, sequence) for sequence in range(4)]
    assert bench.statuses() == ["responded"] + ["lost"] * 3 + ["responded"] * 3


def test_a_connection_without_response_is_closed_after_the_request_timeout() -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(0)
        bench.client.check(clock.now_us() + 30_000_000)
        assert not bench.connection.is_aborted
        bench.client.check(clock.now_us() + 60_000_000)
        assert bench.connection.is_aborted

    play(scenario, request_timeout_ms=60_000)


def test_a_response_with_a_wrong_correlation_id_is_a_decode_error() -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(0)
        with pytest.raises(DecodeError, match="correlation id 99, not 1"):
            bench.connection.response(99, clock.now_us())
        with pytest.raises(DecodeError, match="a response without a request"):
            bench.connection.response(1, clock.now_us())

    play(scenario)


class Stream:
    """A producer on a connection without a socket; tests respond to its requests."""

    def __init__(self, events: int, **tenant_fields: Any) -> None:
        self.written = bytearray()
        self.is_aborted = False
        self._events = events
        self._answered = 0
        self._run, self._client = self._producer(**tenant_fields)

    def _producer(self, **tenant_fields: Any) -> tuple[Run, PipelinedProducer]:
        bench = Bench(**tenant_fields)
        connection = self.connection = LoadConnection(cast("Any", FakeWire()))
        connection.connection_made(cast("Any", self))

        class Client(PipelinedProducer):
            async def connect(self, node_of: NodeOf, **_: Any) -> tuple[LoadConnection, int]:
                return connection, node_of(0)

            async def _get_producer_id(self, connection: LoadConnection, node: int) -> None:
                assert node == 1
                self._producer_id, self._epoch = 70, 0
                self._renumber()

        return bench.run, Client(bench.run, bench.client.tenant, 0)

    def write(self, data: bytes) -> None:
        """Take what the connection writes, as its transport."""
        self.written += data

    def abort(self) -> None:
        """End the connection, as its transport."""
        self.is_aborted = True

    async def play(
        self, outcomes: list[tuple[int, int]], reads: list[int], first_sequence: int
    ) -> None:
        """Respond to one request after the other; `reads` are how many responses a read has."""
        await self._client.prepare()
        if self._client._producer_id >= 0:
            self._client._sequence = first_sequence
        for number in range(self._events):
            self._client.submit(Event(number, 5, 6, 7 * number))
        together = cycle(reads)
        while self._answered < len(outcomes) and not self.is_aborted:
            await asyncio.sleep(0)
            correlation_ids = self._unanswered()[: next(together)]
            if not correlation_ids:
                await asyncio.sleep(0.001)
                correlation_ids = self._unanswered()[:1]
                if not correlation_ids:
                    break
            data = b"".join(
                _response(correlation_id, number, *outcome)
                for number, (correlation_id, outcome) in enumerate(
                    zip(correlation_ids, outcomes[self._answered :], strict=False), self._answered
                )
            )
            self._answered += len(correlation_ids)
            self.connection.data_received(data[:7])
            self.connection.data_received(data[7:])
        await self._client.close()

    def _unanswered(self) -> list[int]:
        found, position = [], 0
        while position < len(self.written):
            size, _, _, correlation_id = Struct(">ihhi").unpack_from(self.written, position)
            found.append(correlation_id)
            position += 4 + size
        return found[self._answered :]

    @property
    def outcome(self) -> tuple[bytes, Counts, list[dict[str, Any]]]:
        """What was sent, what was counted and the rows."""
        rows = sorted(rows_of(self._run), key=itemgetter("event_id", "attempt", "sequence"))
        return bytes(self.written), self._run.counts, rows


def _response(correlation_id: int, number: int, error_code: int, throttle_time_ms: int) -> bytes:
    result = PartitionResult(0, error_code, -1 if error_code else 100 + number)
    body = bytes(encode_response(VERSION, [TopicResult("t", None, [result])], throttle_time_ms))
    return Struct(">iib").pack(5 + len(body), correlation_id, 0) + body


@given(
    outcomes=st.lists(
        st.tuples(
            st.sampled_from([0] * 20 + [46, THROTTLED, FATAL]), st.sampled_from([0] * 9 + [3])
        ),
        min_size=1,
        max_size=60,
    ),
    reads=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    tenant_fields=st.fixed_dictionaries(
        {
            "window": st.integers(1, 8),
            "records": st.sampled_from([1, 3]),
            "record_bytes": st.sampled_from([100, (50, 60)]),
            "idempotent": st.booleans(),
            "arrival": st.sampled_from(["poisson", "closed"]),
            "obeys_throttle": st.just(value=False),
        }
    ),
    first_sequence=st.sampled_from([0, 2**31 - 5]),
)
def test_responses_of_one_read_have_the_rows_of_single_responses(
    outcomes: list[tuple[int, int]],
    reads: list[int],
    tenant_fields: dict[str, Any],
    first_sequence: int,
) -> None:
    def play_in(reads: list[int]) -> tuple[bytes, Counts, list[dict[str, Any]]]:
        async def run() -> Stream:
            stream = Stream(1 if tenant_fields["arrival"] == "closed" else 40, **tenant_fields)
            await stream.play(outcomes, reads, first_sequence)
            return stream

        return asyncio.run(run()).outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now_us", lambda: 1000)
        assert play_in(reads) == play_in([1])


@given(
    outcomes=st.lists(st.sampled_from(["ok"] * 4 + ["refused", "lost", "moved"]), max_size=25),
    window=st.integers(1, 4),
)
def test_each_batch_is_stored_once_and_in_order_despite_errors(
    outcomes: list[str], window: int
) -> None:
    async def scenario(bench: Bench) -> None:
        bench.submit(*range(10))
        for outcome in outcomes:
            if not bench.waiting:
                await bench.turn()
            if not bench.waiting:
                break
            if outcome == "lost":
                await bench.lose()
            else:
                bench.broker({"ok": 0, "refused": THROTTLED, "moved": LEADER_MOVED}[outcome])
        for _ in range(40):
            if bench.connection.is_aborted:
                await bench.lose()
            while bench.waiting:
                bench.broker()
            await bench.turn()
            if bench.client.is_idle:
                break
        assert bench.client.is_idle

    bench = play(scenario, window=window, retries=100)
    assert bench.stored == [(0, sequence) for sequence in range(10)]
    assert bench.run.counts.events_done == 10
