"""A producer that is quickly made, sends a batch on request, and tries nothing again."""

from types import TracebackType
from typing import Any, NamedTuple
from uuid import UUID

from client.addresses import address_of
from client.errors import error_name
from client.producer.actions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    StampedBatch,
)
from client.producer.messages import parse_response, request_message
from client.resources import Address
from client.security import SaslSettings, Security
from client.transport import SocketTransport
from mock_kafka import MockKafka
from protocol.batch_builder import BatchBuilder, stamp_producer

_BATCH_BYTES_MAX = 1_000
_REQUEST_TIMEOUT_MS = 10_000


class TopicPartition(NamedTuple):
    """Where to write; the id is that of the topic."""

    topic: str
    topic_id: bytes
    partition: int


class Written(NamedTuple):
    """What became of a batch: the error by name, or None; how long the broker asked to wait."""

    error: str | None
    throttle_time_ms: int


class QuickProducer:
    """One connection and one producer id; a `with` block closes it."""

    def __init__(self, servers: str, user: str, timestamp_ms: int) -> None:
        """Connect to the first of the servers, as a user whose password is the name again.

        Raises:
            client.errors.ClientError: it can't be had.
        """
        self._timestamp_ms = timestamp_ms
        self._bootstrap = address_of(servers.split(",", maxsplit=1)[0])
        self._transport = SocketTransport(
            "quick", Security(sasl=SaslSettings("PLAIN", user, user)), _REQUEST_TIMEOUT_MS
        )
        self._sequences: dict[TopicPartition, int] = {}
        given = self._ask(InitProducerIdRequest(), self._bootstrap)
        assert isinstance(given, InitProducerIdResponse)
        self.producer_id = given.producer_id

    def __enter__(self) -> "QuickProducer":
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def write(self, place: TopicPartition, leader: str | None = None) -> Written:
        """Send a batch of one record, to `leader` (`HOST:PORT`) or to the first server.

        A batch that was refused is the next one again. A mute connection blocks until the clock
        is moved on, so close one that was throttled.

        Raises:
            client.errors.ClientError: the broker isn't there, or is no longer.
        """
        sequence = self._sequences.get(place, 0)
        builder = BatchBuilder("none", _BATCH_BYTES_MAX)
        builder.append(self._timestamp_ms, None, b"%d" % sequence, ())
        records = stamp_producer(builder.build(), self.producer_id, 0, sequence)
        batch = StampedBatch(place.topic, place.topic_id, place.partition, records)
        call = ProduceRequest(-1, _REQUEST_TIMEOUT_MS, (batch,), ())
        response = self._ask(call, address_of(leader) if leader is not None else self._bootstrap)
        assert isinstance(response, ProduceResponse)
        error_code = response.outcomes[place.topic, place.partition].error_code
        if error_code == 0:
            self._sequences[place] = sequence + 1
        error = error_name(error_code) if error_code else None
        return Written(error, response.throttle_time_ms)

    def _ask(self, call: InitProducerIdRequest | ProduceRequest, address: Address) -> Any:
        return parse_response(call, self._transport.ask(address, request_message(call)[0]))


def place_of(lab: MockKafka, topic: str, partition: int = 0) -> TopicPartition:
    """A partition of a topic that is there."""
    topic_id = lab.control.ask("GET", f"/v1/topics/{topic}")["topic_id"]
    return TopicPartition(topic, UUID(topic_id).bytes, partition)
