"""Events are handled one after the other; an error ends only its event."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from client.errors import ConnectionLostError
from loadgen import clock
from loadgen.clients.load_client import NO_EVENT, Event
from loadgen.clients.sequential_client import SequentialClient
from loadgen.plan.plan import Tenant
from protocol.errors import ErrorCode
from tests.loadgen.fake_load_connection import FakeConnection
from tests.loadgen.stubs import rows_of, run_of


@pytest.mark.parametrize(
    ("error_code", "errors"),
    [
        (ErrorCode.NONE, 0),
        (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, 0),
        (ErrorCode.MEMBER_ID_REQUIRED, 0),
        (ErrorCode.REBALANCE_IN_PROGRESS, 0),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 1),
    ],
)
def test_codes_that_bring_a_client_forward_are_no_errors(
    error_code: ErrorCode, errors: int
) -> None:
    def note(client: Listing) -> None:
        client._note(cast("Any", FakeConnection()), error_code, 0, 0, 0)

    client = play(Tenant("a", "steady", "a"), note)
    assert client.run.counts.errors == errors


class Listing(SequentialClient):
    """A client that records its events; odd ones fail."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.steps: list[int] = []
        self.disconnects = 0
        self.gate = asyncio.Event()

    async def handle(self, event: Event) -> None:
        await self.gate.wait()
        await asyncio.sleep(0)
        self.steps.append(event.event_id)
        if event.event_id % 2:
            raise ConnectionLostError("odd")

    async def disconnect(self) -> None:
        self.disconnects += 1


def event(event_id: int) -> Event:
    return Event(event_id, 0, 0, 0)


async def until(is_so: Callable[[], bool]) -> None:
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0)
    raise AssertionError("never")


def play(tenant: Tenant, scenario: Callable[[Listing], object]) -> Listing:
    async def run() -> Listing:
        its_run = run_of(tenant)
        client = Listing(its_run, tenant, 0)
        result = scenario(client)
        if asyncio.iscoroutine(result):
            await result
        await client.close()
        return client

    return asyncio.run(run())


def test_events_are_handled_in_order_and_an_error_ends_only_its_event() -> None:
    async def scenario(client: Listing) -> None:
        for number in (NO_EVENT, 0, 1, 2):
            client.submit(event(number))
        assert not client.is_idle
        await asyncio.sleep(0)
        assert client.unsent() == [event(0), event(1), event(2)]
        client.gate.set()
        await until(lambda: client.is_idle)
        assert client.steps == [NO_EVENT, 0, 1, 2]
        assert client.disconnects == 2
        assert client.run.counts.events_done == 3

    play(Tenant("a", "steady", "a"), scenario)


def test_an_event_that_fails_before_its_request_has_a_row() -> None:
    async def scenario(client: Listing) -> None:
        for number in (0, 1, NO_EVENT, 2):
            client.submit(event(number))
        client.gate.set()
        await until(lambda: client.is_idle)
        client.gate.clear()
        client.submit(event(4))
        await asyncio.sleep(0)

    client = play(Tenant("a", "steady", "a"), scenario)
    # The first failed; the second was in progress when the client closed.
    assert [(row["event_id"], row["status"]) for row in rows_of(client.run)] == [
        (1, "not_sent"),
        (4, "not_sent"),
    ]


def test_no_event_starts_after_the_run_was_aborted() -> None:
    async def scenario(client: Listing) -> None:
        client.gate.set()
        client.run.abort_run("x")
        client.submit(event(0))
        await asyncio.sleep(0)
        assert client.unsent() == [event(0)]

    assert play(Tenant("a", "steady", "a"), scenario).steps == []


def test_an_obeying_client_waits_and_another_records_how_early_it_sends() -> None:
    async def early_us(client: Listing, wait_us: int) -> int:
        now_us = clock.now_us() + wait_us
        connection = cast("Any", FakeConnection())
        client._note(connection, 0, 1, now_us, now_us)
        return await client._wait_for_throttle(connection)

    async def obey(client: Listing) -> None:
        began_us = clock.now_us()
        assert await early_us(client, 20_000) == 0
        assert clock.now_us() - began_us >= 20_000
        client.run.abort_run("x")
        with pytest.raises(ConnectionLostError):
            await early_us(client, 10**9)

    async def ignore(client: Listing) -> None:
        assert 900_000 < await early_us(client, 999_000) <= 1_000_000

    play(Tenant("a", "steady", "a"), obey)
    play(Tenant("a", "steady", "a", obeys_throttle=False), ignore)


def test_a_closed_loop_continues_without_new_events() -> None:
    async def scenario(client: Listing) -> None:
        client.run.end_us = clock.now_us() + 60_000_000
        client.gate.set()
        client.submit(event(0))
        await until(lambda: len(client.steps) >= 5)

    play(Tenant("a", "steady", "a", arrival="closed"), scenario)


class Uncancelled(Listing):
    """A client whose response arrives together with the cancellation."""

    async def handle(self, event: Event) -> None:
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.steps.append(event.event_id)


async def test_a_client_closes_even_if_its_cancellation_is_lost() -> None:
    tenant = Tenant("a", "steady")
    client = Uncancelled(run_of(tenant), tenant, 0)
    client.submit(event(2))
    await until(lambda: client._is_busy)
    client.run.is_over = True
    async with asyncio.timeout(5):
        await client.close()
    assert client.steps == [2]
