"""The measured clients: producers with one request in flight and one record in a batch."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from client import Producer, ProducerSettings
from client.errors import ClientError
from client.producer.delivery import DeliveryTimeoutError
from scenarios.client_logs import ISOLATED
from scenarios.clients.installed import ClientName, is_installed, load_client
from scenarios.clients.interface import Config, Delivery, ProducerOptions
from scenarios.clients.interface import Producer as LibraryProducer
from scenarios.clients.java_producer import JavaClient
from scenarios.clients.polled_loop import PolledLoop
from scenarios.delivery_timeout.outcome import Heard

_BACKOFF_MS = 50
_BACKOFF_MAX_MS = 200


class Subject(Protocol):
    """A producer with one request in flight and one record a batch; to be used in one thread."""

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        """Send; may block, if that is what this client does."""

    def pass_time(self, seconds: float) -> None:
        """Let the client work."""

    def close(self) -> None:
        """End it at once, with or without the outcomes of its records."""


class SubjectKind(NamedTuple):
    """A client: its name, how it is made, and why it cannot be measured here (None: it can).

    `make` takes the bootstrap servers, the client id, and the delivery timeout in ms.
    """

    name: str
    why_missing: Callable[[], str | None]
    make: Callable[[str, str, int], Subject]


class Ours:
    """`client.Producer`."""

    def __init__(self, servers: str, client_id: str, deadline_ms: int) -> None:
        self._loop = PolledLoop()
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
                heard(described(type(error).__name__, str(error)))
            else:
                heard(None)

        self._loop.start(deliver())

    def pass_time(self, seconds: float) -> None:
        """See `Subject`."""
        self._loop.poll(seconds)

    def close(self) -> None:
        """See `Subject`."""
        self._loop.run(self._producer.close(is_flushing=False))
        self._loop.close()


class RealClient:
    """A producer of a client library."""

    def __init__(self, producer: LibraryProducer, describe: Callable[[Delivery], str]) -> None:
        self._producer = producer
        self._describe = describe

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        """See `Subject`."""

        def report(delivery: Delivery) -> None:
            heard(None if delivery.error is None else self._describe(delivery))

        self._producer.send(topic, value, report)

    def pass_time(self, seconds: float) -> None:
        """See `Subject`."""
        self._producer.poll(seconds)

    def close(self) -> None:
        """See `Subject`."""
        self._producer.abort()


def described(name: str, message: str) -> str:
    """Return an error in a few words, without its name twice."""
    text = " ".join(message.replace(name, "").split()).strip(": ")
    return f"{name}: {text[:40]}".rstrip(": ")


def _describe_exception(delivery: Delivery) -> str:
    return described(str(delivery.error_name), str(delivery.error))


def _describe_librdkafka(delivery: Delivery) -> str:
    # Its message says the same as the name.
    return f"KafkaError {delivery.error_name}"


def python_client(
    label: str,
    library: ClientName,
    config: Callable[[str, int], Config],
    describe: Callable[[Delivery], str] = _describe_exception,
    *,
    is_idempotent: bool = True,
) -> SubjectKind:
    """Return a client in Python; `config` takes the client id and the delivery timeout in ms."""

    def make(servers: str, client_id: str, deadline_ms: int) -> Subject:
        options = ProducerOptions(is_idempotent=is_idempotent, linger_ms=0)
        settings = config(client_id, deadline_ms)
        return RealClient(load_client(library).producer(servers, settings, options), describe)

    return SubjectKind(label, lambda: None if is_installed(library) else "not installed", make)


def java_client(version: str) -> SubjectKind:
    """Return Apache Kafka's own client, which needs a JDK and the jars of Maven Central."""
    java = JavaClient(version)

    def make(servers: str, client_id: str, deadline_ms: int) -> Subject:
        producer = java.producer(servers, java_config(client_id, deadline_ms))
        return RealClient(producer, _describe_exception)

    return SubjectKind(f"Java {version}", java.why_missing, make)


def java_config(client_id: str, deadline_ms: int) -> Config:
    """Return the configuration of a Java producer with one request in flight.

    Java has no batches of one record: small records that wait may share a batch in spite of
    `batch.size`.
    """
    return {
        "client.id": client_id,
        "batch.size": 0,
        "delivery.timeout.ms": deadline_ms,
        "enable.idempotence": "true",
        "enable.metrics.push": "false",
        "linger.ms": 0,
        "max.block.ms": deadline_ms,
        "max.in.flight.requests.per.connection": 1,
        "request.timeout.ms": deadline_ms,
        "retry.backoff.ms": _BACKOFF_MS,
        "retry.backoff.max.ms": _BACKOFF_MAX_MS,
    }


def _kafka_python_config(client_id: str, deadline_ms: int) -> Config:
    return {
        "client_id": client_id,
        "batch_size": 0,
        "delivery_timeout_ms": deadline_ms,
        "max_block_ms": deadline_ms,
        "max_in_flight_requests_per_connection": 1,
        "request_timeout_ms": deadline_ms,
        "retry_backoff_ms": _BACKOFF_MS,
    }


def _confluent_config(client_id: str, deadline_ms: int) -> Config:
    return {
        "client.id": client_id,
        "batch.num.messages": 1,
        "delivery.timeout.ms": deadline_ms,
        "logger": ISOLATED,
        "max.in.flight": 1,
        "retry.backoff.ms": _BACKOFF_MS,
        "retry.backoff.max.ms": _BACKOFF_MAX_MS,
    }


def _aiokafka_config(client_id: str, deadline_ms: int) -> Config:
    # It has no delivery timeout. With idempotence it ignores the request timeout, too.
    return {
        "client_id": client_id,
        "max_batch_size": 1,
        "request_timeout_ms": deadline_ms,
        "retry_backoff_ms": _BACKOFF_MS,
    }


SUBJECTS = (
    SubjectKind("ours", lambda: None, Ours),
    java_client("3.9.2"),
    java_client("4.4.0"),
    python_client("kafka-python", "kafka-python", _kafka_python_config),
    python_client("confluent-kafka", "confluent-kafka", _confluent_config, _describe_librdkafka),
    python_client("aiokafka", "aiokafka", _aiokafka_config, is_idempotent=False),
    python_client("aiokafka, idempotent", "aiokafka", _aiokafka_config),
)
OURS = SUBJECTS[0].name
