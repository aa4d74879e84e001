"""Members of a classic consumer group; each event is a poll."""

from typing import Any

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
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.consumer_protocol import decode_assignment, encode_assignment, encode_subscription
from protocol.errors import ErrorCode

SESSION_TIMEOUT_MS = 10_000
HEARTBEAT_US = 1_000_000
COMMIT_POLLS = 10
_JOIN_TIMEOUT_S = 30.0
_PROTOCOL = "range"


class GroupMember(CoordinatorClient):
    """Joins its tenant's group with the first poll, and again after each rebalance."""

    api = ApiKey.FETCH

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._member_id = ""
        self._generation = -1
        self._positions: dict[int, int] = {}
        self._heartbeat_us = 0
        self._polls = 0

    async def disconnect(self) -> None:
        """See `SequentialClient`."""
        await super().disconnect()
        self._generation = -1

    def check(self, now_us: int) -> None:
        """Send heartbeats, and join again, while no poll is due."""
        is_due = self._generation < 0 or now_us - self._heartbeat_us > HEARTBEAT_US
        if self._member_id and is_due and self.is_idle and not self.run.is_over:
            self.submit(Event(NO_EVENT, now_us, now_us, 0))

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        if self._generation < 0:
            await self._join(event)
        if clock.now_us() - self._heartbeat_us > HEARTBEAT_US:
            await self._heartbeat(event)
        if self._generation < 0 or event.event_id == NO_EVENT:
            return
        await self._poll(event)
        if self._polls % COMMIT_POLLS == 0:
            await self._commit(event)

    async def _join(self, event: Event) -> None:
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

    async def _synchronise(self, event: Event, joined: Any) -> bool:
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
        committed = await self.committed_offsets(event, assigned)
        self._positions = {partition: max(0, committed.get(partition, 0)) for partition in assigned}
        self._generation, self._heartbeat_us = generation, clock.now_us()
        return True

    async def _heartbeat(self, event: Event) -> None:
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

    async def _poll(self, event: Event) -> None:
        topic, topology = self.tenant.topic, self.run.topology
        by_node: dict[int, dict[int, int]] = {}
        for partition, offset in self._positions.items():
            by_node.setdefault(self.leader(topic, partition), {})[partition] = offset
        self._polls += 1
        if not by_node:
            return
        nodes = sorted(by_node)
        node = nodes[self._polls % len(nodes)]
        connection = await self.connection_to(node)
        request = fetch_request(topic, topology.topic_ids.get(topic, NO_TOPIC_ID), by_node[node])
        response = await self.send_request(
            event, connection, node, request, fetch_error, topic=topic
        )
        for found in fetched_partitions(response):
            index = found.partition_index
            if found.error_code == ErrorCode.NONE and index in self._positions:
                self._positions[index] = next_offset(found.records, self._positions[index])
            elif found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                await self.refresh_leaders(connection, topic)

    async def _commit(self, event: Event) -> None:
        error_code = await self.commit_offsets(
            event, self._positions, generation_id=self._generation, member_id=self._member_id
        )
        if error_code:
            self._generation = -1
