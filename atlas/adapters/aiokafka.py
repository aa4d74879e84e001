"""The adapter of aiokafka."""

import asyncio
import contextlib
import logging
from typing import Any, TextIO

import aiokafka
import aiokafka.errors
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.structs import TopicPartition

from atlas.adapters.adapter import (
    Failure,
    UnansweredError,
    UnsupportedError,
    encoded,
    main,
    mapped,
    offsets_of,
)
from atlas.adapters.aiokafka_admin import CALL_MS, AioKafkaAdmin
from atlas.adapters.kafka_python_names import (
    CONSUMER,
    PRODUCER,
    connection_settings,
    records_of,
    topic_partitions,
)

_LACKED = ("delivery_timeout_ms", "max_in_flight", "retries")
_PRODUCER = {name: own for name, own in PRODUCER.items() if name not in _LACKED}
_ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
_FORGET_S = 0.3


class AioKafkaAdapter(AioKafkaAdmin):
    """https://pypi.org/project/aiokafka/."""

    client = "aiokafka"
    version = aiokafka.__version__
    supports = ("producer", "idempotence", "transactions", "consumer", "group", "admin")

    def __init__(self, output: TextIO) -> None:
        super().__init__(output)
        self._unfinished: dict[Any, set[asyncio.Future[Any]]] = {}
        self._send_ms = CALL_MS

    def failure_of(self, error: BaseException) -> Failure:
        """Classify by the attribute `retriable`; a timeout has its own class."""
        kind = "unknown"
        if isinstance(
            error, aiokafka.errors.KafkaTimeoutError | aiokafka.errors.RequestTimedOutError
        ):
            kind = "timeout"
        elif isinstance(error, aiokafka.errors.UnknownError):
            kind = "unknown"
        elif isinstance(error, aiokafka.errors.KafkaError):
            kind = "retriable" if error.retriable else "fatal"
        return Failure(type(error).__name__, str(error), kind)

    # Producers -----------------------------------------------------------------------------

    def producer(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create and start a producer."""
        self._send_ms = timeout_ms = settings.get("delivery_timeout_ms", CALL_MS)
        access = connection_settings(settings)
        known, ignored = mapped(settings, _PRODUCER)
        if known.get("acks") == -1:
            known["acks"] = "all"

        async def start() -> None:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=self.bootstrap, **known, **access
            )
            self._unfinished[producer] = set()
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
            self.handles[id] = producer

        self._thread.run(start(), timeout_ms)
        return {"ignored": ignored}

    def send(
        self,
        number: int,
        producer: Any,
        topic: str,
        value: str | None,
        key: str | None,
        partition: int | None,
    ) -> None:
        """Send a record; it waits while the topic is unknown or the batch is full."""
        handle = producer
        data, key_data = encoded(value, key)

        def settle(future: "asyncio.Future[Any]") -> None:
            self._unfinished[handle].discard(future)
            if future.cancelled():
                return
            error = future.exception()
            if error is not None:
                self.undelivered(number, self.failure_of(error))
            else:
                metadata = future.result()
                self.delivered(number, None if metadata is None else metadata.offset)

        async def send() -> None:
            future = await handle.send(topic, value=data, key=key_data, partition=partition)
            self._unfinished[handle].add(future)
            future.add_done_callback(settle)

        self._thread.run(send(), self._send_ms)

    def flush(self, producer: Any, timeout_ms: int) -> None:
        """Wait for the outcome of all records."""
        unfinished = self._unfinished[producer]

        async def wait() -> None:
            if unfinished:
                _, left = await asyncio.wait(set(unfinished), timeout=timeout_ms / 1000)
                if left:
                    raise UnansweredError

        self._thread.run(wait(), timeout_ms)

    def begin_transaction(self, producer: Any) -> None:
        """Begin a transaction."""
        self._thread.run(producer.begin_transaction(), CALL_MS)

    def commit_transaction(self, producer: Any, timeout_ms: int) -> None:
        """Commit."""
        self._thread.run(producer.commit_transaction(), timeout_ms)

    def abort_transaction(self, producer: Any, timeout_ms: int) -> None:
        """Abort."""
        self._thread.run(producer.abort_transaction(), timeout_ms)

    def send_offsets(
        self, producer: Any, consumer: Any, offsets: dict[str, dict[str, int]], timeout_ms: int
    ) -> None:
        """Add offsets of the consumer's group to the transaction."""
        committed = offsets_of(TopicPartition, offsets)
        group = consumer._group_id  # noqa: SLF001 - there is no public name
        sending = producer.send_offsets_to_transaction(committed, group)
        self._thread.run(sending, timeout_ms)

    # Consumers -----------------------------------------------------------------------------

    def consumer(
        self,
        id: str,
        settings: dict[str, Any],
        topics: list[str] | None = None,
        assign: dict[str, list[int]] | None = None,
    ) -> dict[str, Any]:
        """Create and start a consumer of topics, or of assigned partitions."""
        if settings.get("group_protocol") not in {None, "classic"}:
            raise UnsupportedError
        settings.pop("group_protocol", None)
        assignor = settings.pop("assignor", None)
        access = connection_settings(settings)
        known, ignored = mapped(settings, CONSUMER)
        if assignor is not None:
            if assignor not in _ASSIGNORS:
                raise UnsupportedError
            known["partition_assignment_strategy"] = [_ASSIGNORS[assignor]]

        async def start() -> None:
            consumer = aiokafka.AIOKafkaConsumer(
                *(topics or ()), bootstrap_servers=self.bootstrap, **known, **access
            )
            if assign:
                consumer.assign(topic_partitions(TopicPartition, assign))
            try:
                await consumer.start()
            except BaseException:
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(consumer.stop(), _FORGET_S)
                raise
            self.handles[id] = consumer

        self._thread.run(start(), settings.get("request_timeout_ms", 0) + 2_000)
        return {"ignored": ignored}

    def poll(self, consumer: Any, records_max: int, timeout_ms: int) -> dict[str, Any]:
        """Return the records that have arrived."""
        polling = consumer.getmany(timeout_ms=timeout_ms, max_records=records_max)
        return {"records": records_of(self._thread.run(polling, timeout_ms + 500))}

    def commit(self, consumer: Any, timeout_ms: int) -> None:
        """Commit the positions."""
        self._thread.run(consumer.commit(), timeout_ms)

    def position(self, consumer: Any, topic: str, partition: int) -> dict[str, Any]:
        """Return the position."""
        asking = consumer.position(TopicPartition(topic, partition))
        return {"offset": self._thread.run(asking, CALL_MS)}

    def committed(self, consumer: Any, topic: str, partition: int) -> dict[str, Any]:
        """Return the committed offset."""
        asking = consumer.committed(TopicPartition(topic, partition))
        return {"offset": self._thread.run(asking, CALL_MS)}

    def seek(self, consumer: Any, topic: str, offset: int, partition: int) -> None:
        """Set the position."""

        async def seek() -> None:
            consumer.seek(TopicPartition(topic, partition), offset)

        self._thread.run(seek(), CALL_MS)

    # Closing -------------------------------------------------------------------------------

    def stop(self, handle: Any, timeout_ms: int) -> None:
        """See `Adapter`."""
        self._thread.run(_stop(handle), timeout_ms)

    def forget(self, handle: Any) -> None:
        """See `Adapter`: what still runs on the loop is cancelled."""

        async def cancel() -> None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(_stop(handle), _FORGET_S)
            current = asyncio.current_task()
            for task in asyncio.all_tasks():
                if task is not current and "aiokafka" in repr(task.get_coro()):
                    task.cancel()

        asyncio.run_coroutine_threadsafe(cancel(), self._thread.loop).result()


async def _stop(handle: Any) -> None:
    await (handle.close() if hasattr(handle, "close") else handle.stop())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d %(name)s %(message)s")
    main(AioKafkaAdapter)
