"""Members of a classic consumer group; each event is a poll."""

from collections.abc import Sequence
from typing import Any

from client.errors import ConnectionLostError
from client.resources import Address
from loadgen import clock
from loadgen.clients.fetch_responses import (
    NO_TOPIC_ID,
    fetch_request,
    fetched_partitions,
    next_offset,
)
from loadgen.clients.load_client import NO_EVENT, Event, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.sequential_client import SequentialClient
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
_COORDINATOR_MOVED = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}


class GroupMember(SequentialClient):
    """Joins its tenant's group with the first poll, and again after each rebalance."""

    api = ApiKey.FETCH

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._connections: dict[int, LoadConnection] = {}
        self._coordinator = -1
        self._member_id = ""
        self._generation = -1
        self._positions: dict[int, int] = {}
        self._heartbeat_us = 0
        self._polls = 0

    async def disconnect(self) -> None:
        """See `SequentialClient`."""
        while self._connections:
            self._connections.popitem()[1].abort()
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

    async def _connection_to(self, node: int) -> LoadConnection:
        connection = self._connections.get(node)
        if connection is None or connection.is_lost:
            connection = self._connections[node] = await self.connect(node)
        return connection

    async def _send_to_coordinator(
        self, event: Event, request: Any, timeout_s: float | None = None
    ) -> Any:
        """Send a request to the coordinator; find the coordinator first if it is unknown.

        Raises:
            ClientError: there is no response, or no coordinator.
        """
        if self._coordinator < 0:
            self._coordinator = await self._find_coordinator(event)
        connection = await self._connection_to(self._coordinator)
        response = await self.send_request(
            event, connection, self._coordinator, request, _first_error, timeout_s=timeout_s
        )
        if _first_error(response)[0] in _COORDINATOR_MOVED:
            self._coordinator = -1
            raise ConnectionLostError("the coordinator moved")
        return response

    async def _find_coordinator(self, event: Event) -> int:
        group = self.tenant.group
        node = min(self.run.topology.brokers)
        request = messages.FindCoordinatorRequest(key=group, key_type=0, coordinator_keys=[group])
        response = await self.send_request(
            event, await self._connection_to(node), node, request, _first_error
        )
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code:
            raise ConnectionLostError("no coordinator")
        self.run.topology.brokers.setdefault(found.node_id, Address(found.host, found.port))
        return int(found.node_id)

    async def _join(self, event: Event) -> None:
        join_class = messages.JoinGroupRequest
        subscription = encode_subscription([self.tenant.topic])
        while not self.run.is_over:
            joined = await self._send_to_coordinator(
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
        response = await self._send_to_coordinator(
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
        self._positions = await self._committed(event, assigned)
        self._generation, self._heartbeat_us = generation, clock.now_us()
        return True

    async def _committed(self, event: Event, partitions: Sequence[int]) -> dict[int, int]:
        group, topic = self.tenant.group, self.tenant.topic
        fetch_class = messages.OffsetFetchRequest
        group_class = fetch_class.OffsetFetchRequestGroup
        request = fetch_class(
            group_id=group,
            topics=[
                fetch_class.OffsetFetchRequestTopic(name=topic, partition_indexes=list(partitions))
            ],
            groups=[
                group_class(
                    group_id=group,
                    topics=[
                        group_class.OffsetFetchRequestTopics(
                            name=topic,
                            topic_id=self.run.topology.topic_ids.get(topic, NO_TOPIC_ID),
                            partition_indexes=list(partitions),
                        )
                    ],
                )
            ],
            require_stable=False,
        )
        response = await self._send_to_coordinator(event, request)
        topics = response.groups[0].topics if response.groups else response.topics
        found = (
            {
                assigned.partition_index: assigned.committed_offset
                for assigned in topics[0].partitions
            }
            if topics
            else {}
        )
        return {partition: max(0, found.get(partition, 0)) for partition in partitions}

    async def _heartbeat(self, event: Event) -> None:
        response = await self._send_to_coordinator(
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
        connection = await self._connection_to(node)
        request = fetch_request(topic, topology.topic_ids.get(topic, NO_TOPIC_ID), by_node[node])
        response = await self.send_request(
            event, connection, node, request, _fetch_error, topic=topic
        )
        for found in fetched_partitions(response):
            index = found.partition_index
            if found.error_code == ErrorCode.NONE and index in self._positions:
                self._positions[index] = next_offset(found.records, self._positions[index])
            elif found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                await self.refresh_leaders(connection, topic)

    async def _commit(self, event: Event) -> None:
        commit_class = messages.OffsetCommitRequest
        topic_class = commit_class.OffsetCommitRequestTopic
        response = await self._send_to_coordinator(
            event,
            commit_class(
                group_id=self.tenant.group,
                generation_id_or_member_epoch=self._generation,
                member_id=self._member_id,
                group_instance_id=None,
                retention_time_ms=-1,
                topics=[
                    topic_class(
                        name=self.tenant.topic,
                        topic_id=self.run.topology.topic_ids.get(self.tenant.topic, NO_TOPIC_ID),
                        partitions=[
                            topic_class.OffsetCommitRequestPartition(
                                partition_index=partition,
                                committed_offset=offset,
                                committed_leader_epoch=-1,
                                committed_metadata="",
                            )
                            for partition, offset in self._positions.items()
                        ],
                    )
                ],
            ),
        )
        if _first_error(response)[0]:
            self._generation = -1


def _first_error(response: Any) -> tuple[int, int]:
    """Return the error of the whole response, or else the first of its parts."""
    codes = [getattr(response, "error_code", 0)]
    for topic in getattr(response, "topics", None) or ():
        codes += [partition.error_code for partition in topic.partitions]
    for part in (
        *(getattr(response, "groups", None) or ()),
        *(getattr(response, "coordinators", None) or ()),
    ):
        codes.append(part.error_code)
    return next((code for code in codes if code), 0), 0


def _fetch_error(response: Any) -> tuple[int, int]:
    codes = [
        response.error_code,
        *(fetched_partition.error_code for fetched_partition in fetched_partitions(response)),
    ]
    return next((code for code in codes if code), 0), 0
