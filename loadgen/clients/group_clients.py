"""Members of a consumer group; each event is a poll.

`group_protocol` chooses the class: `classic` members join and synchronise, `consumer` members
(KIP-848) are in `consumer_member`.
"""

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Mapping

from client.errors import ConnectionLostError
from loadgen import clock
from loadgen.clients.coordinator_client import CoordinatorClient, fetch_error
from loadgen.clients.fetch_responses import (
    NO_TOPIC_ID,
    fetch_request,
    fetched_partitions,
    next_offset,
)
from loadgen.clients.load_client import NO_EVENT, Event, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.plan.pauses import pause_at
from loadgen.plan.plan import Tenant
from loadgen.receipts import Receipt
from loadgen.rows import Kind
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.consumer_protocol import decode_assignment, encode_assignment, encode_subscription
from protocol.errors import ErrorCode

SESSION_TIMEOUT_MS = 10_000
HEARTBEAT_US = 1_000_000
COMMIT_POLLS = 10
_JOIN_TIMEOUT_S = 30.0
_PROTOCOL = "range"
_LAG_STEP_S = 0.1
_WAIT_STEP_S = 0.02


class GroupMember(CoordinatorClient):
    """Joins its tenant's group with the first poll, and again after each rebalance.

    With `lag_s` it stops to read for this time at the end of each `lag_every_s`, and in `pauses` at
    their times; then it reads until it has caught up, and polls wait for that. What it receives is
    recorded. A subclass implements the group protocol.
    """

    api = ApiKey.FETCH
    heartbeat_us = HEARTBEAT_US
    waits_for_partitions = False
    """Whether a poll waits until the member has partitions; otherwise it does nothing."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._member_id = ""
        self._generation = -1
        """The generation or member epoch; negative outside of the group."""
        self._positions: dict[int, int] = {}
        self._lags: dict[int, int] = {}
        """The records behind the position of each partition, in the newest responses."""
        self._fetches: dict[int, asyncio.Task[None]] = {}
        """The Fetch in flight to each node."""
        self._heartbeat_us = 0
        self._polls = 0

    async def join(self, event: Event) -> None:
        """Join the group, and set `_generation` and `_positions`.

        Raises:
            ClientError: that is not possible.
        """
        raise NotImplementedError

    async def heartbeat(self, event: Event) -> None:
        """Send a heartbeat and follow its response.

        Raises:
            ClientError: there is no response.
        """
        raise NotImplementedError

    async def disconnect(self) -> None:
        """See `SequentialClient`."""
        self._fetches.clear()  # they end with their connections
        await super().disconnect()
        self._generation = -1

    @property
    def is_idle(self) -> bool:
        """See `LoadClient`."""
        return super().is_idle and all(fetch.done() for fetch in self._fetches.values())

    def check(self, now_us: int) -> None:
        """Send heartbeats, and join again, while no poll is due."""
        is_due = self._generation < 0 or now_us - self._heartbeat_us > self.heartbeat_us
        if self._member_id and is_due and self.is_idle and not self.run.is_over:
            self.submit(Event(NO_EVENT, now_us, now_us, 0))

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        await self._stay_in_group(event)
        while event.event_id != NO_EVENT and self._must_wait and not self.run.is_over:
            await asyncio.sleep(_WAIT_STEP_S)
            await self._stay_in_group(event)
        was_lagging = event.event_id != NO_EVENT and await self._lag(event)
        if self._generation < 0 or event.event_id == NO_EVENT:
            return
        await self._poll(event)
        while was_lagging and self._generation >= 0 and any(self._lags.values()):
            await self._poll(event, Kind.CATCH_UP)
            await self._stay_in_group(event)
            if self.run.is_over:
                return
        if self._polls % COMMIT_POLLS == 0:
            await self._commit(event)

    @property
    def _must_wait(self) -> bool:
        return self.waits_for_partitions and self._generation >= 0 and not self._positions

    async def _stay_in_group(self, event: Event) -> None:
        if self._generation < 0:
            await self.join(event)
        if clock.now_us() - self._heartbeat_us > self.heartbeat_us:
            await self.heartbeat(event)

    async def _lag(self, event: Event) -> bool:
        """Wait while the plan wants a lag; return whether it did."""
        has_waited = False
        while not self.run.is_over and self._must_lag(clock.now_us()):
            has_waited = True
            await asyncio.sleep(_LAG_STEP_S)
            await self._stay_in_group(event)
        return has_waited

    def _must_lag(self, now_us: int) -> bool:
        run, tenant = self.run, self.tenant
        if not run.zero_us <= now_us < run.end_us:
            return False
        time_s = (now_us - run.zero_us) / 1e6
        if pause_at(tenant.pauses, time_s) is not None:
            return True
        return tenant.lag_s > 0 and (
            time_s % tenant.lag_every_s >= tenant.lag_every_s - tenant.lag_s
        )

    async def _poll(self, event: Event, kind: Kind = Kind.NEW) -> None:
        """Ask each leader that is not answering an earlier poll; return with the next response.

        As in Kafka's consumer, records of one broker do not wait for another broker to have some.
        """
        by_node: dict[int, dict[int, int]] = {}
        for partition, offset in self._positions.items():
            by_node.setdefault(self.leader(self.tenant.topic, partition), {})[partition] = offset
        self._polls += 1
        if not by_node:
            return
        for node in sorted(by_node.keys() - self._fetches.keys()):
            connection = await self.connection_to(node)
            fetch = asyncio.create_task(self._fetch(event, connection, node, by_node[node], kind))
            fetch.add_done_callback(_retrieve)
            self._fetches[node] = fetch
        done, _ = await asyncio.wait(self._fetches.values(), return_when=FIRST_COMPLETED)
        for node in [node for node, fetch in self._fetches.items() if fetch in done]:
            await self._fetches.pop(node)

    async def _fetch(
        self,
        event: Event,
        connection: LoadConnection,
        node: int,
        offsets: Mapping[int, int],
        kind: Kind,
    ) -> None:
        """Fetch from one leader, and move on behind what it has sent.

        Raises:
            ClientError: there is no response.
        """
        topic, topology = self.tenant.topic, self.run.topology
        request = fetch_request(
            topic,
            topology.topic_ids.get(topic, NO_TOPIC_ID),
            offsets,
            partition_bytes_max=self.tenant.fetch_bytes,
        )
        response = await self.send_request(
            event, connection, node, request, fetch_error, topic=topic, kind=kind
        )
        received_us = clock.now_us()
        for found in fetched_partitions(response):
            if found.error_code == ErrorCode.NONE:
                self._take(found, offsets[found.partition_index], received_us)
            elif found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                await self.refresh_leaders(connection, topic)

    def _take(
        self,
        found: "messages.FetchResponse.FetchableTopicResponse.PartitionData",
        first: int,
        received_us: int,
    ) -> None:
        """Record what was received from the offset `first`, unless the position is another now."""
        index, high_watermark = found.partition_index, found.high_watermark
        if self._positions.get(index) != first:
            return
        position = next_offset(found.records, first)
        self._positions[index] = position
        self._lags[index] = max(0, high_watermark - position)
        if position > first:
            tenant = self.tenant
            self.run.receipts.add(
                Receipt(
                    self.number, tenant.name, tenant.topic, index, received_us, first, position,
                    high_watermark,
                )
            )  # fmt: skip

    async def _commit(self, event: Event) -> None:
        error_code = await self.commit_offsets(
            event, self._positions, generation_id=self._generation, member_id=self._member_id
        )
        if error_code:
            self._generation = -1

    async def start_at_committed(self, event: Event, partitions: list[int]) -> None:
        """Begin to read these partitions where the group has committed, and no others."""
        new = [partition for partition in partitions if partition not in self._positions]
        committed = await self.committed_offsets(event, new) if new else {}
        self._positions = {
            partition: self._positions.get(partition, max(0, committed.get(partition, 0)))
            for partition in partitions
        }
        self._lags.clear()


def _retrieve(fetch: "asyncio.Task[None]") -> None:
    """Keep asyncio from a warning about an error of which nobody hears after a disconnect."""
    if not fetch.cancelled():
        fetch.exception()


class ClassicMember(GroupMember):
    """A member that joins and synchronises; the leader assigns the partitions."""

    async def join(self, event: Event) -> None:
        """See `GroupMember`."""
        join_class = messages.JoinGroupRequest
        subscription = encode_subscription([self.tenant.topic])
        while not self.run.is_over:
            joined = await self.send_to_coordinator(
                event,
                join_class(
                    group_id=self.tenant.group,
                    session_timeout_ms=SESSION_TIMEOUT_MS,
                    rebalance_timeout_ms=SESSION_TIMEOUT_MS,
                    member_id=self._member_id,
                    group_instance_id=None,
                    protocol_type="consumer",
                    protocols=[
                        join_class.JoinGroupRequestProtocol(name=_PROTOCOL, metadata=subscription)
                    ],
                    reason=None,
                ),
                _JOIN_TIMEOUT_S,
            )
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = joined.member_id
            elif joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                self._member_id = ""
            elif joined.error_code:
                raise ConnectionLostError(f"JoinGroup: error {joined.error_code}")
            elif await self._synchronise(event, joined):
                return

    async def _synchronise(self, event: Event, joined: "messages.JoinGroupResponse") -> bool:
        self._member_id, generation = joined.member_id, joined.generation_id
        sync_class = messages.SyncGroupRequest
        partitions = len(self.run.topology.leaders[self.tenant.topic])
        members = sorted(member.member_id for member in joined.members)
        response = await self.send_to_coordinator(
            event,
            sync_class(
                group_id=self.tenant.group,
                generation_id=generation,
                member_id=self._member_id,
                group_instance_id=None,
                protocol_type="consumer",
                protocol_name=_PROTOCOL,
                assignments=[
                    sync_class.SyncGroupRequestAssignment(
                        member_id=member,
                        assignment=encode_assignment(
                            {self.tenant.topic: range(partitions)[index :: len(members)]}
                        ),
                    )
                    for index, member in enumerate(members)
                ],
            ),
            _JOIN_TIMEOUT_S,
        )
        if response.error_code:
            return False
        assigned = decode_assignment(bytes(response.assignment)).get(self.tenant.topic, [])
        self._positions.clear()  # another member may have read on
        await self.start_at_committed(event, assigned)
        self._generation, self._heartbeat_us = generation, clock.now_us()
        return True

    async def heartbeat(self, event: Event) -> None:
        """See `GroupMember`."""
        response = await self.send_to_coordinator(
            event,
            messages.HeartbeatRequest(
                group_id=self.tenant.group,
                generation_id=self._generation,
                member_id=self._member_id,
                group_instance_id=None,
            ),
        )
        self._heartbeat_us = clock.now_us()
        if response.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        if response.error_code:
            self._generation = -1
