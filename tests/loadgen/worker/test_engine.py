"""Events are submitted when they are due; an aborted run ends soon and has a reason."""

import asyncio
import re
from dataclasses import replace

import pyarrow as pa
from msgspec import structs

from loadgen import clock
from loadgen.clients.load_client import Event, LoadClient, Run
from loadgen.plan.plan import BEHAVIOURS, Tenant
from loadgen.worker.engine import CLIENTS, Engine
from loadgen.worker.schedule_feed import ScheduleFeed
from tests.loadgen.stubs import rows_of, run_of

TENANT = Tenant("a", "steady", "a", clients=2)


class Listing(LoadClient):
    """Notes when it got which event."""

    got: "list[tuple[int, Event]]"
    behind = 0

    async def prepare(self) -> None:
        self.got = []

    def submit(self, event: Event) -> None:
        self.got.append((self.number, event))

    @property
    def is_idle(self) -> bool:
        return True

    def behind_us(self, now_us: int) -> int:
        return self.behind


def drive(
    run: Run, times_us: list[int], *, behind_us: int = 0, stops: bool = False
) -> list[tuple[int, Event]]:
    async def scenario() -> list[tuple[int, Event]]:
        count = len(times_us)
        columns = [range(count), times_us, [i % 2 for i in range(count)], [7] * count]
        batch = pa.record_batch(
            [pa.array(column, pa.int64()) for column in columns],
            ["event_id", "t_us", "client", "salt"],
        )
        halves = [batch.slice(0, count // 2), batch.slice(count // 2)]
        feed = ScheduleFeed(iter(halves))
        feed.fill()
        engine = Engine(run, feed, range(2), lambda: stops)
        clients: dict[int, LoadClient] = {number: Listing(run, TENANT, number) for number in (0, 1)}
        engine._clients = clients
        await engine.prepare()
        for client in clients.values():
            assert isinstance(client, Listing)
            client.behind = behind_us
        await engine.drive(clock.now_us() + 10_000)
        got = [received for client in clients.values() for received in client.got]  # type: ignore[attr-defined]
        return sorted(got, key=lambda received: received[1].event_id)

    return asyncio.run(scenario())


def run_for(duration_s: float, abort_behind_s: float = 5.0, lateness_p99_ms: float = 5.0) -> Run:
    run = run_of(
        TENANT, abort_behind_s=abort_behind_s, lateness_p99_ms=lateness_p99_ms, drain_s=1.0
    )
    run.spec = replace(run.spec, plan=structs.replace(run.plan, duration_s=duration_s))
    return run


def test_every_behaviour_has_its_client() -> None:
    assert set(CLIENTS) == set(BEHAVIOURS)


def test_each_event_is_submitted_to_its_client_when_it_is_due() -> None:
    run = run_for(0.1)
    times_us = [-5_000, 0, 0, 20_000, 20_001, 60_000]
    got = drive(run, times_us)
    assert [(number, event.event_id) for number, event in got] == [
        (0, 0),
        (1, 1),
        (0, 2),
        (1, 3),
        (0, 4),
        (1, 5),
    ]
    for (_, event), time_us in zip(got, times_us, strict=True):
        assert event.intended_us == run.zero_us + time_us
        assert event.submitted_us >= event.intended_us
    assert rows_of(run) == []
    assert not run.counts.reasons


def test_a_run_without_events_lasts_its_full_duration() -> None:
    began_us = clock.now_us()
    drive(run_for(0.2), [])
    assert clock.now_us() - began_us >= 200_000


def test_a_target_that_is_too_slow_aborts_the_run() -> None:
    run = run_for(60, abort_behind_s=1.0, lateness_p99_ms=10_000)
    drive(run, [0, 50_000_000], behind_us=1_100_000)
    assert run.counts.reasons == [
        "tenant a is more than 1 s behind: the target cannot keep up with this rate"
    ]


def test_a_generator_that_is_late_blames_itself() -> None:
    run = run_for(60, abort_behind_s=1.0)
    drive(run, [-400_000, 50_000_000], behind_us=1_100_000)
    [reason] = run.counts.reasons
    assert re.fullmatch(
        "tenant a is more than 1 s behind: the load generator is late itself, by up to"
        " [0-9]{3,} ms, so this says nothing about the target",
        reason,
    )


def test_events_that_were_due_are_recorded_as_not_sent_and_later_ones_are_not() -> None:
    run = run_for(60)
    run.is_over = True
    drive(run, [-20_000, -20_000, 50_000_000])
    assert [(row["event_id"], row["status"]) for row in rows_of(run)] == [
        (0, "not_sent"),
        (1, "not_sent"),
    ]


def test_the_driver_can_stop_the_run() -> None:
    run = run_for(60)
    drive(run, [0, 50_000_000], stops=True)
    assert run.counts.reasons == ["stopped by the user"]
