"""Members of a group of the consumer protocol (KIP-848): the broker assigns the partitions."""

from typing import Any
from uuid import uuid4

from client.errors import ConnectionLostError
from loadgen import clock
from loadgen.clients.fetch_responses import NO_TOPIC_ID
from loadgen.clients.group_clients import SESSION_TIMEOUT_MS, GroupMember
from loadgen.clients.load_client import Event, Run
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.errors import ErrorCode

_JOIN_EPOCH = 0
_FENCED = {ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID}
_Heartbeat = messages.ConsumerGroupHeartbeatRequest


class ConsumerMember(GroupMember):
    """Joins with a heartbeat, and confirms each change of its partitions with the next one."""

    waits_for_partitions = True  # other members give them up with their next heartbeat

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._is_confirmed = True

    async def join(self, event: Event) -> None:
        """See `GroupMember`."""
        self._member_id = self._member_id or str(uuid4())
        self._positions.clear()
        response = await self._send(
            event,
            _JOIN_EPOCH,
            subscribed_topic_names=[self.tenant.topic],
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            topic_partitions=[],
        )
        if response.error_code:
            raise ConnectionLostError(f"ConsumerGroupHeartbeat: error {response.error_code}")
        await self._follow(event, response)

    async def heartbeat(self, event: Event) -> None:
        """See `GroupMember`."""
        owned = None if self._is_confirmed else self._owned()
        response = await self._send(event, self._generation, topic_partitions=owned)
        if response.error_code:
            self._generation = -1
            if response.error_code not in _FENCED:
                raise ConnectionLostError(f"ConsumerGroupHeartbeat: error {response.error_code}")
            return
        self._is_confirmed = True
        await self._follow(event, response)

    async def _follow(
        self, event: Event, response: "messages.ConsumerGroupHeartbeatResponse"
    ) -> None:
        """Take over epoch, interval and partitions of a response."""
        self._generation, self._heartbeat_us = response.member_epoch, clock.now_us()
        self.heartbeat_us = response.heartbeat_interval_ms * 1000
        if response.assignment is None:
            return
        topic_id = self.run.topology.topic_ids.get(self.tenant.topic, NO_TOPIC_ID)
        assigned = [
            partition
            for topic in response.assignment.topic_partitions
            if topic.topic_id == topic_id
            for partition in topic.partitions
        ]
        await self.start_at_committed(event, assigned)
        self._is_confirmed = False
        self._heartbeat_us = 0  # confirm at once

    def _owned(self) -> "list[messages.ConsumerGroupHeartbeatRequest.TopicPartitions]":
        topic_id = self.run.topology.topic_ids.get(self.tenant.topic, NO_TOPIC_ID)
        if not self._positions:
            return []
        return [_Heartbeat.TopicPartitions(topic_id=topic_id, partitions=sorted(self._positions))]

    async def _send(
        self, event: Event, epoch: int, **fields: Any
    ) -> "messages.ConsumerGroupHeartbeatResponse":
        return await self.send_to_coordinator(
            event,
            _Heartbeat(
                group_id=self.group,
                member_id=self._member_id,
                member_epoch=epoch,
                instance_id=None,
                rack_id=None,
                **{
                    "rebalance_timeout_ms": -1,
                    "subscribed_topic_names": None,
                    "subscribed_topic_regex": None,
                    "server_assignor": None,
                    "topic_partitions": None,
                    **fields,
                },
            ),
        )
