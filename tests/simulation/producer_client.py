"""A producer: the core of `client.producer`, its connections, and records with their sender."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from client.producer.actions import Connect, Disconnect, ProduceRequest, Request, Send
from client.producer.batch import Batch, Record
from client.producer.core import ProducerCore
from client.producer.delivery import DeliveryOutcome
from client.producer.idempotence import Idempotence
from client.producer.messages import expects_response, parse_response, request_message
from client.producer.settings import ProducerSettings
from client.resources import Address
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.records import read_header
from simulation.network import Network
from simulation.timeline import Scheduled
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.history import (
    AcknowledgedBatch,
    History,
    Metered,
    Place,
    ProducerFacts,
    ProduceSeen,
    SentRecord,
    Served,
)


class ProducerClient:
    """Drive a core as its shell does: perform its actions, pass events in, and poll after each."""

    core_class: type[ProducerCore] = ProducerCore
    keeps_order = True
    transaction_version = 2

    def __init__(
        self,
        name: str,
        user: str,
        settings: ProducerSettings,
        network: Network,
        history: History,
        random: Random,
        bootstrap: list[Address],
        versions_max: dict[ApiKey, int],
    ) -> None:
        self.name = name
        self._user = user
        self._settings = settings
        self._network = network
        self._history = history
        self._random = random
        self._versions_max = versions_max
        self._says_hello = random.random() < 0.25
        self.core = self.core_class(settings, bootstrap=bootstrap, random=random.random)
        self._links: dict[int, ClientLink] = {}
        self._alarm: Scheduled | None = None
        self._numbers: dict[Place, int] = {}
        self.unresolved_count = 0
        history.producers[name] = ProducerFacts(
            name,
            user,
            settings.acks,
            settings.enable_idempotence,
            is_ordered=(settings.enable_idempotence and self.keeps_order)
            or (settings.acks != 0 and settings.max_in_flight_requests_per_connection == 1),
            delivery_timeout_ms=settings.delivery_deadline_ms,
        )

    def send(self, place: Place, count: int) -> None:
        """Send some records to a partition."""
        now_ms = self._network.schedule.time_ms
        for _ in range(count):
            number = self._numbers.get(place, 0)
            self._numbers[place] = number + 1
            value = f"{self.name} {place[0]}-{place[1]} {number}".encode()
            sent = SentRecord(self.name, place, number, value, now_ms, now_ms)
            self._history.sent.append(sent)
            self.unresolved_count += 1

            def resolve(outcome: DeliveryOutcome, sent: SentRecord = sent) -> None:
                sent.outcome = outcome
                sent.resolved_ms = self._network.schedule.time_ms
                self.unresolved_count -= 1

            record = Record(place[0], value, None, place[1], (), now_ms)
            self.core.send(record, now_ms, resolve)
        self._poll()

    def close(self) -> None:
        """Close all connections and stop."""
        if self._alarm is not None:
            self._alarm.cancel()
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _poll(self) -> None:
        now_ms = self._network.schedule.time_ms
        poll = self.core.poll(now_ms)
        for action in poll.actions:
            match action:
                case Connect(node_id, address):
                    self._connect(node_id, address)
                case Disconnect(node_id):
                    self._network.trace(f"{self.name} gives node {node_id} up")
                    self._links.pop(node_id).close()
                case Send(node_id, call):
                    self._send(node_id, call)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if poll.next_ms is not None:
            # A core that always requests an immediate poll would stop the time.
            self._alarm = self._network.schedule.at(max(poll.next_ms, now_ms + 1), self._poll)

    def _connect(self, node_id: int, address: Address) -> None:
        def on_open() -> None:
            self.core.on_connected(node_id, link.features)
            self._poll()

        def on_lost(reason: str) -> None:
            self._network.trace(f"{self.name} has lost node {node_id}: {reason}")
            del self._links[node_id]
            self.core.on_disconnect(node_id, self._network.schedule.time_ms, reason)
            self._poll()

        link = ClientLink(
            self._network,
            self._history,
            user=self._user,
            client_id=self.name,
            says_hello=self._says_hello,
            versions_max=self._versions_max,
            on_open=on_open,
            on_lost=on_lost,
            transaction_version=self.transaction_version,
        )
        self._links[node_id] = link
        link.open(address)

    def _send(self, node_id: int, call: Request) -> None:
        message, version_max = request_message(call)
        if self._network.is_traced:
            self._network.trace(f"{self.name} to node {node_id}: {summary(call)}")

        if isinstance(call, ProduceRequest):
            for stamped in call.data:
                key = node_id, read_header(stamped.records, 0).producer_id
                self._history.id_attempts.setdefault(key, []).append(self._network.schedule.time_ms)

        def on_response(response: Any, responded: Responded) -> None:
            result = parse_response(call, response)
            if self._network.is_traced:
                self._network.trace(f"{self.name} from node {node_id}: {response}")
            if isinstance(call, ProduceRequest):
                self._note(node_id, call, response, responded)
            self.core.on_response(node_id, result, self._network.schedule.time_ms)
            self._poll()

        self._links[node_id].ask(
            message, on_response, version_max=version_max, expects_response=expects_response(call)
        )

    def _note(
        self, node_id: int, call: ProduceRequest, response: Any, responded: Responded
    ) -> None:
        if node_id < 0:
            # The core does not know yet which broker it has found.
            return
        outcomes = [
            partition_response.error_code
            for topic in response.responses
            for partition_response in topic.partition_responses
        ]
        if not any(outcomes):
            # The broker counts no request that a fault rule refuses.
            self._history.metered.append(
                Metered(
                    self._user,
                    node_id,
                    responded.size_bytes,
                    response.throttle_time_ms,
                    responded.sent_ms,
                    responded.handled_ms,
                )
            )
        topics = list(dict.fromkeys(stamped.topic for stamped in call.data))
        in_order = sorted(
            zip(call.data, call.batches, strict=True),
            key=lambda stamped: topics.index(stamped[0].topic),
        )
        for (stamped, batch), error_code in zip(in_order, outcomes, strict=False):
            if error_code == ErrorCode.NONE:
                place = stamped.topic, stamped.partition
                sent_ms, handled_ms = responded.sent_ms, responded.handled_ms
                self._history.served.append(
                    Served("Produce", place, node_id, -1, sent_ms, handled_ms)
                )
                self._remember(call, response, responded)
            if not self._settings.enable_idempotence:
                continue
            # A retried batch may be known already: then its id need not be admitted.
            is_new = error_code == ErrorCode.NONE and batch.attempts == 1
            self._history.produced.append(
                ProduceSeen(
                    self._user,
                    node_id,
                    read_header(stamped.records, 0).producer_id,
                    is_new,
                    error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED,
                    responded.sent_ms,
                    responded.handled_ms,
                )
            )

    def _remember(self, call: ProduceRequest, response: Any, responded: Responded) -> None:
        """Keep a request with one acknowledged batch, which may arrive again."""
        if not self._settings.enable_idempotence or len(call.data) != 1:
            return
        (stamped,) = call.data
        header = read_header(stamped.records, 0)
        self._history.acknowledged.append(
            AcknowledgedBatch(
                responded.request,
                response.version,
                (stamped.topic, stamped.partition),
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                response.responses[0].partition_responses[0].base_offset,
            )
        )


class PipeliningIdempotence(Idempotence):
    """Sequence numbers of a producer that does not send the first batch of an epoch alone."""

    def assign_sequence(self, batch: Batch) -> None:
        super().assign_sequence(batch)
        sequences = self.of(batch)
        assert sequences is not None
        sequences.is_begun = True


class PipeliningCore(ProducerCore):
    """A core that may have several batches in flight from the first one on."""

    def __init__(
        self,
        settings: ProducerSettings,
        *,
        bootstrap: Sequence[Address],
        random: Callable[[], float],
    ) -> None:
        super().__init__(settings, bootstrap=bootstrap, random=random)
        self._state.idempotence = PipeliningIdempotence()


class PipeliningProducerClient(ProducerClient):
    """A producer that pipelines from its first batch, as the Java client and librdkafka do.

    A partition without state may then accept the second batch after it refused the first. The first
    is stored after it, in the next epoch.
    """

    core_class = PipeliningCore
    keeps_order = False


def summary(call: Request) -> str:
    """Return a short text of a request."""
    if not isinstance(call, ProduceRequest):
        return str(call)
    parts = []
    for stamped in call.data:
        header = read_header(stamped.records, 0)
        parts.append(
            f"{stamped.topic}-{stamped.partition} {header.records_count} records of producer"
            f" {header.producer_id} epoch {header.producer_epoch} from {header.base_sequence}"
        )
    return f"Produce acks={call.acks} {'; '.join(parts)}"
