"""What the core asks of the outside, and what it is told: plain values, no sockets, no messages."""

from dataclasses import dataclass
from typing import NamedTuple

from client.errors import ClientError
from client.producer.batch import Batch
from client.resources import Address


class StampedBatch(NamedTuple):
    """One partition of a Produce request; `records` is a record batch."""

    topic: str
    topic_id: bytes
    partition: int
    records: bytes


@dataclass(frozen=True, slots=True)
class ProduceCall:
    """A Produce request; `batches` are the core's own, in the order of `data`."""

    acks: int
    timeout_ms: int
    data: tuple[StampedBatch, ...]
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class MetadataCall:
    """A Metadata request for these topics, which the broker may create."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InitProducerIdCall:
    """An InitProducerId request without a transactional id."""


Call = ProduceCall | MetadataCall | InitProducerIdCall


class Connect(NamedTuple):
    """Open a connection to a broker; `on_connected` or `on_disconnect` tells how it went."""

    node_id: int
    address: Address


class Send(NamedTuple):
    """Send a request over the broker's open connection, behind all earlier ones."""

    node_id: int
    call: Call


class Disconnect(NamedTuple):
    """Close the connection, answered or not; the core knows, and wants to hear no more of it."""

    node_id: int


Action = Connect | Send | Disconnect


class PartitionOutcome(NamedTuple):
    """A partition's answer to a batch; -1 where there is no offset or time."""

    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class ProduceResponse:
    """Outcomes by topic and partition; what is missing counts as unanswered."""

    outcomes: dict[tuple[str, int], PartitionOutcome]
    throttle_time_ms: int = 0


class PartitionView(NamedTuple):
    """A partition as Metadata tells it; `leader_id` is -1 without a leader."""

    leader_id: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic as Metadata tells it; no partitions with an error code."""

    error_code: int
    partitions: dict[int, PartitionView]
    topic_id: bytes = bytes(16)


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    """All brokers, and the topics asked for."""

    brokers: dict[int, Address]
    topics: dict[str, TopicView]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class ProducerIdResponse:
    """A producer id, or an error; `window` is KIP-758's, None when the broker told none."""

    error_code: int
    producer_id: int = -1
    producer_epoch: int = -1
    window: int | None = None
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The request can't be sent to this broker at all, and never will be: `error` says why."""

    error: ClientError
    throttle_time_ms: int = 0


Response = ProduceResponse | MetadataResponse | ProducerIdResponse | CallFailed
