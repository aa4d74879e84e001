"""The state that admin operations use, and shared look-ups."""

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

from greenlet import GreenletExit

from broker.audit.acknowledgements import Acknowledgements
from broker.clock import BrokerClock
from broker.cluster.cluster import Cluster
from broker.cluster.offset_by_time import first_record_from
from broker.cluster.topics import Partition, Topic
from broker.dispatch.turn_queue import TurnKind
from broker.faults.table import FaultTable
from broker.http_admin.changes import Changes
from broker.http_admin.event_feed import EventFeed
from broker.http_admin.operation import Problem, Remedy
from broker.http_admin.schema_registry import SchemaRegistry
from broker.http_admin.unknown_names import no_such
from broker.journal.journal import Journal
from broker.responses import PendingFrame
from broker.server.listener import ListenError
from broker.server.server import Server
from protocol.pacing import may_pause

_T = TypeVar("_T")


RESET = "the cluster was reset during this request"


def broker_is_down(error: ValueError, broker_id: int) -> Problem:
    """Return the problem that a broker is down and can't take over what it is to take over."""
    remedy = Remedy("start_broker", "first", {"node_id": broker_id})
    return Problem(409, str(error), remedy=remedy)


class Admin:
    """The server behind the admin port; every operation gets it as its first argument."""

    def __init__(self, server: Server, clock: BrokerClock) -> None:
        """`clock` is the clock of the server."""
        self.server = server
        self.clock = clock
        self.events = EventFeed(server.dispatcher.journal)
        """The lines of the journal for those who follow them."""
        self.changes = Changes()
        """What readers of lists have seen of them."""
        registry_url = self.cluster.config["broker.schema.registry.url"]
        self.schemas = None if registry_url is None else SchemaRegistry(registry_url)
        """The schemas of records; None without a registry."""
        self.restore: Callable[[], Awaitable[None]] | None = None
        """Loads what a reset restores besides the state of the start."""

    def check_operation(self, operation_id: str) -> None:
        """Check that the server has an operation.

        Raises:
            Problem: 501, it does not have it.
        """
        reason = self.server.refused_operation(operation_id)
        if reason is not None:
            raise Problem(501, reason)

    async def reset(self, *, has_new_ports: bool = False) -> None:
        """Reset the cluster, and load again what was loaded to be kept.

        Raises:
            Problem: 409, the ports are fixed, or there is no free one; nothing has changed then.
        """
        if has_new_ports:
            try:
                await self.server.move_ports()
            except (ValueError, ListenError) as error:
                raise Problem(409, str(error)) from error
        self.begin_again()
        await asyncio.sleep(0)  # who connects after the response is not taken for an older client
        if self.restore is not None:
            await self.restore()

    def begin_again(self) -> None:
        """Reset the cluster to the state in which it was started; connections are closed."""
        self.clock.restart()
        self.server.reset()

    @property
    def cluster(self) -> Cluster:
        """The cluster that is served."""
        return self.server.cluster

    @property
    def acknowledgements(self) -> Acknowledgements:
        """The acknowledgements that the audit has recorded."""
        return self.server.dispatcher.acknowledgements

    @property
    def faults(self) -> FaultTable:
        """The fault rules of the server."""
        return self.server.dispatcher.faults

    @property
    def journal(self) -> Journal:
        """The journal of the server."""
        return self.server.dispatcher.journal

    def now_ms(self) -> int:
        """The cluster's time."""
        return self.clock.now_ms()

    async def in_turns(self, work: Callable[[], _T], kind: TurnKind = TurnKind.READING) -> _T:
        """Carry out work whose loops say `paced`, between the requests of clients.

        Raises:
            Problem: 409, the cluster was reset during this time.
        """
        result: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

        def end(error: Exception) -> None:
            if not result.done():
                result.set_exception(error)

        def respond() -> None:
            try:
                value = work()
            except GreenletExit:
                end(Problem(409, RESET))
                raise
            except Exception as error:  # noqa: BLE001 - the caller raises it
                end(error)
            else:
                if not result.done():
                    result.set_result(value)

        waiting = self.server.dispatcher.turns.run(respond, kind=kind)
        if isinstance(waiting, PendingFrame):
            waiting.pending.attach(lambda _response: end(Problem(409, RESET)))
        try:
            return await result
        except asyncio.CancelledError:
            if isinstance(waiting, PendingFrame):
                waiting.pending.cancel()
            raise

    async def alone_in_turns(self, work: Callable[[], _T]) -> _T:
        """Carry out work that changes something or takes much memory, as `in_turns`.

        One such operation begins when the one before it has ended.
        """
        return await self.in_turns(work, TurnKind.EXCLUSIVE)

    def topic(self, name: str) -> Topic:
        """Return the topic with this name.

        Raises:
            Problem: 404, there is none.
        """
        topic = self.cluster.topics.get(name)
        if topic is None:
            known = [one.name for one in self.cluster.topics.all() if not one.is_internal]
            raise no_such("topic", name, known, "list_topics")
        return topic

    def partition(self, topic_name: str, partition_index: int) -> Partition:
        """Return a partition of a topic.

        Raises:
            Problem: 404, there is none.
        """
        topic = self.topic(topic_name)
        partition = topic.partition(partition_index)
        if partition is None:
            count = len(topic.partitions)
            detail = f"topic {topic_name!r} has partitions 0 to {count - 1}, not {partition_index}"
            raise Problem(404, detail)
        return partition

    def partitions(self, topic_name: str, partition_index: int | None) -> list[Partition]:
        """Return one partition of a topic, or all of them without an index.

        Raises:
            Problem: 404, there is no such topic or partition.
        """
        if partition_index is None:
            return list(self.topic(topic_name).partitions)
        return [self.partition(topic_name, partition_index)]

    @may_pause
    def offset_from_time(self, partition: Partition, timestamp: int) -> int:
        """Return where the records from a timestamp in ms on begin; without any the log's end.

        Raises:
            Problem: 409, a batch is damaged.
        """
        settings = self.topic(partition.topic_name).on_broker(partition.leader_id).segment_settings
        try:
            found = first_record_from(partition, timestamp, settings)
        except ValueError as error:
            raise Problem(409, f"a batch is damaged: {error}") from error
        return found.offset if found.offset >= 0 else partition.log.log_end_offset

    def check_broker(self, node_id: int) -> None:
        """Check that a broker exists.

        Raises:
            Problem: 404, there is none.
        """
        if node_id not in self.cluster.brokers:
            known = ", ".join(map(str, self.cluster.brokers))
            raise Problem(404, f"there is no broker {node_id}; there are {known}")

    def topic_name(self, topic_id: UUID) -> str | None:
        """Return the name of a topic by its id, for the journal."""
        return self.cluster.topics.name_of(topic_id)


def bytes_for_json(value: bytes | None, encoding: str = "auto") -> Any:
    """Encode bytes for JSON: `{"text": ...}` if they are UTF-8, else `{"base64": ...}`."""
    if value is None:
        return None
    if encoding == "auto":
        with suppress(UnicodeDecodeError):
            return {"text": value.decode()}
    return {"base64": b64encode(value).decode()}
