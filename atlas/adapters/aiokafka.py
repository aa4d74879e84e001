"""The adapter of aiokafka."""

import asyncio
import contextlib
import logging
import time
from typing import Any, TextIO

import aiokafka
import aiokafka.admin
import aiokafka.errors
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.structs import TopicPartition

from atlas.adapters.adapter import (
    Adapter,
    Failure,
    UnansweredError,
    UnsupportedError,
    main,
    mapped,
)
from atlas.adapters.kafka_python_names import (
    ADMIN,
    CONSUMER,
    PRODUCER,
    connection_settings,
    records_of,
    topic_partitions,
)
from atlas.adapters.loop_thread import LoopThread

_LACKED = ("delivery_timeout_ms", "max_in_flight", "retries")
_PRODUCER = {name: own for name, own in PRODUCER.items() if name not in _LACKED}
_ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
_CALL_MS = 5_000
_FORGET_S = 0.3


class AioKafkaAdapter(Adapter):
    """https://pypi.org/project/aiokafka/."""

    client = "aiokafka"
    version = aiokafka.__version__
    supports = ("producer", "idempotence", "transactions", "consumer", "group", "admin")

    def __init__(self, output: TextIO) -> None:
        super().__init__(output)
        self._thread = LoopThread()
        self._unfinished: dict[Any, set[asyncio.Future[Any]]] = {}
        self._send_ms = _CALL_MS

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
        self._send_ms = timeout_ms = settings.get("delivery_timeout_ms", _CALL_MS)
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
        producer: str,
        topic: str,
        value: str | None = None,
        key: str | None = None,
        partition: int | None = None,
    ) -> None:
        """Send a record; it waits while the topic is unknown or the batch is full."""
        handle = self.handles[producer]
        data, key_data = (None if text is None else text.encode() for text in (value, key))

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

    def flush(self, producer: str, timeout_ms: int) -> None:
        """Wait for the outcome of all records."""
        unfinished = self._unfinished[self.handles[producer]]

        async def wait() -> None:
            if unfinished:
                _, left = await asyncio.wait(set(unfinished), timeout=timeout_ms / 1000)
                if left:
                    raise UnansweredError

        self._thread.run(wait(), timeout_ms)

    def begin_transaction(self, producer: str) -> None:
        """Begin a transaction."""
        self._thread.run(self.handles[producer].begin_transaction(), _CALL_MS)

    def commit_transaction(self, producer: str, timeout_ms: int) -> None:
        """Commit."""
        self._thread.run(self.handles[producer].commit_transaction(), timeout_ms)

    def abort_transaction(self, producer: str, timeout_ms: int) -> None:
        """Abort."""
        self._thread.run(self.handles[producer].abort_transaction(), timeout_ms)

    def send_offsets(
        self, producer: str, consumer: str, offsets: dict[str, dict[str, int]], timeout_ms: int
    ) -> None:
        """Add offsets of the consumer's group to the transaction."""
        committed = {
            TopicPartition(topic, int(index)): offset
            for topic, partitions in offsets.items()
            for index, offset in partitions.items()
        }
        group = self.handles[consumer]._group_id  # noqa: SLF001 - there is no public name
        sending = self.handles[producer].send_offsets_to_transaction(committed, group)
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

    def poll(self, consumer: str, records_max: int, timeout_ms: int) -> dict[str, Any]:
        """Return the records that have arrived."""
        polling = self.handles[consumer].getmany(timeout_ms=timeout_ms, max_records=records_max)
        return {"records": records_of(self._thread.run(polling, timeout_ms + 500))}

    def commit(self, consumer: str, timeout_ms: int = _CALL_MS) -> None:
        """Commit the positions."""
        self._thread.run(self.handles[consumer].commit(), timeout_ms)

    def position(self, consumer: str, topic: str, partition: int = 0) -> dict[str, Any]:
        """Return the position."""
        asking = self.handles[consumer].position(TopicPartition(topic, partition))
        return {"offset": self._thread.run(asking, _CALL_MS)}

    def committed(self, consumer: str, topic: str, partition: int = 0) -> dict[str, Any]:
        """Return the committed offset."""
        asking = self.handles[consumer].committed(TopicPartition(topic, partition))
        return {"offset": self._thread.run(asking, _CALL_MS)}

    def seek(self, consumer: str, topic: str, offset: int, partition: int = 0) -> None:
        """Set the position."""

        async def seek() -> None:
            self.handles[consumer].seek(TopicPartition(topic, partition), offset)

        self._thread.run(seek(), _CALL_MS)

    # Administration ------------------------------------------------------------------------

    def admin(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create and start an admin client."""
        access = connection_settings(settings)
        known, ignored = mapped(settings, ADMIN)

        async def start() -> None:
            admin = aiokafka.admin.AIOKafkaAdminClient(
                bootstrap_servers=self.bootstrap, **known, **access
            )
            self.handles[id] = admin
            await admin.start()

        self._thread.run(start(), _CALL_MS)
        return {"ignored": ignored}

    def create_topic(
        self,
        admin: str,
        topic: str,
        partitions: int = 1,
        replication_factor: int = 1,
        timeout_ms: int = _CALL_MS,
    ) -> None:
        """Create a topic; aiokafka returns the response, errors included."""
        new_topic = aiokafka.admin.NewTopic(topic, partitions, replication_factor)
        creating = self.handles[admin].create_topics([new_topic], timeout_ms=timeout_ms)
        _raise_code(self._thread.run(creating, timeout_ms).topic_errors[0][1])

    def delete_topic(self, admin: str, topic: str, timeout_ms: int = _CALL_MS) -> None:
        """Delete a topic; aiokafka returns the response, errors included."""
        deleting = self.handles[admin].delete_topics([topic], timeout_ms=timeout_ms)
        _raise_code(self._thread.run(deleting, timeout_ms).topic_error_codes[0][1])

    def create_partitions(
        self, admin: str, topic: str, partitions: int, timeout_ms: int = _CALL_MS
    ) -> None:
        """Have a topic with so many partitions."""
        new = {topic: aiokafka.admin.NewPartitions(partitions)}
        creating = self.handles[admin].create_partitions(new, timeout_ms=timeout_ms)
        _raise_code(self._thread.run(creating, timeout_ms).topic_errors[0][1])

    def describe_topic(self, admin: str, topic: str, timeout_ms: int = _CALL_MS) -> None:
        """Describe a topic; raise the error of its description."""
        [found] = self._thread.run(self.handles[admin].describe_topics([topic]), timeout_ms)
        _raise_code(found["error_code"])

    def list_topics(self, admin: str, timeout_ms: int = _CALL_MS) -> dict[str, Any]:
        """List the topics."""
        return {"topics": sorted(self._thread.run(self.handles[admin].list_topics(), timeout_ms))}

    def describe_configs(self, admin: str, topic: str, timeout_ms: int = _CALL_MS) -> None:
        """Describe the configuration of a topic."""
        resource = aiokafka.admin.config_resource.ConfigResource(
            aiokafka.admin.config_resource.ConfigResourceType.TOPIC, topic
        )
        asking = self.handles[admin].describe_configs([resource])
        for response in self._thread.run(asking, timeout_ms):
            for code, *_ in response.resources:
                _raise_code(code)

    def alter_config(
        self, admin: str, topic: str, config: dict[str, str], timeout_ms: int = _CALL_MS
    ) -> None:
        """Set configuration keys of a topic."""
        resource = aiokafka.admin.config_resource.ConfigResource(
            aiokafka.admin.config_resource.ConfigResourceType.TOPIC, topic, config
        )
        altering = self.handles[admin].alter_configs([resource])
        for response in self._thread.run(altering, timeout_ms):
            for code, *_ in response.resources:
                _raise_code(code)

    def list_groups(self, admin: str, timeout_ms: int = _CALL_MS) -> None:
        """List the groups."""
        self._thread.run(self.handles[admin].list_consumer_groups(), timeout_ms)

    def describe_group(self, admin: str, group: str, timeout_ms: int = _CALL_MS) -> None:
        """Describe a group; raise the error of its description."""
        asking = self.handles[admin].describe_consumer_groups([group])
        for response in self._thread.run(asking, timeout_ms):
            for code, *_ in response.groups:
                _raise_code(code)

    def delete_records(
        self, admin: str, topic: str, offset: int, partition: int = 0, timeout_ms: int = _CALL_MS
    ) -> None:
        """Delete the records before an offset."""
        before = {
            TopicPartition(topic, partition): aiokafka.admin.RecordsToDelete(before_offset=offset)
        }
        deleting = self.handles[admin].delete_records(before, timeout_ms=timeout_ms)
        self._thread.run(deleting, timeout_ms)

    def describe_cluster(self, admin: str, timeout_ms: int = _CALL_MS) -> None:
        """Describe the cluster."""
        self._thread.run(self.handles[admin].describe_cluster(), timeout_ms)

    # Closing -------------------------------------------------------------------------------

    def close(self, id: str, timeout_ms: int) -> dict[str, Any]:
        """Close a client."""
        handle = self.handles.pop(id)
        began_s = time.monotonic()  # noqa: TID251 - a client's program has its own clock
        try:
            self._thread.run(_stop(handle), timeout_ms)
        except BaseException:
            self.forget(handle)
            raise
        took_s = time.monotonic() - began_s  # noqa: TID251 - the same
        return {"took_ms": round(took_s * 1000)}

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


def _raise_code(code: int) -> None:
    if code:
        raise aiokafka.errors.for_code(code)(code)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d %(name)s %(message)s")
    main(AioKafkaAdapter)
