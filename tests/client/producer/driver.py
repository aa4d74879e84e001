"""Drive a producer's core with a clock and responses that a test chooses."""

from collections.abc import Sequence
from typing import Any

from client.producer.actions import (
    Connect,
    Disconnect,
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionOutcome,
    PartitionView,
    ProduceRequest,
    ProduceResponse,
    Request,
    Response,
    Send,
    TopicView,
)
from client.producer.batch import Record
from client.producer.core import ProducerCore
from client.producer.delivery import Delivery
from client.producer.settings import ProducerSettings
from client.resources import Address

BOOTSTRAP = Address("bootstrap", 9092)
BROKERS = {1: Address("one", 9092), 2: Address("two", 9092)}
TOPIC = "orders"


def settings(**changes: Any) -> ProducerSettings:
    """Return settings with short times: request timeout 100 ms, delivery timeout 1 s."""
    values: dict[str, Any] = {
        "delivery_timeout_ms": 1_000,
        "request_timeout_ms": 100,
        "retry_backoff_ms": 10,
        "retry_backoff_max_ms": 40,
        "reconnect_backoff_ms": 5,
        "reconnect_backoff_max_ms": 20,
        "connection_setup_timeout_ms": 50,
    }
    return ProducerSettings(**(values | changes))


def record(value: bytes = b"x", *, partition: int | None = 0, topic: str = TOPIC) -> Record:
    return Record(topic, value, None, partition, (), 5)


def topics(leaders: Sequence[int] = (1,), *, leader_epoch: int = 0) -> dict[str, TopicView]:
    """Return metadata of one topic with these leaders."""
    views = {
        index: PartitionView(leader_id, leader_epoch) for index, leader_id in enumerate(leaders)
    }
    return {TOPIC: TopicView(0, views)}


def stored(*offsets: int, error_code: int = 0, throttle_time_ms: int = 0) -> ProduceResponse:
    """Return a Produce response for partitions from 0 on."""
    return ProduceResponse(
        {
            (TOPIC, index): PartitionOutcome(error_code, offset)
            for index, offset in enumerate(offsets)
        },
        throttle_time_ms,
    )


class Driver:
    """The core, the time `now`, and its requests without a response."""

    def __init__(self, **changes: Any) -> None:
        self.core = ProducerCore(settings(**changes), bootstrap=[BOOTSTRAP], random=lambda: 0.5)
        self.now = 1_000
        self.next_ms: int | None = None
        self.connects: list[int] = []
        self.disconnects: list[int] = []
        self.requests: list[tuple[int, Request]] = []
        """Requests in flight with their node, oldest first."""

    def send(self, *values: bytes, partition: int | None = 0, topic: str = TOPIC) -> list[Delivery]:
        return [
            self.core.send(record(value, partition=partition, topic=topic), self.now)
            for value in values or (b"x",)
        ]

    def poll(self) -> list[Request]:
        """Poll once; return the new requests."""
        poll = self.core.poll(self.now)
        self.next_ms = poll.next_ms
        sent: list[Request] = []
        for action in poll.actions:
            match action:
                case Connect(node_id):
                    self.connects.append(node_id)
                case Disconnect(node_id):
                    self.disconnects.append(node_id)
                    self.requests = [entry for entry in self.requests if entry[0] != node_id]
                case Send(node_id, request):
                    self.requests.append((node_id, request))
                    sent.append(request)
        return sent

    def at(self, now_ms: int) -> list[Request]:
        """Move the time to `now_ms`; poll when the core requests it."""
        sent = self.poll()
        while self.next_ms is not None and self.next_ms <= now_ms:
            self.now = max(self.now, self.next_ms)
            sent += self.poll()
        self.now = now_ms
        return sent + self.poll()

    def connect(self) -> None:
        """Open all connections that the core requested."""
        opened, self.connects = self.connects, []
        for node_id in opened:
            self.core.on_connected(node_id)

    def disconnect(self, node_id: int) -> None:
        self.requests = [request for request in self.requests if request[0] != node_id]
        self.core.on_disconnect(node_id, self.now)

    def response(self, response: Response, kind: type[Request] = ProduceRequest) -> None:
        """Respond to the oldest request, which must be of this type."""
        node_id, request = self.requests.pop(0)
        assert isinstance(request, kind), request
        self.core.on_response(node_id, response, self.now)

    def tell_metadata(self, views: dict[str, TopicView] | None = None) -> None:
        self.response(
            MetadataResponse(BROKERS, topics() if views is None else views), MetadataRequest
        )

    def grant_id(self, window: int | None = None) -> None:
        self.response(InitProducerIdResponse(0, 7, 0, window), InitProducerIdRequest)

    def start(self, *, window: int | None = None, leaders: Sequence[int] = (1,)) -> None:
        """Get metadata of the topic and a producer id, and connect to the leaders."""
        self.send(b"first")
        self.poll()
        self.connect()
        self.poll()
        self.tell_metadata(topics(leaders))
        if self.requests:
            self.grant_id(window)
        self.poll()
        self.connect()

    @property
    def produce_requests(self) -> list[ProduceRequest]:
        return [request for _, request in self.requests if isinstance(request, ProduceRequest)]
