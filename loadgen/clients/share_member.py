"""Members of a share group (KIP-932); each event is a poll, which accepts what the last one got."""

import asyncio
from base64 import urlsafe_b64encode
from uuid import UUID, uuid4

from client.errors import ConnectionLostError
from loadgen import clock
from loadgen.clients.coordinator_client import CoordinatorClient
from loadgen.clients.fetch_responses import MAX_WAIT_MS, NO_TOPIC_ID, RESPONSE_BYTES_MAX
from loadgen.clients.load_client import NO_EVENT, Event, Run
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

RECORDS_MAX = 500
_WAIT_STEP_S = 0.02
_ACCEPT = 1
_NO_SESSION = {ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH}
_FINAL_EPOCH = -1
_Fetch = messages.ShareFetchRequest
_Acknowledge = messages.ShareAcknowledgeRequest
Acquired = tuple[int, int, int]
"""Partition, first and last offset."""


class ShareMember(CoordinatorClient):
    """Reads in a share session with each leader of its partitions."""

    api = ApiKey.SHARE_FETCH

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._member_id = ""
        self._epoch = -1
        """The member epoch; negative outside of the group."""
        self._interval_us = self._heartbeat_us = 0
        self._assigned: tuple[int, ...] = ()
        self._sessions: dict[int, int] = {}
        """The epoch of the next request in the session with each node."""
        self._acquired: dict[int, list[Acquired]] = {}
        """By node, what the next request acknowledges."""
        self._polls = 0

    async def disconnect(self) -> None:
        """See `SequentialClient`; the broker releases what the member has acquired."""
        await super().disconnect()
        self._epoch = -1
        self._sessions.clear()
        self._acquired.clear()

    def check(self, now_us: int) -> None:
        """Send heartbeats while no poll is due."""
        is_due = now_us - self._heartbeat_us > self._interval_us
        if self._member_id and is_due and self.is_idle and not self.run.is_over:
            self.submit(Event(NO_EVENT, now_us, now_us, 0))

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        await self._stay_in_group(event)
        if event.event_id == NO_EVENT:
            return
        while not self._assigned and not self.run.is_over:
            await asyncio.sleep(_WAIT_STEP_S)
            await self._stay_in_group(event)
        if not self.run.is_over:
            await self._poll(event)

    async def _stay_in_group(self, event: Event) -> None:
        if self._epoch < 0 or clock.now_us() - self._heartbeat_us > self._interval_us:
            await self._heartbeat(event)

    async def _heartbeat(self, event: Event) -> None:
        is_joining = self._epoch < 0
        self._member_id = self._member_id or _new_id()
        response = await self.send_to_coordinator(
            event,
            messages.ShareGroupHeartbeatRequest(
                group_id=self.group,
                member_id=self._member_id,
                member_epoch=0 if is_joining else self._epoch,
                rack_id=None,
                subscribed_topic_names=[self.tenant.topic] if is_joining else None,
            ),
        )
        if response.error_code:
            self._member_id = ""  # a new member: the broker may keep the old one for a while
            raise ConnectionLostError(f"ShareGroupHeartbeat: error {response.error_code}")
        self._epoch, self._heartbeat_us = response.member_epoch, clock.now_us()
        self._interval_us = response.heartbeat_interval_ms * 1000
        if response.assignment is not None:
            assigned = tuple(
                partition
                for topic in response.assignment.topic_partitions
                if topic.topic_id == self._topic_id
                for partition in topic.partitions
            )
            if assigned != self._assigned:
                await self._end_sessions(event)
                self._assigned = assigned

    @property
    def _topic_id(self) -> UUID:
        return self.run.topology.topic_ids.get(self.tenant.topic, NO_TOPIC_ID)

    async def _poll(self, event: Event) -> None:
        topic = self.tenant.topic
        nodes = sorted({self.leader(topic, partition) for partition in self._assigned})
        node = nodes[self._polls % len(nodes)]
        self._polls += 1
        connection = await self.connection_to(node)
        epoch = self._sessions.get(node, 0)
        acquired = self._acquired.pop(node, [])
        response = await self.send_request(
            event, connection, node, self._fetch(node, epoch, acquired), _outcome, topic=topic
        )
        if response.error_code:
            self._sessions.pop(node, None)
            if response.error_code not in _NO_SESSION:
                raise ConnectionLostError(f"ShareFetch: error {response.error_code}")
            return
        self._sessions[node] = epoch % (2**31 - 1) + 1
        for found_topic in response.responses:
            for found in found_topic.partitions:
                if found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    await self.refresh_leaders(connection, topic)
                self._acquired.setdefault(node, []).extend(
                    (found.partition_index, records.first_offset, records.last_offset)
                    for records in found.acquired_records or ()
                )

    def _fetch(
        self, node: int, epoch: int, acquired: list[Acquired]
    ) -> "messages.ShareFetchRequest":
        """Return the next request of a session: the first one names all partitions."""
        topic_class = _Fetch.FetchTopic
        batch_class = topic_class.FetchPartition.AcknowledgementBatch
        own = [p for p in self._assigned if self.leader(self.tenant.topic, p) == node]
        named = own if epoch == 0 else sorted({partition for partition, _, _ in acquired})
        partitions = [
            topic_class.FetchPartition(
                partition_index=partition,
                partition_max_bytes=0,
                acknowledgement_batches=[
                    batch_class(first_offset=first, last_offset=last, acknowledge_types=[_ACCEPT])
                    for index, first, last in acquired
                    if index == partition
                ],
            )
            for partition in named
        ]
        return _Fetch(
            group_id=self.group,
            member_id=self._member_id,
            share_session_epoch=epoch,
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=RESPONSE_BYTES_MAX,
            max_records=RECORDS_MAX,
            batch_size=RECORDS_MAX,
            topics=[topic_class(topic_id=self._topic_id, partitions=partitions)]
            if partitions
            else [],
            forgotten_topics_data=[],
        )

    async def _end_sessions(self, event: Event) -> None:
        """Acknowledge what was acquired, and end the sessions: other partitions begin new ones."""
        topic_class = _Acknowledge.AcknowledgeTopic
        batch_class = topic_class.AcknowledgePartition.AcknowledgementBatch
        for node in list(self._sessions):
            acquired = self._acquired.pop(node, [])
            partitions = [
                topic_class.AcknowledgePartition(
                    partition_index=partition,
                    acknowledgement_batches=[
                        batch_class(
                            first_offset=first, last_offset=last, acknowledge_types=[_ACCEPT]
                        )
                        for index, first, last in acquired
                        if index == partition
                    ],
                )
                for partition in sorted({partition for partition, _, _ in acquired})
            ]
            topics = [topic_class(topic_id=self._topic_id, partitions=partitions)]
            await self.send_request(
                event,
                await self.connection_to(node),
                node,
                _Acknowledge(
                    group_id=self.group,
                    member_id=self._member_id,
                    share_session_epoch=_FINAL_EPOCH,
                    topics=topics if partitions else [],
                ),
            )
        self._sessions.clear()


def _new_id() -> str:
    """Return a member id; brokers demand that it is a UUID in the spelling of Kafka's `Uuid`."""
    return urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")


def _outcome(response: "messages.ShareFetchResponse") -> tuple[int, int]:
    codes = [response.error_code]
    for topic in response.responses:
        for partition in topic.partitions:
            codes += [partition.error_code, partition.acknowledge_error_code]
    return next((code for code in codes if code), 0), 0
