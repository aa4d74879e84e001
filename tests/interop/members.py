"""A member of a consumer group in each of the three libraries, driven the same way from a test.

Each member lives in a thread of its own, as it would in a service of its own: a rebalance needs all
members at the same time, and one thread that polled them in turn would wait for itself.
"""

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import aiokafka
import confluent_kafka
import kafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AioRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AioRoundRobin
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from tests.interop.clients import (
    DEADLINE_S,
    Client,
    Deadline,
    Record,
    from_aiokafka,
    from_confluent,
    from_kafka_python,
)

POLL_MS = 20
FIRST_POLL_MS = 1000
HEARTBEAT_INTERVAL_MS = 200
T = TypeVar("T")


class Member(Protocol):
    """What a test does with a member; partitions are those of the one topic it subscribes to."""

    @property
    def rebalances(self) -> int:
        """How often it was given partitions again."""

    def poll(self) -> list[Record]:
        """Whatever has come; takes part in rebalances."""

    def assigned(self) -> set[int]:
        """The partitions it has now."""

    def commit(self) -> None:
        """Commit what was polled, and wait for the response."""

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        """Commit this offset with these words."""

    def committed(self, partition: int) -> tuple[int, str] | None:
        """The group's offset and metadata of a partition, asked of the broker."""

    def close(self) -> None:
        """Leave."""


class KafkaPythonMember:
    """A KafkaConsumer with subscribe."""

    def __init__(
        self,
        servers: str,
        topic: str,
        group: str,
        *,
        session_timeout_ms: int = 10_000,
        instance_id: str | None = None,
        assignor: str = "range",
    ) -> None:
        self.rebalances = 0
        self._topic = topic
        assignors = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
        self.consumer = kafka.KafkaConsumer(
            bootstrap_servers=servers,
            group_id=group,
            group_instance_id=instance_id,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            partition_assignment_strategy=[assignors[assignor]],
        )
        member = self

        class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc, unused-ignore]
            def on_partitions_revoked(self, revoked: Any) -> None:
                pass

            def on_partitions_assigned(self, assigned: Any) -> None:
                member.rebalances += 1

        self.consumer.subscribe([topic], listener=Listener())

    def poll(self) -> list[Record]:
        # kafka-python 3.0.12 joins before it knows the topic, and once more when it does. A poll
        # that ends amid the second join loses its answer for good: so the first ones are longer.
        timeout_ms = POLL_MS if self.consumer.assignment() else FIRST_POLL_MS
        batches = self.consumer.poll(timeout_ms=timeout_ms).values()
        return [from_kafka_python(message) for batch in batches for message in batch]

    def assigned(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment()}

    def commit(self) -> None:
        self.consumer.commit()

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        where = kafka.TopicPartition(self._topic, partition)
        self.consumer.commit({where: kafka.OffsetAndMetadata(offset, metadata, -1)})

    def committed(self, partition: int) -> tuple[int, str] | None:
        where = kafka.TopicPartition(self._topic, partition)
        found = self.consumer.committed(where, metadata=True)
        return None if found is None else (found.offset, found.metadata)

    def close(self) -> None:
        self.consumer.close()


class AioKafkaMember:
    """An AIOKafkaConsumer on an event loop in a thread of its own, so that it beats its heart."""

    def __init__(
        self,
        servers: str,
        topic: str,
        group: str,
        *,
        session_timeout_ms: int = 10_000,
        instance_id: str | None = None,
        assignor: str = "range",
    ) -> None:
        self.rebalances = 0
        self._topic = topic
        self._polling: asyncio.Future[Any] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiokafka-member")
        self._thread.start()
        member = self

        class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc, unused-ignore]
            def on_partitions_revoked(self, revoked: Any) -> None:
                pass

            def on_partitions_assigned(self, assigned: Any) -> None:
                member.rebalances += 1

        async def start() -> Any:
            consumer = aiokafka.AIOKafkaConsumer(
                bootstrap_servers=servers,
                group_id=group,
                group_instance_id=instance_id,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                session_timeout_ms=session_timeout_ms,
                heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
                partition_assignment_strategy=[
                    {"range": AioRange, "roundrobin": AioRoundRobin}[assignor]
                ],
            )
            consumer.subscribe([topic], listener=Listener())
            # start() waits for the first assignment, which may need the others to be polled.
            self._starting = asyncio.ensure_future(consumer.start())
            return consumer

        self.consumer = self._run(start)

    def _run(self, make: Callable[[], Awaitable[T]]) -> T:
        async def call() -> T:
            return await make()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(DEADLINE_S)

    def poll(self) -> list[Record]:
        async def once() -> list[Record]:
            done, _ = await asyncio.wait([self._starting], timeout=POLL_MS / 1000)
            if not done:
                return []
            await self._starting
            # In a rebalance it waits for the other members, whom the test polls in turn.
            if self._polling is None:
                self._polling = asyncio.ensure_future(self.consumer.getmany(timeout_ms=POLL_MS))
            done, _ = await asyncio.wait([self._polling], timeout=2 * POLL_MS / 1000)
            if not done:
                return []
            polled, self._polling = self._polling, None
            batches = (await polled).values()
            return [from_aiokafka(message) for batch in batches for message in batch]

        return self._run(once)

    def assigned(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment()}

    def commit(self) -> None:
        self._run(self.consumer.commit)

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        where = aiokafka.TopicPartition(self._topic, partition)
        self._run(lambda: self.consumer.commit({where: (offset, metadata)}))

    def committed(self, partition: int) -> tuple[int, str] | None:
        where = aiokafka.TopicPartition(self._topic, partition)

        async def ask() -> Any:
            # The public call gives the offset alone.
            found = await self.consumer._coordinator.fetch_committed_offsets([where])
            return found.get(where)

        found = self._run(ask)
        return None if found is None else (found.offset, found.metadata)

    def close(self) -> None:
        async def stop() -> None:
            await self._starting
            if self._polling is not None:
                self._polling.cancel()
            await self.consumer.stop()

        try:
            self._run(stop)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(DEADLINE_S)
            self._loop.close()


class ConfluentMember:
    """A librdkafka consumer with subscribe."""

    def __init__(
        self,
        servers: str,
        topic: str,
        group: str,
        *,
        session_timeout_ms: int = 10_000,
        instance_id: str | None = None,
        assignor: str = "range",
    ) -> None:
        self.rebalances = 0
        self.revoked: list[set[int]] = []
        self._topic = topic
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": session_timeout_ms,
            "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
            "partition.assignment.strategy": assignor,
        }
        if instance_id is not None:
            settings["group.instance.id"] = instance_id
        self.consumer = confluent_kafka.Consumer(settings)
        self.consumer.subscribe([topic], on_assign=self._on_assign, on_revoke=self._on_revoke)

    def _on_assign(self, _consumer: Any, _partitions: Any) -> None:
        self.rebalances += 1

    def _on_revoke(self, _consumer: Any, partitions: Any) -> None:
        self.revoked.append({each.partition for each in partitions})

    def poll(self) -> list[Record]:
        message = self.consumer.poll(POLL_MS / 1000)
        found = []
        while message is not None:
            if message.error() is not None:
                raise confluent_kafka.KafkaException(message.error())
            found.append(from_confluent(message))
            message = self.consumer.poll(0)
        return found

    def assigned(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment()}

    def commit(self) -> None:
        for each in self.consumer.commit(asynchronous=False):
            assert each.error is None, each.error

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        where = confluent_kafka.TopicPartition(self._topic, partition, offset, metadata)
        [done] = self.consumer.commit(offsets=[where], asynchronous=False)
        assert done.error is None, done.error

    def committed(self, partition: int) -> tuple[int, str] | None:
        where = confluent_kafka.TopicPartition(self._topic, partition)
        [found] = self.consumer.committed([where], timeout=DEADLINE_S)
        if found.offset == confluent_kafka.OFFSET_INVALID:
            return None
        return found.offset, found.metadata or ""

    def close(self) -> None:
        self.consumer.close()


class InThread:
    """A member whose every call runs in its own thread, which polls all the time."""

    def __init__(self, inner: Member) -> None:
        self.inner = inner
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[list[Record]] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._is_closing = False
        self._thread = threading.Thread(target=self._live, name="group-member")
        self._thread.start()

    @property
    def rebalances(self) -> int:
        return self.inner.rebalances

    def poll(self) -> list[Record]:
        """What has come since the last time; waits a moment when nothing has."""
        if self._failure is not None:
            raise self._failure
        found: list[Record] = []
        try:
            found += self._found.get(timeout=POLL_MS / 1000)
            while True:
                found += self._found.get_nowait()
        except queue.Empty:
            return found

    def assigned(self) -> set[int]:
        return self._call(self.inner.assigned)

    def commit(self) -> None:
        self._call(self.inner.commit)

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        self._call(lambda: self.inner.commit_at(partition, offset, metadata))

    def committed(self, partition: int) -> tuple[int, str] | None:
        return self._call(lambda: self.inner.committed(partition))

    def close(self) -> None:
        self._is_closing = True
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "a member does not close"
        if self._failure is not None:
            raise self._failure

    def _call(self, function: Callable[[], T]) -> T:
        response: Future[T] = Future()

        def run() -> None:
            try:
                response.set_result(function())
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                response.set_exception(error)

        self._calls.put(run)
        return response.result(DEADLINE_S)

    def _live(self) -> None:
        try:
            while not self._is_closing:
                while not self._calls.empty():
                    self._calls.get()()
                found = self.inner.poll()
                if found:
                    self._found.put(found)
        except BaseException as error:  # noqa: BLE001 - for the test's thread to raise
            self._failure = error
        finally:
            self.inner.close()


_MEMBERS: dict[str, Callable[..., Member]] = {
    "kafka-python": KafkaPythonMember,
    "aiokafka": AioKafkaMember,
    "confluent-kafka": ConfluentMember,
}


@contextmanager
def member(
    client: Client, servers: str, topic: str, group: str, **options: Any
) -> Iterator[Member]:
    """A member that leaves in the end. Options: session_timeout_ms, instance_id, assignor."""
    made = InThread(_MEMBERS[client.name](servers, topic, group, **options))
    try:
        yield made
    finally:
        made.close()


def poll_until(
    members: Sequence[Member], is_done: Callable[[], bool], awaited: str
) -> list[Record]:
    """Poll all members in turn until `is_done`; returns what came until then."""
    found: list[Record] = []
    deadline = Deadline()
    while not is_done() and deadline.holds(awaited):
        for each in members:
            found += each.poll()
    return found


def poll_records(members: Sequence[Member], record_count: int) -> list[Record]:
    """Poll all members in turn until so many records have come."""
    found: list[Record] = []
    deadline = Deadline()
    while len(found) < record_count and deadline.holds(f"{record_count} records"):
        for each in members:
            found += each.poll()
    return found


def share_out(members: Sequence[Member], partition_count: int) -> list[Record]:
    """Poll until every member has partitions and all partitions a member."""

    def is_shared_out() -> bool:
        parts = [each.assigned() for each in members]
        whole = set().union(*parts)
        return all(parts) and len(whole) == partition_count == sum(map(len, parts))

    return poll_until(members, is_shared_out, f"{partition_count} partitions shared out")
