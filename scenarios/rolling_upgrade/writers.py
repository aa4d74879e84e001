"""Producers that write numbers to one partition each, until they are stopped.

Every record is a separate batch, so that a request has one batch and several are in flight.
"""

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from typing import Any

from client import Producer, ProducerSettings, clock
from client.errors import ClientError
from client.producer.actions import ProduceRequest, Request, Response
from scenarios.client_logs import ISOLATED
from scenarios.clients.installed import load_client
from scenarios.clients.interface import Delivery, ProducerOptions
from scenarios.clients.interface import Producer as LibraryProducer
from scenarios.clients.java import kafka_clients_jars
from scenarios.clients.java_producer import JavaClient

BURST = 8
"""Records that are sent at once."""
INTERVAL_MS = 150
"""Time between two bursts."""
JAVA_VERSION = "4.4.0"

VALUE_BYTES = 100

_RETRY_BACKOFF_MS = 50
_RECONNECT_BACKOFF_MAX_MS = 200
_SAMPLE_MS = 20
_STOP_S = 30.0


def value_of(number: int) -> bytes:
    """Return a record's value: its number, so long that no second record fits into the batch."""
    return b"%0*d" % (VALUE_BYTES, number)


class Writer(ABC):
    """One client, writing from `start` to `stop`. Its topic has the same name as the client id."""

    name: str

    def __init__(self, servers: str, topic: str) -> None:
        self.servers = servers
        self.topic = topic
        self.sent = 0
        """Records that were given to the client, numbered from 0."""
        self.acknowledged_ms: dict[int, int] = {}
        """When the client reported success of a record, by its number."""
        self.failed: dict[int, str] = {}
        self.in_flight: list[tuple[int, int]] = []
        """Times in ms, each with the number of requests that had no response then."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start to write."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after all records have an outcome."""
        self._stopping.set()
        self._thread.join(_STOP_S)

    def note(self, number: int, error: str | None) -> None:
        """Note the outcome of a record."""
        if error is None:
            self.acknowledged_ms[number] = clock.wall_ms()
        else:
            self.failed[number] = error

    @abstractmethod
    def _run(self) -> None:
        """Write until `_stopping` is set, then wait for the outcomes."""


class Ours(Writer):
    """`client.Producer`: more than five requests in flight where the broker advertises a window."""

    name = "ours"

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(servers, topic)
        self._restarting = threading.Event()

    def restart(self) -> None:
        """Replace the producer by a new one, which gets the window with its producer id."""
        self._restarting.set()

    def _run(self) -> None:
        asyncio.run(self._write())

    async def _write(self) -> None:
        settings = ProducerSettings(
            batch_size=1,
            reconnect_backoff_max_ms=_RECONNECT_BACKOFF_MAX_MS,
            retry_backoff_ms=_RETRY_BACKOFF_MS,
        )
        while not self._stopping.is_set():
            self._restarting.clear()
            watcher = _InFlight(self.in_flight)
            async with Producer(
                self.servers, settings, client_id=self.topic, watcher=watcher
            ) as producer:
                while not self._stopping.is_set() and not self._restarting.is_set():
                    for _ in range(BURST):
                        await self._send(producer)
                    await asyncio.sleep(INTERVAL_MS / 1_000)

    async def _send(self, producer: Producer) -> None:
        number = self.sent
        self.sent += 1
        future = await producer.send(self.topic, value_of(number), partition=0)

        def settle(done: "asyncio.Future[Any]") -> None:
            error = done.exception()
            assert error is None or isinstance(error, ClientError)
            self.note(number, None if error is None else str(error))

        future.add_done_callback(settle)


class _InFlight:
    """A `Watcher` that counts the Produce requests without a response, for each connection."""

    def __init__(self, samples: list[tuple[int, int]]) -> None:
        self._samples = samples
        self._counts: dict[int, int] = {}

    def _count(self, node_id: int, call: Request, change: int) -> None:
        if isinstance(call, ProduceRequest):
            self._counts[node_id] = self._counts.get(node_id, 0) + change
            self._samples.append((clock.wall_ms(), self._counts[node_id]))

    def sent(self, node_id: int, call: Request, version: int, request_bytes: int) -> None:
        """See `Watcher`."""
        self._count(node_id, call, 1)

    def responded(self, node_id: int, call: Request, response: Response) -> None:
        """See `Watcher`."""
        self._count(node_id, call, -1)

    def lost(self, node_id: int) -> None:
        """See `Watcher`."""
        self._counts[node_id] = 0


class RealClient(Writer):
    """A producer of a client library; its thread does all the work."""

    @abstractmethod
    def _open(self) -> LibraryProducer:
        """Open the producer, and begin to note its requests in flight."""

    def _run(self) -> None:
        with self._open() as producer:
            while not self._stopping.is_set():
                for _ in range(BURST):
                    self._send(producer)
                until_ms = clock.now_ms() + INTERVAL_MS
                while (left_ms := until_ms - clock.now_ms()) > 0:
                    producer.poll(left_ms / 1_000)
            producer.flush(_STOP_S)

    def _send(self, producer: LibraryProducer) -> None:
        number = self.sent
        self.sent += 1

        def report(delivery: Delivery) -> None:
            self.note(number, delivery.error_name)

        producer.send(self.topic, value_of(number), report, partition=0)


class Librdkafka(RealClient):
    """librdkafka's producer by confluent-kafka; it has at most five requests in flight."""

    name = "librdkafka"

    def _open(self) -> LibraryProducer:
        config = {
            "client.id": self.topic,
            "batch.num.messages": 1,
            "logger": ISOLATED,
            "reconnect.backoff.max.ms": _RECONNECT_BACKOFF_MAX_MS,
            "retry.backoff.ms": _RETRY_BACKOFF_MS,
            "statistics.interval.ms": _SAMPLE_MS,
            "stats_cb": self._sample,
        }
        options = ProducerOptions(is_idempotent=True, linger_ms=0)
        return load_client("confluent-kafka").producer(self.servers, config, options)

    def _sample(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        count = max(broker["waitresp_cnt"] for broker in brokers)
        self.in_flight.append((clock.wall_ms(), count))


class Java(RealClient):
    """Kafka's own Java producer, in a separate process."""

    name = f"java {JAVA_VERSION}"

    def __init__(self, servers: str, topic: str) -> None:
        """Fetch the jars.

        Raises:
            CannotRunError: there is no JDK, or no jar.
        """
        super().__init__(servers, topic)
        kafka_clients_jars(JAVA_VERSION)

    def _open(self) -> LibraryProducer:
        config = {
            "client.id": self.topic,
            "batch.size": 0,
            "linger.ms": 0,
            "reconnect.backoff.max.ms": _RECONNECT_BACKOFF_MAX_MS,
            "retry.backoff.ms": _RETRY_BACKOFF_MS,
        }
        producer = JavaClient(JAVA_VERSION).producer(self.servers, config)
        producer.watch_in_flight(self._sample)
        return producer

    def _sample(self, count: int) -> None:
        self.in_flight.append((clock.wall_ms(), count))
