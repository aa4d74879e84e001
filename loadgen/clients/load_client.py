"""The base class of all load clients, and the state that the clients of a worker share."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from client.errors import ClientError, ConnectionLostError, SecurityError
from client.resources import Address
from loadgen import clock
from loadgen.clients.connection_settings import ConnectionSettings
from loadgen.clients.load_connection import LoadConnection, open_connection
from loadgen.clients.produce_frames import VERSION_MAX, ProduceFrames
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import Counts, RunSpec, Topology
from loadgen.receipts import Receipts
from loadgen.rows import EVENT_STEP, NONE, Rows, Status
from protocol import messages
from protocol.api_keys import ApiKey

RECONNECT_BACKOFF_S, RECONNECT_BACKOFF_MAX_S = 0.05, 1.0
"""Kafka's `reconnect.backoff.ms` and, once it has doubled often, `reconnect.backoff.max.ms`."""
UNREACHABLE_MAX_S = 3.0
"""A client that cannot connect for this time before time zero aborts the run."""
REFRESH_US = 500_000
"""Between two requests for the metadata from other brokers."""
REFRESH_TIMEOUT_S = 2.0

NodeOf = Callable[[int], int]
"""Returns the node to connect to, after so many failures."""
NO_EVENT = -1
"""The event id of requests that belong to no event of the schedule."""


class Event(NamedTuple):
    """One row of the schedule, in times of `clock.now_us`."""

    event_id: int
    intended_us: int
    submitted_us: int
    salt: int


@dataclass(slots=True)
class Run:
    """The state that the clients of one worker share."""

    spec: RunSpec
    rows: Rows
    connection_settings: list[ConnectionSettings]
    """One for each tenant."""
    topology: Topology
    counts: Counts = field(default_factory=Counts)
    receipts: Receipts = field(default_factory=Receipts)
    timestamp_ms: int = 0
    """The timestamp of all records."""
    zero_us: int = 0
    end_us: int = 0
    """When closed loops end; both times are set when all workers are ready."""
    is_over: bool = False
    refreshed_us: int = 0
    """When a client last asked another broker for the metadata."""
    connecting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(50))

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.spec.plan

    def abort_run(self, reason: str) -> None:
        """Stop sending; keep the rows so far."""
        self.is_over = True
        if reason not in self.counts.reasons:
            self.counts.reasons.append(reason)


class LoadClient:
    """A client of the load; a subclass implements a behaviour."""

    api = ApiKey.PRODUCE
    """The API in the row of an event that was not sent."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        """Create client `number`, counted over all tenants."""
        self.run = run
        self.tenant = tenant
        self.number = number
        self._connection_settings = run.connection_settings[run.plan.tenants.index(tenant)]
        self._closed_loops = 0
        self._backoff_s = RECONNECT_BACKOFF_S
        partitions = run.topology.leaders.get(tenant.topic, [-1])
        self.partition = run.spec.ordinal(number) % len(partitions)
        """The only partition that this client writes to."""

    def frames(self, connection: LoadConnection, record_bytes: int | None = None) -> ProduceFrames:
        """Return the encoder of this client's Produce requests, in a supported version.

        `record_bytes` is by default the tenant's only size.
        """
        tenant = self.tenant
        return ProduceFrames(
            version=min(connection.wire.version_of(ApiKey.PRODUCE), VERSION_MAX),
            client_id=tenant.client_id,
            topic=tenant.topic,
            partition=self.partition,
            records=tenant.records,
            record_bytes=record_bytes or tenant.record_sizes[0],
            timestamp_ms=self.run.timestamp_ms,
            acks=tenant.required_acks,
            timeout_ms=tenant.request_timeout_ms,
        )

    async def prepare(self) -> None:
        """Connect before time zero."""

    def submit(self, event: Event) -> None:
        """Take an event that is due."""
        raise NotImplementedError

    def check(self, now_us: int) -> None:
        """Check timeouts; the engine calls this several times a second."""

    @property
    def is_idle(self) -> bool:
        """Whether no event waits and no request is in flight."""
        raise NotImplementedError

    def unsent(self) -> list[Event]:
        """Return the submitted events that were not sent."""
        return []

    def behind_us(self, now_us: int) -> int:
        """Return how late the oldest waiting event is, or 0 while a throttle explains it."""
        return 0

    async def close(self) -> None:
        """Stop and disconnect."""

    def next_in_loop(self, event: Event, now_us: int) -> Event | None:
        """Return the event that follows this one in a closed loop; None at the end."""
        event_ids = self.next_in_loops(1, event.event_id, now_us)
        return Event(event_ids[0], now_us, now_us, event.salt + 1) if event_ids else None

    def next_in_loops(self, count: int, event_id: int, now_us: int) -> range:
        """Return the ids of the events that follow `count` events in a closed loop.

        `event_id` is that of any earlier event of the loop. At the end there are no more ids.
        """
        if self.tenant.arrival != "closed" or self.run.is_over or now_us >= self.run.end_us:
            return range(0)
        first = (event_id & 0xFFFFFFFF) + (self._closed_loops + 1) * EVENT_STEP
        self._closed_loops += count
        return range(first, first + count * EVENT_STEP, EVENT_STEP)

    def record_not_sent(self, event: Event) -> None:
        """Write the row of an event that was not sent."""
        row = self.run.rows.begin(
            event_id=event.event_id,
            intended_us=event.intended_us,
            submitted_us=event.submitted_us,
            sent_us=NONE,
            client=self.number,
            api=self.api,
            version=-1,
            attempt=0,
        )
        self.run.rows.end(row, NONE, 0, status=Status.NOT_SENT)

    async def connect(
        self, node_of: NodeOf, *, is_patient: bool = True
    ) -> tuple[LoadConnection, int]:
        """Connect to a node; return the connection and the node id.

        It tries again with Kafka's backoff until the run ends, each time to `node_of(failures)`:
        the node may change with the metadata, which it then asks another broker for. Each failure
        has a row. A client that is not `is_patient` tries once.

        Raises:
            ConnectionLostError: the run was aborted.
            ClientError: the node cannot be reached, and the client is not patient.
        """
        run, began_us, failures = self.run, clock.now_us(), 0
        while not run.is_over:
            node, sent_us = node_of(failures), clock.now_us()
            try:
                async with run.connecting:
                    connection = await open_connection(
                        run.topology.brokers[node], self._connection_settings
                    )
            except SecurityError as error:
                run.abort_run(f"tenant {self.tenant.name}: {error}")
            except ClientError as error:
                await self._wait_to_reconnect(node, sent_us, began_us, error)
                if not is_patient:
                    raise
                failures += 1
            else:
                self._backoff_s = RECONNECT_BACKOFF_S
                return connection, node
        raise ConnectionLostError("the run was aborted")

    async def connected(
        self, connections: dict[int, LoadConnection], node_of: NodeOf, *, is_patient: bool = True
    ) -> tuple[LoadConnection, int]:
        """Return the one of these connections to `node_of(0)`; if there is none, `connect`."""
        node = node_of(0)
        connection = connections.get(node)
        if connection is None or connection.is_lost:
            connection, node = await self.connect(node_of, is_patient=is_patient)
            old = connections.get(node)
            if old is not None:
                old.abort()
            connections[node] = connection
        return connection, node

    async def _wait_to_reconnect(
        self, node: int, sent_us: int, began_us: int, error: ClientError
    ) -> None:
        """Record that a node could not be reached; wait, and ask another one for the metadata."""
        run = self.run
        max_s = run.plan.abort_unreachable_s if run.zero_us else UNREACHABLE_MAX_S
        if clock.now_us() - began_us >= max_s * 1e6:
            run.abort_run(f"tenant {self.tenant.name}: {error}, for {max_s:g} s")
        run.counts.errors += 1
        row = run.rows.begin(
            event_id=NO_EVENT,
            intended_us=sent_us,
            submitted_us=sent_us,
            sent_us=sent_us,
            client=self.number,
            api=ApiKey.API_VERSIONS,
            version=-1,
            node=node,
        )
        run.rows.mark_lost(row)
        await asyncio.sleep(self._backoff_s)
        self._backoff_s = min(2 * self._backoff_s, RECONNECT_BACKOFF_MAX_S)
        others = [address for other, address in run.topology.brokers.items() if other != node]
        if others and not run.is_over and clock.now_us() - run.refreshed_us > REFRESH_US:
            run.refreshed_us = clock.now_us()
            address = others[run.refreshed_us // REFRESH_US % len(others)]
            with contextlib.suppress(ClientError):
                connection = await open_connection(
                    address, self._connection_settings, REFRESH_TIMEOUT_S
                )
                try:
                    await self._refresh(connection, list(run.topology.leaders), REFRESH_TIMEOUT_S)
                finally:
                    connection.abort()

    def leader(self, topic: str, partition: int) -> int:
        """Return the node that leads a partition; any node if the leader is unknown."""
        topology = self.run.topology
        node = topology.leaders[topic][partition]
        return node if node in topology.brokers else min(topology.brokers)

    async def refresh_leaders(self, connection: LoadConnection, topic: str) -> None:
        """Update the leaders of a topic's partitions by a Metadata request."""
        await self._refresh(connection, [topic], self.tenant.request_timeout_ms / 1000)

    async def _refresh(
        self, connection: LoadConnection, topics: Sequence[str], timeout_s: float
    ) -> None:
        topic_class = messages.MetadataRequest.MetadataRequestTopic
        request = messages.MetadataRequest(
            topics=[topic_class(name=topic) for topic in topics], allow_auto_topic_creation=False
        )
        response = await connection.send_request(request, timeout_s)
        topology = self.run.topology
        for broker in response.brokers:
            topology.brokers[broker.node_id] = Address(broker.host, broker.port)
        topology.controller_id = response.controller_id
        for found in response.topics:
            if found.error_code == 0 and found.name is not None:
                ordered = sorted(found.partitions, key=lambda partition: partition.partition_index)
                topology.leaders[found.name] = [partition.leader_id for partition in ordered]
