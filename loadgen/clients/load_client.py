"""What all behaviours have in common: a virtual client, and what the clients of a worker share."""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from client.errors import ClientError, ConnectionLostError, SecurityError
from loadgen import clock
from loadgen.clients.load_connection import Access, Link, open_link
from loadgen.clients.produce_frames import VERSION_MAX, ProduceFrames
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import Counts, RunSpec, Topology
from loadgen.rows import NONE, Rows, Status
from protocol import messages
from protocol.api_keys import ApiKey

RECONNECT_PAUSE_S = 0.2
UNREACHABLE_MAX_S = 3.0
"""A client that can't get in for so long gives the whole run up."""


NO_EVENT = -1
"""The number of what no row of the schedule asked for."""


class Event(NamedTuple):
    """One row of the schedule, in times of `clock.now_us`."""

    event_id: int
    intended_us: int
    handed_us: int
    salt: int


@dataclass(slots=True)
class Run:
    """What the clients of one worker share."""

    spec: RunSpec
    rows: Rows
    access: list[Access]
    """Of each tenant."""
    topology: Topology
    counts: Counts = field(default_factory=Counts)
    timestamp_ms: int = 0
    """What records are stamped with."""
    zero_us: int = 0
    end_us: int = 0
    """When closed loops end; both are set once the workers have agreed."""
    is_over: bool = False
    connecting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(50))

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.spec.plan

    def give_up(self, reason: str) -> None:
        """Nobody shall send any more; what was done so far stays."""
        self.is_over = True
        if reason not in self.counts.reasons:
            self.counts.reasons.append(reason)


class LoadClient:
    """A virtual client: takes events when they are due, and does what its behaviour says."""

    api = ApiKey.PRODUCE
    """What a row says about an event that was never sent."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        """`number` counts through all tenants."""
        self.run = run
        self.tenant = tenant
        self.number = number
        self._access = run.access[run.plan.tenants.index(tenant)]
        self._closed_loops = 0
        partitions = run.topology.leaders.get(tenant.topic, [-1])
        self.partition = run.spec.ordinal(number) % len(partitions)
        """The one partition that this client writes to."""

    def frames(self, link: Link) -> ProduceFrames:
        """What makes this client's Produce requests in the version that a broker speaks."""
        tenant = self.tenant
        return ProduceFrames(
            version=min(link.wire.version_of(ApiKey.PRODUCE), VERSION_MAX),
            client_id=tenant.client_id,
            topic=tenant.topic,
            partition=self.partition,
            records=tenant.records,
            record_bytes=tenant.record_bytes,
            timestamp_ms=self.run.timestamp_ms,
            acks=tenant.acks,
            timeout_ms=tenant.request_timeout_ms,
        )

    async def prepare(self) -> None:
        """Connect, before time zero."""

    def hand(self, event: Event) -> None:
        """An event is due."""
        raise NotImplementedError

    def check(self, now_us: int) -> None:
        """Called some times a second, for timeouts."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is on the way."""
        raise NotImplementedError

    def leftover(self) -> list[Event]:
        """Events that were handed over and never sent."""
        return []

    def behind_us(self, now_us: int) -> int:
        """How long ago the oldest event was due that has waited without a throttle's need."""
        return 0

    async def close(self) -> None:
        """Stop whatever goes on, and disconnect."""

    def again(self, event: Event, now_us: int) -> Event | None:
        """In a closed loop, the event that follows this one; None at the end."""
        if self.tenant.arrival != "closed" or self.run.is_over or now_us >= self.run.end_us:
            return None
        self._closed_loops += 1
        base = event.event_id & 0xFFFFFFFF
        return Event(base | self._closed_loops << 32, now_us, now_us, event.salt + 1)

    def not_sent(self, event: Event) -> None:
        """Tell of an event whose time never came."""
        row = self.run.rows.begin(
            event.event_id, event.intended_us, event.handed_us, NONE, self.number, self.api, -1, 0
        )
        self.run.rows.end(row, NONE, 0, status=Status.NOT_SENT)

    async def connect(self, node: int) -> Link:
        """A connection to a node, however long it takes while the run goes on.

        Raises:
            ConnectionLostError: the run was given up.
        """
        run = self.run
        give_up_us = clock.now_us() + int(UNREACHABLE_MAX_S * 1e6)
        while not run.is_over:
            try:
                async with run.connecting:
                    return await open_link(run.topology.brokers[node], self._access)
            except SecurityError as error:
                run.give_up(f"tenant {self.tenant.name}: {error}")
            except ClientError as error:
                if clock.now_us() >= give_up_us:
                    run.give_up(f"tenant {self.tenant.name}: {error}")
                await asyncio.sleep(RECONNECT_PAUSE_S)
        raise ConnectionLostError("the run was given up")

    def leader(self, topic: str, partition: int) -> int:
        """The node that leads a partition, as far as this worker knows."""
        topology = self.run.topology
        node = topology.leaders[topic][partition]
        return node if node in topology.brokers else min(topology.brokers)

    async def look_again(self, link: Link, topic: str) -> None:
        """Ask who leads a topic's partitions now."""
        request = messages.MetadataRequest(
            topics=[messages.MetadataRequest.MetadataRequestTopic(name=topic)],
            allow_auto_topic_creation=False,
        )
        response = await link.ask(request, self.tenant.request_timeout_ms / 1000)
        for found in response.topics:
            if found.error_code == 0:
                ordered = sorted(found.partitions, key=lambda each: each.partition_index)
                self.run.topology.leaders[topic] = [each.leader_id for each in ordered]
