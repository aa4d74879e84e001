"""Send the load of one worker on one event loop: submit each event to its client when it is due.

The schedule is fixed in advance, so a slow response neither delays nor drops a later event.
"""

import asyncio
import gc
from array import array
from collections.abc import Callable, Iterable, Iterator

from loadgen import clock
from loadgen.clients.admin_client import AdminClient
from loadgen.clients.connection_storm import ConnectionStorm
from loadgen.clients.consume_transform_produce import ConsumeTransformProduce
from loadgen.clients.delivery_timeout import DeliveryTimeout
from loadgen.clients.group_protocols import member_of_group
from loadgen.clients.keyed_producer import KeyedProducer
from loadgen.clients.load_client import Event, LoadClient, Run
from loadgen.clients.pipelined_producer import PipelinedProducer
from loadgen.clients.producer_clients import (
    NewProducerPerBatch,
    NewProducerPerError,
    RestartLoop,
    RetriesLostResponses,
)
from loadgen.clients.replay_client import ReplayClient
from loadgen.clients.share_member import ShareMember
from loadgen.clients.topic_clients import TopicCreator, TopicDeleter, TopicExpander
from loadgen.clients.transactional import Transactional
from loadgen.plan.plan import Tenant
from loadgen.plan.run_spec import STOPPED_BY_USER
from loadgen.worker.schedule_feed import DueEvents, ScheduleFeed
from loadgen.worker.timer import PreciseTimer

CHECK_S = 0.1
_LATE_SHARE_MAX = 0.01
"""The check of the generator is about the p99 of its lateness."""
_REFRESH = 16
"""Events submitted between two readings of the clock."""
_NO_EVENTS = DueEvents(array("q"), array("q"), array("q"), array("q"))

CLIENTS: dict[str, Callable[[Run, Tenant, int], LoadClient]] = {
    "steady": PipelinedProducer,
    "keyed": KeyedProducer,
    "restart-loop": RestartLoop,
    "new-producer-per-error": NewProducerPerError,
    "new-producer-per-batch": NewProducerPerBatch,
    "retries-lost-responses": RetriesLostResponses,
    "delivery-timeout": DeliveryTimeout,
    "transactional": Transactional,
    "consume-transform-produce": ConsumeTransformProduce,
    "replay": ReplayClient,
    "topic-creator": TopicCreator,
    "topic-expander": TopicExpander,
    "topic-deleter": TopicDeleter,
    "consumer-group": member_of_group,
    "share-group": ShareMember,
    "admin": AdminClient,
    "connection-storm": ConnectionStorm,
}


class Engine:
    """The clients of one worker and the events for them."""

    def __init__(
        self,
        run: Run,
        feed: ScheduleFeed,
        client_numbers: Iterable[int],
        report: Callable[[], bool],
    ) -> None:
        """Take the schedule and the numbers of the clients in it.

        The engine calls `report` several times a second; it sends the progress and returns whether
        to stop.
        """
        self._run = run
        self._feed = feed
        self._due = _NO_EVENTS
        self._report = report
        tenants = run.plan.tenants
        tenant_of = run.spec.tenant_of_clients()
        self._clients: dict[int, LoadClient] = {
            number: _client(run, tenants[tenant_of[number]], number) for number in client_numbers
        }
        self._next = 0
        self._timer: PreciseTimer | None = None
        self._submitted = self._late_events = 0
        """Events, and those that were submitted later than the plan allows."""
        self._latest_us = 0

    async def prepare(self) -> None:
        """Connect the clients that connect in advance."""
        await asyncio.gather(*(client.prepare() for client in self._clients.values()))

    async def drive(self, zero_us: int) -> None:
        """Run from time zero to the last response, or until the drain time is over."""
        run = self._run
        run.zero_us = zero_us
        loop = asyncio.get_running_loop()
        self._feed.on_ready = lambda: loop.call_soon_threadsafe(self._release)
        run.end_us = zero_us + round(run.plan.duration_s * 1e6)
        drained_us = run.end_us + round(run.plan.drain_s * 1e6)
        self._timer = PreciseTimer(asyncio.get_running_loop(), self._release)
        gc.freeze()
        gc.disable()
        try:
            self._release()
            while not run.is_over and clock.now_us() < drained_us:
                await asyncio.sleep(CHECK_S)
                if self._check():
                    break
        finally:
            gc.enable()
            gc.unfreeze()
            self._timer.close()
            self._timer = None
            await self._end()

    def _release(self) -> None:
        """Submit all events that are due."""
        run, clients, zero_us = self._run, self._clients, self._run.zero_us
        index, now_us = self._next, clock.now_us()
        first_us, submitted = now_us, 0
        late_us = -1
        while self._timer is not None and not run.is_over:
            ids, times, owners, salts = self._due
            if index == len(times):
                following = self._feed.next()
                if following is None:
                    break  # at the end, or until `on_ready`
                self._due, index = following, 0
                continue
            if index % _REFRESH == 0:
                now_us = clock.now_us()
            intended_us = times[index] + zero_us
            if intended_us > now_us:
                self._timer.set(intended_us - clock.now_us())
                break
            if late_us < 0:
                late_us = first_us - intended_us
            clients[owners[index]].submit(Event(ids[index], intended_us, now_us, salts[index]))
            index += 1
            submitted += 1
        self._next = index
        run.counts.lateness_us = max(run.counts.lateness_us, late_us)
        self._latest_us = max(self._latest_us, late_us)
        self._submitted += submitted
        if late_us > run.plan.lateness_p99_ms * 1000:
            self._late_events += submitted

    @property
    def _has_released_all(self) -> bool:
        return self._next == len(self._due.times_us) and self._feed.is_finished

    def _check(self) -> bool:
        """Return whether all is done; abort a run that is too far behind."""
        run, now_us = self._run, clock.now_us()
        is_idle = self._has_released_all and now_us >= run.end_us
        limit_us = run.plan.abort_behind_s * 1e6
        if self._next < len(self._due.times_us):
            behind_us = now_us - self._due.times_us[self._next] - run.zero_us
            if behind_us > limit_us:
                run.abort_run(f"the load generator is {behind_us / 1e6:.1f} s behind its schedule")
        for client in self._clients.values():
            client.check(now_us)
            is_idle = is_idle and client.is_idle
            if client.behind_us(now_us) > limit_us and now_us < run.end_us:
                run.abort_run(
                    f"tenant {client.tenant.name} is more than {run.plan.abort_behind_s:g} s"
                    f" behind: {self._slower_side()}"
                )
        if self._report():
            run.abort_run(STOPPED_BY_USER)
        return is_idle

    def _slower_side(self) -> str:
        """Say who is to blame for a client that is behind: a late generator proves nothing."""
        if self._late_events > _LATE_SHARE_MAX * self._submitted:
            return (
                f"the load generator is late itself, by up to {self._latest_us / 1000:.0f} ms, so"
                " this says nothing about the target"
            )
        return "the target cannot keep up with this rate"

    async def _end(self) -> None:
        """Disconnect, and write the rows of events that were due and not sent.

        Later events have no rows: a long plan that is stopped early would have millions of them.
        """
        run, now_us = self._run, clock.now_us()
        run.is_over = True
        for client in self._clients.values():
            for event in client.unsent():
                client.record_not_sent(event)
        for event_id, intended_us, owner in self._due_until(now_us):
            client = self._clients[owner]
            client.record_not_sent(Event(event_id, intended_us, intended_us, 0))
        await asyncio.gather(*(client.close() for client in self._clients.values()))
        # Transports call connection_lost in the next iteration of the loop.
        await asyncio.sleep(0)
        self._report()

    def _due_until(self, now_us: int) -> Iterator[tuple[int, int, int]]:
        """Yield id, intended time and client of the events that were due and not submitted."""
        due: DueEvents | None = self._due
        first = self._next
        while due is not None:
            for index in range(first, len(due.times_us)):
                intended_us = due.times_us[index] + self._run.zero_us
                if intended_us > now_us:
                    return
                yield due.event_ids[index], intended_us, due.owners[index]
            due, first = self._feed.wait_for_next(), 0


def _client(run: Run, tenant: Tenant, number: int) -> LoadClient:
    return CLIENTS[tenant.behaviour](run, tenant, number)
