"""Producers with the rules of real client libraries: what they retry, fail, and number again.

Each library pipelines and recovers in its own way. Kafka's Java client numbers the batches of a
partition again in a new epoch, librdkafka ends for good when its first batch is out of order,
aiokafka goes on in the old epoch. So the broker sees requests that our own producer never sends.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from client.producer.delivery import Delivered, DeliveryRefusedError
from client.resources import Address
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.network import Network
from tests.batches import make_batch
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.history import History, Place, ProducerFacts, SentRecord, Served

LIBRARY_USER = "library"
NEVER_MS = 1 << 40
REQUEST_TIMEOUT_MS = 400
TICK_MS = 50
METADATA_AGE_MS = 300
_ANY_BROKER = 0
_RETRIABLE = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)


class Library(NamedTuple):
    """How a client library handles the responses of an idempotent producer."""

    name: str
    produce_version: int
    retriable: frozenset[ErrorCode] = _RETRIABLE | {ErrorCode.THROTTLING_QUOTA_EXCEEDED}
    in_flight_max: int = 5
    """Requests in flight to one broker."""
    is_alone_per_partition: bool = False
    """Whether a partition has at most one batch in flight."""
    is_alone_at_first: bool = False
    """Whether the first request waits for its response before there are others."""
    retries_alone: bool = True
    """Whether a batch that is retried is sent alone."""
    retries_out_of_order: bool = True
    """Whether a batch that is out of order is sent again, in a new epoch."""
    fails_for_good: bool = False
    """Whether the producer ends when its oldest batch is out of order."""
    bumps_epoch: bool = True
    """Whether it begins a new epoch after a gap."""
    requests_new_id: bool = False
    """Whether it requests a producer id for that, instead of counting the epoch itself."""
    expires_in_flight: bool = True
    delivery_timeout_ms: int = NEVER_MS


JAVA = Library("java", 12, delivery_timeout_ms=1_500)
LIBRDKAFKA = Library(
    "librdkafka",
    10,
    retriable=_RETRIABLE,
    retries_alone=False,
    fails_for_good=True,
    delivery_timeout_ms=1_500,
)
KAFKA_PYTHON = Library(
    "kafka-python",
    8,
    retries_out_of_order=False,
    requests_new_id=True,
    delivery_timeout_ms=1_500,
)
AIOKAFKA = Library(
    "aiokafka",
    7,
    retriable=_RETRIABLE,
    is_alone_per_partition=True,
    retries_out_of_order=False,
    bumps_epoch=False,
)
FRANZ_GO = Library("franz-go", 13, is_alone_at_first=True)
LIBRARIES = (JAVA, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA, FRANZ_GO)


@dataclass(slots=True, eq=False)
class _Batch:
    records: list[SentRecord]
    created_ms: int
    base_sequence: int = -1
    link: ClientLink | None = None
    """The connection on which it is in flight."""


@dataclass(slots=True)
class _Partition:
    """`sent` have numbers and no outcome; `queue` have neither."""

    queue: deque[_Batch] = field(default_factory=deque)
    sent: list[_Batch] = field(default_factory=list)
    next_sequence: int = 0


class LibraryProducer:
    """One idempotent producer with the rules of a library."""

    def __init__(
        self,
        name: str,
        library: Library,
        network: Network,
        history: History,
        random: Random,
        bootstrap: list[Address],
    ) -> None:
        self.name = name
        self._library = library
        self._network = network
        self._history = history
        self._random = random
        self._bootstrap = bootstrap
        self._links: dict[int, ClientLink] = {}
        self._partitions: dict[Place, _Partition] = {}
        self._numbers: dict[Place, int] = {}
        self._leaders: dict[Place, int] = {}
        self._topic_ids: dict[str, Any] = {}
        self._metadata_ms = 0
        self._is_asking = False
        self._producer_id = self._producer_epoch = -1
        self._needs_epoch = False
        self._has_delivered = False
        self._is_fatal = False
        self._is_closed = False
        self.unresolved_count = 0
        self._retry_backoff_ms = random.choice((1, 20, 100))
        self._is_scheduled = False
        history.producers[name] = ProducerFacts(
            name,
            LIBRARY_USER,
            -1,
            # A batch without a response is numbered again in a new epoch, whether stored or not.
            is_idempotent=False,
            is_ordered=False,
            delivery_timeout_ms=library.delivery_timeout_ms + TICK_MS,
        )

    @property
    def _now_ms(self) -> int:
        return self._network.schedule.time_ms

    def send(self, place: Place, count: int) -> None:
        """Send some records to a partition, as one batch or several."""
        partition = self._partitions.setdefault(place, _Partition())
        while count > 0:
            size = min(count, self._random.choice((1, 1, 3)))
            count -= size
            records = [self._new_record(place) for _ in range(size)]
            partition.queue.append(_Batch(records, self._now_ms))
        self._go_on_after(0)

    def _new_record(self, place: Place) -> SentRecord:
        number = self._numbers.get(place, 0)
        self._numbers[place] = number + 1
        value = f"{self.name} {place[0]}-{place[1]} {number}".encode()
        record = SentRecord(self.name, place, number, value, self._now_ms, self._now_ms)
        self._history.sent.append(record)
        self.unresolved_count += 1
        return record

    def close(self) -> None:
        """Close all connections and stop."""
        self._is_closed = True
        for link in self._links.values():
            link.close()

    # Steps -------------------------------------------------------------------------------------

    def _go_on_after(self, delay_ms: int) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._network.schedule.after(delay_ms, self._go_on)

    def _go_on(self) -> None:
        self._is_scheduled = False
        if self._is_closed or not self.unresolved_count:
            return
        self._expire()
        for node_id, link in list(self._links.items()):
            since_ms = link.waiting_since_ms
            if since_ms is not None and self._now_ms - since_ms >= REQUEST_TIMEOUT_MS:
                link.close()
                self._lost(node_id, link)
        if self._is_fatal:
            self._fail_all()
        elif self._producer_id < 0 or (self._needs_epoch and not self._is_in_flight()):
            self._begin_epoch()
        elif not self._needs_epoch:
            self._send_batches()
        if self._now_ms - self._metadata_ms >= METADATA_AGE_MS:
            self._ask_any(self._metadata_request(), self._on_metadata)
        self._go_on_after(TICK_MS)

    def _is_in_flight(self) -> bool:
        return any(batch.link for known in self._partitions.values() for batch in known.sent)

    def _begin_epoch(self) -> None:
        """Number all batches again; with an id of ours this needs no broker."""
        if self._producer_id >= 0 and not self._library.requests_new_id:
            self._number_again(self._producer_id, self._producer_epoch + 1)
            self._go_on_after(0)
            return
        request = messages.InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout_ms=60_000,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
        )
        self._ask_any(request, self._on_producer_id)

    def _on_producer_id(self, response: Any, _responded: Responded) -> None:
        if response.error_code == ErrorCode.NONE:
            self._number_again(response.producer_id, response.producer_epoch)

    def _number_again(self, producer_id: int, producer_epoch: int) -> None:
        self._network.trace(f"{self.name} is producer {producer_id} epoch {producer_epoch}")
        self._producer_id, self._producer_epoch = producer_id, producer_epoch
        self._needs_epoch = False
        for partition in self._partitions.values():
            partition.queue.extendleft(reversed(partition.sent))
            partition.sent.clear()
            partition.next_sequence = 0

    # Batches -----------------------------------------------------------------------------------

    def _send_batches(self) -> None:
        for place, partition in self._partitions.items():
            leader_id = self._leaders.get(place)
            if leader_id is None or not (link := self._link_to(leader_id)):
                continue
            while batch := self._next_batch(link, partition):
                self._send(link, leader_id, place, batch)

    def _next_batch(self, link: ClientLink, partition: _Partition) -> _Batch | None:
        library = self._library
        limit = library.in_flight_max
        if library.is_alone_at_first and not self._has_delivered:
            limit = 1
        if link.is_gone or link.in_flight_count >= limit:
            return None
        in_flight = [batch for batch in partition.sent if batch.link]
        if library.is_alone_per_partition and in_flight:
            return None
        waiting = [batch for batch in partition.sent if not batch.link]
        if waiting:
            is_blocked = library.retries_alone and (in_flight or waiting[0] != partition.sent[0])
            return None if is_blocked else waiting[0]
        if not partition.queue:
            return None
        batch = partition.queue.popleft()
        batch.base_sequence = partition.next_sequence
        partition.next_sequence += len(batch.records)
        partition.sent.append(batch)
        return batch

    def _send(self, link: ClientLink, node_id: int, place: Place, batch: _Batch) -> None:
        batch.link = link
        topic_class = messages.ProduceRequest.TopicProduceData
        topic = topic_class(
            partition_data=[
                topic_class.PartitionProduceData(
                    index=place[1],
                    records=make_batch(
                        *[record.value for record in batch.records],
                        producer_id=self._producer_id,
                        producer_epoch=self._producer_epoch,
                        base_sequence=batch.base_sequence,
                    ),
                )
            ]
        )
        topic.name, topic.topic_id = place[0], self._topic_ids[place[0]]
        request = messages.ProduceRequest(
            transactional_id=None, acks=-1, timeout_ms=REQUEST_TIMEOUT_MS, topic_data=[topic]
        )
        self._network.trace(
            f"{self.name} to node {node_id}: {place} {len(batch.records)} records of producer"
            f" {self._producer_id} epoch {self._producer_epoch} from {batch.base_sequence}"
        )

        def take(response: Any, responded: Responded) -> None:
            batch.link = None
            (result,) = response.responses[0].partition_responses
            self._network.trace(f"{self.name} from node {node_id}: {place} {result}")
            if result.error_code == ErrorCode.NONE:
                self._history.served.append(
                    Served("Produce", place, node_id, -1, responded.sent_ms, responded.handled_ms)
                )
            if batch in self._partitions[place].sent:
                self._on_result(place, batch, ErrorCode(result.error_code), result.base_offset)
            self._go_on_after(0 if result.error_code == ErrorCode.NONE else self._retry_backoff_ms)

        link.ask(request, take)

    def _on_result(
        self, place: Place, batch: _Batch, error_code: ErrorCode, base_offset: int
    ) -> None:
        library, partition = self._library, self._partitions[place]
        if error_code in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}:
            self._has_delivered = True
            partition.sent.remove(batch)
            self._deliver(place, batch, base_offset)
        elif error_code in library.retriable:
            self._metadata_ms = 0
        elif error_code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self._fail(place, batch, error_code)
        elif partition.sent[0] is not batch and library.retries_out_of_order:
            # An earlier batch is missing: it is retried first.
            self._needs_epoch |= library.fails_for_good
        elif library.fails_for_good:
            self._is_fatal = True
        elif library.retries_out_of_order:
            self._needs_epoch = True
        else:
            self._fail(place, batch, error_code)

    def _deliver(self, place: Place, batch: _Batch, base_offset: int) -> None:
        for index, record in enumerate(batch.records):
            offset = base_offset + index if base_offset >= 0 else -1
            self._resolve(record, Delivered(*place, offset, record.timestamp_ms))

    def _fail(self, place: Place, batch: _Batch, error_code: ErrorCode) -> None:
        self._partitions[place].sent.remove(batch)
        self._needs_epoch |= self._library.bumps_epoch
        error = DeliveryRefusedError(*place, error_code, is_possibly_stored=True)
        for record in batch.records:
            self._resolve(record, error)

    def _resolve(self, record: SentRecord, outcome: Any) -> None:
        record.outcome = outcome
        record.resolved_ms = self._now_ms
        self.unresolved_count -= 1

    def _fail_all(self) -> None:
        for place, partition in self._partitions.items():
            partition.sent += partition.queue
            partition.queue.clear()
            for batch in list(partition.sent):
                self._fail(place, batch, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _expire(self) -> None:
        timeout_ms = self._library.delivery_timeout_ms
        for place, partition in self._partitions.items():
            for batch in [*partition.sent, *partition.queue]:
                if self._now_ms - batch.created_ms < timeout_ms:
                    continue
                if batch in partition.queue:
                    partition.queue.remove(batch)
                    partition.sent.append(batch)
                self._fail(place, batch, ErrorCode.REQUEST_TIMED_OUT)

    # Connections -------------------------------------------------------------------------------

    def _link_to(self, node_id: int) -> ClientLink | None:
        """Return an open link, or None while it is being opened; 0 is any broker."""
        link = self._links.get(node_id)
        if link is None:
            random = self._random
            address = random.choice(self._bootstrap)
            if node_id != _ANY_BROKER:
                host = f"broker-{node_id}"
                address = next(known for known in self._bootstrap if known.host == host)
            link = ClientLink(
                self._network,
                self._history,
                user=LIBRARY_USER,
                client_id=self.name,
                says_hello=random.random() < 0.2,
                versions_max={ApiKey.PRODUCE: self._library.produce_version},
                on_open=self._soon,
                on_lost=lambda _reason: self._lost(node_id, link),
            )
            self._links[node_id] = link
            link.open(address)
            self._network.schedule.after(REQUEST_TIMEOUT_MS, lambda: self._give_up(node_id, link))
        return link if link.is_ready else None

    def _soon(self) -> None:
        self._network.schedule.after(1, self._go_on)

    def _give_up(self, node_id: int, link: ClientLink | None) -> None:
        if link is not None and not link.is_ready and not link.is_gone:
            link.close()
            self._lost(node_id, link)

    def _lost(self, node_id: int, link: ClientLink | None) -> None:
        """Send the batches in flight again: nobody knows whether they were stored."""
        if self._links.get(node_id) is not link:
            return
        del self._links[node_id]
        self._is_asking &= node_id != _ANY_BROKER
        self._metadata_ms = 0
        for partition in self._partitions.values():
            for batch in partition.sent:
                if batch.link is link:
                    batch.link = None

    def _ask_any(self, request: Any, on_response: Callable[[Any, Responded], None]) -> None:
        link = self._link_to(_ANY_BROKER)
        if link is None or self._is_asking:
            return
        self._is_asking = True

        def take(response: Any, responded: Responded) -> None:
            self._is_asking = False
            on_response(response, responded)
            self._go_on_after(0)

        link.ask(request, take)

    def _metadata_request(self) -> Any:
        topic_class = messages.MetadataRequest.MetadataRequestTopic
        names = dict.fromkeys(place[0] for place in self._partitions)
        return messages.MetadataRequest(
            topics=[topic_class(name=name) for name in names], allow_auto_topic_creation=False
        )

    def _on_metadata(self, response: Any, _responded: Responded) -> None:
        self._metadata_ms = self._now_ms
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE:
                self._topic_ids[topic.name] = topic.topic_id
            for partition in topic.partitions:
                place = topic.name, partition.partition_index
                self._leaders[place] = partition.leader_id
                if partition.leader_id < 0:
                    del self._leaders[place]
