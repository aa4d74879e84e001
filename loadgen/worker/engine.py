"""Send the load of one worker on one event loop: submit each event to its client when it is due.

The schedule is fixed in advance, so a slow response neither delays nor drops a later event.
"""

import asyncio
import gc
from collections.abc import Callable, Sequence

from loadgen import clock
from loadgen.clients.consume_transform_produce import ConsumeTransformProduce
from loadgen.clients.delivery_timeout import DeliveryTimeout
from loadgen.clients.group_clients import GroupMember
from loadgen.clients.load_client import Event, LoadClient, Run
from loadgen.clients.pipelined_producer import PipelinedProducer
from loadgen.clients.producer_clients import (
    NewProducerPerBatch,
    NewProducerPerError,
    RestartLoop,
    RetriesLostResponses,
)
from loadgen.clients.topic_clients import TopicCreator, TopicDeleter, TopicExpander
from loadgen.clients.transactional import Transactional
from loadgen.plan.plan import Tenant
from loadgen.plan.run_spec import STOPPED_BY_USER
from loadgen.worker.timer import PreciseTimer

CHECK_S = 0.1
_REFRESH = 16
"""Events submitted between two readings of the clock."""

CLIENTS: dict[str, type[LoadClient]] = {
    "steady": PipelinedProducer,
    "restart-loop": RestartLoop,
    "new-producer-per-error": NewProducerPerError,
    "new-producer-per-batch": NewProducerPerBatch,
    "retries-lost-responses": RetriesLostResponses,
    "delivery-timeout": DeliveryTimeout,
    "transactional": Transactional,
    "consume-transform-produce": ConsumeTransformProduce,
    "topic-creator": TopicCreator,
    "topic-expander": TopicExpander,
    "topic-deleter": TopicDeleter,
    "consumer-group": GroupMember,
}


class Engine:
    """The clients of one worker and the events for them."""

    def __init__(
        self,
        run: Run,
        event_ids: Sequence[int],
        times_us: Sequence[int],
        owners: Sequence[int],
        salts: Sequence[int],
        report: Callable[[], bool],
    ) -> None:
        """Take the columns of the schedule, sorted by time.

        The engine calls `report` several times a second; it sends the progress and returns whether
        to stop.
        """
        self._run = run
        self._ids, self._times, self._owners, self._salts = event_ids, times_us, owners, salts
        self._report = report
        tenants = run.plan.tenants
        tenant_of = run.spec.tenant_of_clients()
        self._clients: dict[int, LoadClient] = {
            number: _client(run, tenants[tenant_of[number]], number)
            for number in sorted(set(owners))
        }
        self._next = 0
        self._timer: PreciseTimer | None = None

    async def prepare(self) -> None:
        """Connect the clients that connect in advance."""
        await asyncio.gather(*(client.prepare() for client in self._clients.values()))

    async def drive(self, zero_us: int) -> None:
        """Run from time zero to the last response, or until the drain time is over."""
        run = self._run
        run.zero_us = zero_us
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
            await self._end()

    def _release(self) -> None:
        """Submit all events that are due."""
        run, clients, times = self._run, self._clients, self._times
        ids, owners, salts, zero_us = self._ids, self._owners, self._salts, run.zero_us
        index, end = self._next, len(times)
        now_us = clock.now_us()
        first_us = now_us
        while index < end and not run.is_over:
            if index % _REFRESH == 0:
                now_us = clock.now_us()
            intended_us = times[index] + zero_us
            if intended_us > now_us:
                break
            clients[owners[index]].submit(Event(ids[index], intended_us, now_us, salts[index]))
            index += 1
        if index > self._next:
            counts = run.counts
            late_us = first_us - (times[self._next] + zero_us)
            counts.lateness_us = max(counts.lateness_us, late_us)
        self._next = index
        if index < end and not run.is_over and self._timer is not None:
            self._timer.set(times[index] + zero_us - clock.now_us())

    def _check(self) -> bool:
        """Return whether all is done; abort a run that is too far behind."""
        run, now_us = self._run, clock.now_us()
        is_idle = self._next == len(self._times) and now_us >= run.end_us
        limit_us = run.plan.abort_behind_s * 1e6
        if self._next < len(self._times):
            behind_us = now_us - self._times[self._next] - run.zero_us
            if behind_us > limit_us:
                run.abort_run(f"the load generator is {behind_us / 1e6:.1f} s behind its schedule")
        for client in self._clients.values():
            client.check(now_us)
            is_idle = is_idle and client.is_idle
            if client.behind_us(now_us) > limit_us and now_us < run.end_us:
                run.abort_run(
                    f"tenant {client.tenant.name} is more than {run.plan.abort_behind_s:g} s"
                    " behind: the target cannot keep up with this rate"
                )
        if self._report():
            run.abort_run(STOPPED_BY_USER)
        return is_idle

    async def _end(self) -> None:
        """Disconnect, and write the rows of events that were due and not sent.

        Later events have no rows: a long plan that is stopped early would have millions of them.
        """
        run, now_us = self._run, clock.now_us()
        run.is_over = True
        for client in self._clients.values():
            for event in client.unsent():
                client.record_not_sent(event)
        for index in range(self._next, len(self._times)):
            intended_us = self._times[index] + run.zero_us
            if intended_us > now_us:
                break
            client = self._clients[self._owners[index]]
            client.record_not_sent(Event(self._ids[index], intended_us, intended_us, 0))
        await asyncio.gather(*(client.close() for client in self._clients.values()))
        # Transports call connection_lost in the next iteration of the loop.
        await asyncio.sleep(0)
        self._report()


def _client(run: Run, tenant: Tenant, number: int) -> LoadClient:
    return CLIENTS[tenant.behaviour](run, tenant, number)
