"""What the logs of the soak's topics hold, read while retention deletes it."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mock_kafka import MockKafka
from protocol import messages
from protocol.records import batch_base_offset, read_header
from tests.interop.raw_client import RawClient

FETCH_VERSION = 11


class Place(NamedTuple):
    """Where a number is stored."""

    partition: int
    offset: int


class Producer(NamedTuple):
    """Who wrote a batch."""

    producer_id: int
    producer_epoch: int


class Duplicate(NamedTuple):
    """A number that is stored twice, and who wrote it."""

    number: int
    first: Producer
    second: Producer

    @property
    def has_new_epoch(self) -> bool:
        """Whether the client used another id or epoch, so that no broker can notice."""
        return self.first != self.second


@dataclass
class StoredNumbers:
    """The numbers in one topic."""

    kafka: MockKafka
    topic: str
    partitions: int
    places: dict[int, Place] = field(default_factory=dict)
    duplicates: list[Duplicate] = field(default_factory=list)
    _next: dict[int, int] = field(default_factory=dict)

    def read(self) -> None:
        """Read what is new since the last time."""
        for partition in range(self.partitions):
            expected = self._next.get(partition, 0)
            for record in self.kafka.records(self.topic, partition, expected):
                expected = record.offset + 1
                self._add(int(record.value or b"-1"), Place(partition, record.offset))
            self._next[partition] = expected

    def _add(self, number: int, place: Place) -> None:
        first = self.places.setdefault(number, place)
        if first != place:
            writers = self._writer(first), self._writer(place)
            self.duplicates.append(Duplicate(number, *writers))

    def _writer(self, place: Place) -> Producer:
        """Return who wrote a record, from the header of its batch."""
        [view] = [topic for topic in self.kafka.topics() if topic.name == self.topic]
        leader = view.partitions[place.partition].leader
        assert leader is not None
        request_class: Any = messages.FetchRequest
        requested = request_class.FetchTopic.FetchPartition(
            partition=place.partition,
            current_leader_epoch=-1,
            fetch_offset=place.offset,
            log_start_offset=-1,
            partition_max_bytes=1,
        )
        request = request_class(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[request_class.FetchTopic(topic=self.topic, partitions=[requested])],
            forgotten_topics_data=[],
            rack_id="",
        )
        with RawClient(self.kafka.bootstrap_servers_list[leader - 1]) as client:
            response = client.call(request, FETCH_VERSION)
        batch = bytes(response.responses[0].partitions[0].records)
        header = read_header(batch, 0)
        assert batch_base_offset(batch) <= place.offset
        return Producer(header.producer_id, header.producer_epoch)
