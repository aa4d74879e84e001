"""The base of clients that use a consumer group: its coordinator, and its committed offsets."""

import asyncio
from collections.abc import Iterable, Mapping

from client.errors import ConnectionLostError
from client.resources import Address
from loadgen.clients.fetch_responses import NO_TOPIC_ID, fetched_partitions
from loadgen.clients.group_requests import (
    find_coordinator_request,
    first_error,
    found_coordinator,
    offset_fetch_request,
    offsets_in,
)
from loadgen.clients.load_client import Event, Run
from loadgen.clients.load_connection import LoadConnection, ResponseT
from loadgen.clients.sequential_client import BACKOFF_S, SequentialClient
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.errors import ErrorCode

_COORDINATOR_MOVED = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}


class CoordinatorClient(SequentialClient):
    """Sends requests to the coordinator of a group; a subclass implements `handle`."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._connections: dict[int, LoadConnection] = {}
        self._coordinator = -1

    @property
    def group(self) -> str:
        """The group id."""
        return self.tenant.group

    @property
    def consumed(self) -> str:
        """The topic that is consumed."""
        return self.tenant.topic

    async def disconnect(self) -> None:
        """See `SequentialClient`."""
        self._coordinator = -1  # it may have moved
        while self._connections:
            self._connections.popitem()[1].abort()

    async def connection_to(self, node: int) -> LoadConnection:
        """Return the connection to a node.

        Raises:
            ClientError: it cannot be reached, or the run ended.
        """
        # Not patient: another node may be the leader or coordinator instead.
        connection, _ = await self.connected(self._connections, lambda _: node, is_patient=False)
        return connection

    async def send_to_coordinator(
        self,
        event: Event,
        request: "messages.Request[ResponseT]",
        timeout_s: float | None = None,
    ) -> ResponseT:
        """Send a request to the coordinator; find the coordinator first if it is unknown.

        Raises:
            ClientError: there is no response, or no coordinator.
        """
        if self._coordinator < 0:
            self._coordinator = await self._find_coordinator(event)
        connection = await self.connection_to(self._coordinator)
        response = await self.send_request(
            event, connection, self._coordinator, request, _outcome, timeout_s=timeout_s
        )
        if first_error(response) in _COORDINATOR_MOVED:
            self._coordinator = -1
            raise ConnectionLostError("the coordinator moved")
        return response

    async def _find_coordinator(self, event: Event) -> int:
        connection, node = await self.connected(self._connections, self._any_node)
        request = find_coordinator_request(self.group)
        response = await self.send_request(event, connection, node, request, _outcome)
        found = found_coordinator(response)
        if found.error_code:
            await asyncio.sleep(BACKOFF_S)
            raise ConnectionLostError("no coordinator")
        self.run.topology.brokers[found.node_id] = Address(found.host, found.port)
        return found.node_id

    def _any_node(self, failures: int) -> int:
        nodes = sorted(self.run.topology.brokers)
        return nodes[failures % len(nodes)]

    async def committed_offsets(
        self, event: Event, partitions: Iterable[int], *, require_stable: bool = False
    ) -> dict[int, int]:
        """Return the committed offsets of partitions; -1 without one.

        Raises:
            ClientError: there is no response, or an error; with `require_stable` also while a
                transaction that commits one of these offsets is open.
        """
        topic_id = self.run.topology.topic_ids.get(self.consumed, NO_TOPIC_ID)
        request = offset_fetch_request(
            self.group, self.consumed, topic_id, list(partitions), require_stable=require_stable
        )
        response = await self.send_to_coordinator(event, request)
        error_code = first_error(response)
        if require_stable and error_code:
            raise ConnectionLostError(f"OffsetFetch: error {error_code}")
        return offsets_in(response)

    async def commit_offsets(
        self,
        event: Event,
        offsets: Mapping[int, int],
        *,
        generation_id: int = -1,
        member_id: str = "",
    ) -> int:
        """Commit offsets by partition; return the first error code.

        Raises:
            ClientError: there is no response.
        """
        commit_class = messages.OffsetCommitRequest
        topic_class = commit_class.OffsetCommitRequestTopic
        response = await self.send_to_coordinator(
            event,
            commit_class(
                group_id=self.group,
                generation_id_or_member_epoch=generation_id,
                member_id=member_id,
                group_instance_id=None,
                retention_time_ms=-1,
                topics=[
                    topic_class(
                        name=self.consumed,
                        topic_id=self.run.topology.topic_ids.get(self.consumed, NO_TOPIC_ID),
                        partitions=[
                            topic_class.OffsetCommitRequestPartition(
                                partition_index=partition,
                                committed_offset=offset,
                                committed_leader_epoch=-1,
                                committed_metadata="",
                            )
                            for partition, offset in offsets.items()
                        ],
                    )
                ],
            ),
        )
        return first_error(response)


def _outcome(response: "messages.Message") -> tuple[int, int]:
    return first_error(response), 0


def fetch_error(response: "messages.FetchResponse") -> tuple[int, int]:
    """Return the first error of a Fetch response, for `send_request`."""
    codes = [
        response.error_code,
        *(fetched_partition.error_code for fetched_partition in fetched_partitions(response)),
    ]
    return next((code for code in codes if code), 0), 0
