"""aiokafka: asyncio, here on a loop that runs while the wrapper is called.

Its settings and messages have the names of kafka-python, from which it descends.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import aiokafka
import aiokafka.admin
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.interface import (
    Client,
    Config,
    Delivery,
    GroupMember,
    Headers,
    Producer,
    ProducerOptions,
    Record,
    Report,
)
from scenarios.clients.kafka_python import (
    POLL_MS,
    failure,
    member_settings,
    producer_settings,
    record_of,
)
from scenarios.clients.polled_loop import PolledLoop

_ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
_ABORT_S = 0.2


class AioKafkaProducer(Producer):
    """An `AIOKafkaProducer`; it works while one of these methods runs."""

    def __init__(self, servers: str, settings: Config) -> None:
        self._loop = PolledLoop()
        self._unfinished: set[asyncio.Future[Any]] = set()

        async def start() -> Any:
            producer = aiokafka.AIOKafkaProducer(bootstrap_servers=servers, **settings)
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
            return producer

        try:
            self._producer = self._loop.run(start())
        except BaseException:
            self._loop.close()
            raise

    def send(
        self,
        topic: str,
        value: bytes | None,
        report: Report,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """See `Producer`; it blocks while the topic is unknown or the partition's batch is full."""
        record = Record(value, key, headers, 0, timestamp_ms)
        self._loop.run(self._send(topic, record, partition, report))

    def send_records(
        self, topic: str, records: Sequence[Record], report: Callable[[int, Delivery], None]
    ) -> None:
        """See `Producer`; one coroutine sends all of them, which fills the batches."""

        async def send() -> None:
            for index, record in enumerate(records):
                report_it = functools.partial(report, index)
                await self._send(topic, record, record.partition, report_it)

        self._loop.run(send())

    async def _send(
        self, topic: str, record: Record, partition: int | None, report: Report
    ) -> None:
        def settle(future: "asyncio.Future[Any]") -> None:
            self._unfinished.discard(future)
            if future.cancelled():
                report(failure(TimeoutError("the producer was aborted")))
            elif isinstance(error := future.exception(), Exception):
                report(failure(error))
            else:
                metadata = future.result()
                report(Delivery() if metadata is None else Delivery(metadata.offset))

        try:
            future = await self._producer.send(
                topic,
                value=record.value,
                key=record.key,
                partition=partition,
                timestamp_ms=record.timestamp_ms,
                headers=list(record.headers),
            )
        except Exception as error:  # noqa: BLE001 - any error is the outcome of the record
            report(failure(error))
            return
        self._unfinished.add(future)
        future.add_done_callback(settle)

    def poll(self, timeout_s: float) -> None:
        """See `Producer`."""
        self._loop.poll(timeout_s)

    def flush(self, timeout_s: float = DEADLINE_S) -> None:
        """See `Producer`."""
        if not self._unfinished:
            return
        _, left = self._loop.run(asyncio.wait(self._unfinished, timeout=timeout_s))
        if left:
            raise TimeoutError(f"{len(left)} records have no outcome")

    def close(self) -> None:
        """See `Producer`."""
        self._loop.run(self._producer.stop())
        self._loop.close()

    def abort(self) -> None:
        """See `Producer`; aiokafka itself can only wait for the outcomes."""
        with contextlib.suppress(TimeoutError):
            self._loop.run(self._producer.stop(), _ABORT_S)
        self._loop.close()


class AioKafkaMember(GroupMember):
    """An `AIOKafkaConsumer` with a subscription; it sends heartbeats while it is polled."""

    def __init__(self, topic: str, settings: Config) -> None:
        self.rebalances = 0
        self._topic = topic
        self._polling: asyncio.Future[Any] | None = None
        self._loop = PolledLoop()
        member = self

        class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc, unused-ignore]
            def on_partitions_revoked(self, revoked: Any) -> None:
                pass

            def on_partitions_assigned(self, assigned: Any) -> None:
                member.rebalances += 1

        async def start() -> Any:
            consumer = aiokafka.AIOKafkaConsumer(**settings)
            consumer.subscribe([topic], listener=Listener())
            # start() waits for the first assignment, for which the other members must be polled.
            self._starting = asyncio.ensure_future(consumer.start())
            return consumer

        self.consumer: Any = self._loop.run(start())

    def poll(self, record_count_max: int | None = None) -> list[Record]:
        """See `GroupMember`."""
        return self._loop.run(self._poll(record_count_max))

    async def _poll(self, record_count_max: int | None) -> list[Record]:
        done, _ = await asyncio.wait([self._starting], timeout=POLL_MS / 1000)
        if not done:
            return []
        await self._starting
        # During a rebalance it waits for the other members, which the caller polls in turn.
        if self._polling is None:
            self._polling = asyncio.ensure_future(
                self.consumer.getmany(timeout_ms=POLL_MS, max_records=record_count_max)
            )
        done, _ = await asyncio.wait([self._polling], timeout=2 * POLL_MS / 1000)
        if not done:
            return []
        polled, self._polling = self._polling, None
        batches = (await polled).values()
        return [record_of(message) for batch in batches for message in batch]

    def assigned(self) -> set[int]:
        """See `GroupMember`."""
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self) -> None:
        """See `GroupMember`."""
        self._loop.run(self.consumer.commit(), DEADLINE_S)

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        """See `GroupMember`."""
        key = aiokafka.TopicPartition(self._topic, partition)
        self._loop.run(self.consumer.commit({key: (offset, metadata)}), DEADLINE_S)

    def committed(self, partition: int) -> tuple[int, str] | None:
        """See `GroupMember`."""
        key = aiokafka.TopicPartition(self._topic, partition)
        # The public method returns the offset alone.
        fetch = self.consumer._coordinator.fetch_committed_offsets([key])  # noqa: SLF001
        found = self._loop.run(fetch, DEADLINE_S).get(key)
        return None if found is None else (found.offset, found.metadata)

    def close(self) -> None:
        """See `GroupMember`."""

        async def stop() -> None:
            await self._starting
            if self._polling is not None:
                self._polling.cancel()
            await self.consumer.stop()

        try:
            self._loop.run(stop(), DEADLINE_S)
        finally:
            self._loop.close()


class AioKafka(Client):
    """https://pypi.org/project/aiokafka/."""

    name = "aiokafka"

    def create_topic(
        self, servers: str, topic: str, partition_count: int, replication_factor: int
    ) -> None:
        """See `Client`."""

        async def create() -> Any:
            admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=servers)
            await admin.start()
            try:
                new_topic = aiokafka.admin.NewTopic(topic, partition_count, replication_factor)
                return await admin.create_topics([new_topic])
            finally:
                await admin.close()

        for name, error_code, *_ in asyncio.run(create()).topic_errors:
            if error_code:
                raise RuntimeError(f"topic {name} was not created: error {error_code}")

    def producer(
        self, servers: str, config: Config | None = None, options: ProducerOptions | None = None
    ) -> Producer:
        """See `Client`."""
        settings = producer_settings(options or ProducerOptions())
        return AioKafkaProducer(servers, {**settings, **(config or {})})

    def join(
        self,
        servers: str,
        topic: str,
        group: str,
        *,
        session_timeout_ms: int = 10_000,
        instance_id: str | None = None,
        assignor: str = "range",
    ) -> GroupMember:
        """See `Client`."""
        settings = member_settings(servers, group, session_timeout_ms, instance_id)
        settings["partition_assignment_strategy"] = [_ASSIGNORS[assignor]]
        return AioKafkaMember(topic, settings)

    def read(
        self, servers: str, topic: str, partition_count: int, record_count: int
    ) -> list[Record]:
        """See `Client`."""

        async def run() -> list[Record]:
            async with aiokafka.AIOKafkaConsumer(
                bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False
            ) as consumer:
                consumer.assign([aiokafka.TopicPartition(topic, p) for p in range(partition_count)])
                return await poll_aiokafka(consumer, record_count)

        return asyncio.run(run())


AIOKAFKA = AioKafka()


async def poll_aiokafka(consumer: Any, record_count: int) -> list[Record]:
    """Poll until there are at least `record_count` records."""
    records: list[Record] = []
    deadline = Deadline()
    while len(records) < record_count and deadline.holds(f"{record_count} records"):
        for batch in (await consumer.getmany(timeout_ms=200)).values():
            records += [record_of(message) for message in batch]
    return records
