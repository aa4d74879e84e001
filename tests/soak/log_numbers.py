"""The numbers in the log of a topic and who wrote them, read by Fetch from any Kafka cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from protocol.records import read_header, read_records
from tests.interop.raw_client import RawClient
from tests.simulation.group_member import split_batches
from tests.soak.stored_numbers import Duplicate, Place, Producer

METADATA_VERSION = 9
FETCH_VERSION = 11
FETCH_BYTES = 1 << 20


@dataclass(slots=True)
class LogNumbers:
    """Where each number is stored first, and those that are stored again."""

    places: dict[int, Place] = field(default_factory=dict)
    duplicates: list[Duplicate] = field(default_factory=list)
    _writers: dict[int, Producer] = field(default_factory=dict)

    def add(self, number: int, place: Place, writer: Producer) -> None:
        """Note a stored number."""
        if number in self.places:
            self.duplicates.append(Duplicate(number, self._writers[number], writer))
        else:
            self.places[number], self._writers[number] = place, writer


def read_numbers(servers: str, topic: str) -> LogNumbers:
    """Read all partitions of a topic from their beginnings, when nobody writes any more."""
    numbers = LogNumbers()
    for partition, leader in enumerate(_leaders(servers, topic)):
        with RawClient(leader) as client:
            for batch in _batches(client, topic, partition):
                header = read_header(batch, 0)
                writer = Producer(header.producer_id, header.producer_epoch)
                for record in read_records(batch):
                    place = Place(partition, record.offset)
                    numbers.add(int(record.value or b"-1"), place, writer)
    return numbers


def _leaders(servers: str, topic: str) -> list[str]:
    """Return the addresses of the leaders of a topic's partitions."""
    request_class: Any = messages.MetadataRequest
    request = request_class(topics=[request_class.MetadataRequestTopic(name=topic)])
    with RawClient(servers.split(",", maxsplit=1)[0]) as client:
        response = client.call(request, METADATA_VERSION)
    brokers = {broker.node_id: f"{broker.host}:{broker.port}" for broker in response.brokers}
    [described] = response.topics
    partitions = sorted(described.partitions, key=lambda partition: partition.partition_index)
    return [brokers[partition.leader_id] for partition in partitions]


def _batches(client: RawClient, topic: str, partition: int) -> Iterator[bytes]:
    offset = 0
    while records := _fetch(client, topic, partition, offset):
        for batch in split_batches(records):
            header = read_header(batch, 0)
            offset = header.base_offset + header.last_offset_delta + 1
            yield batch


def _fetch(client: RawClient, topic: str, partition: int, offset: int) -> bytes:
    request_class: Any = messages.FetchRequest
    requested = request_class.FetchTopic.FetchPartition(
        partition=partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        log_start_offset=-1,
        partition_max_bytes=FETCH_BYTES,
    )
    request = request_class(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=FETCH_BYTES,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[request_class.FetchTopic(topic=topic, partitions=[requested])],
        forgotten_topics_data=[],
        rack_id="",
    )
    [fetched] = client.call(request, FETCH_VERSION).responses[0].partitions
    assert fetched.error_code == ErrorCode.NONE, ErrorCode(fetched.error_code)
    return bytes(fetched.records or b"")
