"""Clients of a cluster with fault rules, without sockets."""

from collections.abc import Mapping
from typing import Any

from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.faults.rule import FaultRule
from broker.request.context import RequestContext
from protocol import messages
from tests.batches import make_batch
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS, make_cluster
from tests.broker.connection_driver import request_frame
from tests.broker.faults.requests import TOPIC


class Clients:
    """Connections to one cluster and the bytes written to each; the test advances the time."""

    def __init__(
        self, *faults: FaultRule, count: int = 1, overrides: Mapping[str, str] | None = None
    ) -> None:
        self.cluster = make_cluster(3, **ALL_VERSIONS | (overrides or {}))
        self.topic = self.cluster.create_topic(TOPIC, [(1, 2), (1, 3)], {})
        self.now_ms = NOW_MS
        self.bugs: list[BaseException] = []
        self.contexts: list[RequestContext] = []
        self.ready: list[int] = []
        self.written = [b""] * count
        self.closed: list[str | None] = [None] * count
        self.dispatcher = dispatcher = Dispatcher(
            self.cluster, lambda error, _context: self.bugs.append(error)
        )
        self.connections = [
            Connection(
                dispatcher,
                broker_id=1,
                connection_id=number + 1,
                client_host="127.0.0.1",
                frame_bytes_max=100_000,
                on_ready=lambda number=number: self.ready.append(number),  # type: ignore[misc]
            )
            for number in range(count)
        ]
        for rule in faults:
            self.dispatcher.faults.add(rule, self.now_ms)

    def send(self, data: bytes, number: int = 0) -> None:
        self._keep(number, self.connections[number].receive(data, self.now_ms))
        self.settle()

    def advance(self, by_ms: int) -> None:
        target_ms = self.now_ms + by_ms
        timers = self.cluster.timers
        while (due_ms := timers.next_due_ms()) is not None and due_ms <= target_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.settle()
        self.now_ms = target_ms

    def settle(self) -> None:
        self.cluster.timers.run_due(self.now_ms)
        while self.ready:
            number = self.ready.pop(0)
            self._keep(number, self.connections[number].resume(self.now_ms))

    def _keep(self, number: int, effects: Any) -> None:
        if self.closed[number] is None:
            self.written[number] += effects.write
            self.closed[number] = effects.close_reason
        if effects.has_more:
            self.ready.append(number)
        if effects.muted_until_ms:
            self.cluster.timers.schedule(
                effects.muted_until_ms,
                lambda now_ms: self._keep(number, self.connections[number].resume(now_ms)),
            )

    def responses(self, number: int = 0) -> list[bytes]:
        """Return the complete frames written so far, without their size."""
        found, rest = [], self.written[number]
        while len(rest) >= 4 and len(rest) >= 4 + (size := int.from_bytes(rest[:4], "big")):
            found.append(rest[4 : 4 + size])
            rest = rest[4 + size :]
        return found

    def ids(self, number: int = 0) -> list[int]:
        return [int.from_bytes(response[:4], "big") for response in self.responses(number)]

    @property
    def stored(self) -> int:
        return self.topic.partitions[0].log.log_end_offset


def produce_frame(correlation_id: int, *, acks: int = -1) -> bytes:
    topic_class = messages.ProduceRequest.TopicProduceData
    part = topic_class.PartitionProduceData(version=8, index=0, records=make_batch(b"x"))
    request = messages.ProduceRequest(
        version=8,
        acks=acks,
        timeout_ms=1000,
        topic_data=[topic_class(version=8, name=TOPIC, partition_data=[part])],
    )
    return request_frame(request, 8, correlation_id)


def offset(base_offset: int) -> dict[str, Any]:
    return {"responses": {"partition_responses": {"base_offset": base_offset}}}


def base_offset(clients: Clients) -> int:
    (response,) = clients.responses()
    (topic,) = messages.ProduceResponse.decode(response[4:], version=8).responses
    return int(topic.partition_responses[0].base_offset)
