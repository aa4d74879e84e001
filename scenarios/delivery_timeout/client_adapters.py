"""The clients under test, behind one face: send, and hear what became of it."""

import asyncio
import contextlib
import importlib
import importlib.util
import threading
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from client import Producer, ProducerSettings
from client.errors import ClientError
from client.producer.delivery import DeliveryTimeoutError
from scenarios.client_logs import ISOLATED
from scenarios.delivery_timeout.java_producer import JavaVersion
from scenarios.delivery_timeout.outcome import Heard

_BACKOFF_MS = 50
_BACKOFF_MAX_MS = 200
_END_S = 1.0


class Subject(Protocol):
    """A producer with one request in flight and one record a batch; to be used in one thread."""

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        """Send; may block, if that is what this client does."""

    def pass_time(self, seconds: float) -> None:
        """Let the client work."""

    def close(self) -> None:
        """End it, whatever is left."""


class SubjectKind(NamedTuple):
    """A client: its name, how it is made, and why it cannot be measured here (None: it can)."""

    name: str
    why_missing: Callable[[], str | None]
    make: Callable[[str, str, int], Subject]


def python_client(name: str, module: str, make: Callable[[str, str, int], Subject]) -> SubjectKind:
    """Return a client that needs a Python module."""
    return SubjectKind(
        name, lambda: None if importlib.util.find_spec(module) else "not installed", make
    )


def java_client(version: str) -> SubjectKind:
    """Return Apache Kafka's own client, which needs a JDK and the jars of Maven Central."""
    java = JavaVersion(version)
    return SubjectKind(f"Java {version}", java.why_missing, java.make)


class _InLoop:
    """An asyncio client in a loop that runs when its thread passes time."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _loop, _context: None)
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(coroutine)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self._tasks.add(self._loop.create_task(coroutine))

    def pass_time(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    def end(self) -> None:
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self.run(asyncio.sleep(0))
        if tasks:
            self.run(asyncio.wait(tasks, timeout=_END_S))
        self._loop.close()


class Ours(_InLoop):
    """`client.Producer`."""

    def __init__(self, servers: str, client_id: str, deadline_ms: int) -> None:
        super().__init__()
        settings = ProducerSettings(
            batch_size=1,
            delivery_timeout_ms=deadline_ms,
            max_in_flight_requests_per_connection=1,
            request_timeout_ms=deadline_ms,
            retry_backoff_ms=_BACKOFF_MS,
            retry_backoff_max_ms=_BACKOFF_MAX_MS,
        )
        self._producer = Producer(servers, settings, client_id=client_id)

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        """See `Subject`."""

        async def deliver() -> None:
            try:
                await (await self._producer.send(topic, value))
            except DeliveryTimeoutError as error:
                heard(f"DeliveryTimeoutError: {error.phase}")
            except ClientError as error:
                heard(_words(error))
            else:
                heard(None)

        self.start(deliver())

    def close(self) -> None:
        """See `Subject`."""
        self.run(self._producer.close(is_flushing=False))
        self.end()


class KafkaPython:
    """kafka-python's `KafkaProducer`, which has a thread of its own."""

    def __init__(self, servers: str, client_id: str, deadline_ms: int) -> None:
        kafka = importlib.import_module("kafka")
        self._producer: Any = kafka.KafkaProducer(
            bootstrap_servers=servers,
            client_id=client_id,
            batch_size=0,
            delivery_timeout_ms=deadline_ms,
            enable_idempotence=True,
            linger_ms=0,
            max_block_ms=deadline_ms,
            max_in_flight_requests_per_connection=1,
            request_timeout_ms=deadline_ms,
            retry_backoff_ms=_BACKOFF_MS,
        )

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        """See `Subject`; it blocks while the topic is unknown."""
        try:
            future = self._producer.send(topic, value)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
            heard(_words(error))
            return
        future.add_callback(lambda _: heard(None))
        future.add_errback(lambda error: heard(_words(error)))

    def pass_time(self, seconds: float) -> None:
        """See `Subject`."""
        threading.Event().wait(seconds)

    def close(self) -> None:
        """See `Subject`."""
        with contextlib.suppress(Exception):  # it complains of what it could not deliver
            self._producer.close(timeout=0)
        sender = self._producer._sender  # having complained, it leaves its thread running
        sender.force_close()
        sender.join(_END_S)


class Confluent:
    """librdkafka's producer by confluent-kafka."""

    def __init__(self, servers: str, client_id: str, deadline_ms: int) -> None:
        confluent_kafka = importlib.import_module("confluent_kafka")
        self._producer: Any = confluent_kafka.Producer(
            {
                "bootstrap.servers": servers,
                "client.id": client_id,
                "batch.num.messages": 1,
                "delivery.timeout.ms": deadline_ms,
                "enable.idempotence": True,
                "linger.ms": 0,
                "max.in.flight": 1,
                "retry.backoff.ms": _BACKOFF_MS,
                "retry.backoff.max.ms": _BACKOFF_MAX_MS,
            },
            logger=ISOLATED,
        )

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        """See `Subject`."""

        def tell(error: Any, _message: Any) -> None:
            heard(None if error is None else f"KafkaError {error.name()}")

        self._producer.produce(topic, value, on_delivery=tell)

    def pass_time(self, seconds: float) -> None:
        """See `Subject`."""
        self._producer.poll(seconds)

    def close(self) -> None:
        """See `Subject`."""
        self._producer.purge()
        self._producer.poll(0)


class Aiokafka(_InLoop):
    """aiokafka's producer; it has no delivery timeout, so its request timeout stands in."""

    is_idempotent = False

    def __init__(self, servers: str, client_id: str, deadline_ms: int) -> None:
        aiokafka = importlib.import_module("aiokafka")
        super().__init__()
        self._deadline_s = deadline_ms / 1000

        async def start() -> Any:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=servers,
                client_id=client_id,
                acks="all",
                enable_idempotence=self.is_idempotent,
                max_batch_size=1,
                request_timeout_ms=deadline_ms,
                retry_backoff_ms=_BACKOFF_MS,
            )
            await producer.start()
            return producer

        self._producer = self.run(start())

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        """See `Subject`."""

        async def deliver() -> None:
            try:
                await self._producer.send_and_wait(topic, value)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
                heard(_words(error))
            else:
                heard(None)

        self.start(deliver())

    def close(self) -> None:
        """See `Subject`."""
        with contextlib.suppress(TimeoutError):
            self.run(asyncio.wait_for(self._producer.stop(), 0.2))
        self.end()


class IdempotentAiokafka(Aiokafka):
    """The same with idempotence, which knows no timeout at all."""

    is_idempotent = True


def _words(error: BaseException) -> str:
    """An error in a few words, without saying its name twice."""
    name = type(error).__name__
    text = " ".join(str(error).replace(name, "").split()).strip(": ")
    return f"{name}: {text[:40]}".rstrip(": ")


SUBJECTS = (
    SubjectKind("ours", lambda: None, Ours),
    java_client("3.9.2"),
    java_client("4.1.0"),
    python_client("kafka-python", "kafka", KafkaPython),
    python_client("confluent-kafka", "confluent_kafka", Confluent),
    python_client("aiokafka", "aiokafka", Aiokafka),
    python_client("aiokafka, idempotent", "aiokafka", IdempotentAiokafka),
)
OURS = SUBJECTS[0].name
