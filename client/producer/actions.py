"""The actions and requests that the core returns, and the responses that it takes.

Plain values: no sockets, no messages of the protocol.
"""

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
class ProduceRequest:
    """A Produce request; `batches` are the core's own objects, in the order of `data`."""

    acks: int
    timeout_ms: int
    data: tuple[StampedBatch, ...]
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    """A Metadata request for these topics; the broker may create them."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InitProducerIdRequest:
    """An InitProducerId request without a transactional id."""


Request = ProduceRequest | MetadataRequest | InitProducerIdRequest


class Connect(NamedTuple):
    """Open a connection to a broker, then call the core's `on_connected` or `on_disconnect`."""

    node_id: int
    address: Address


class Send(NamedTuple):
    """Send a request over the broker's open connection, after all earlier ones."""

    node_id: int
    request: Request


class Disconnect(NamedTuple):
    """Close the connection; do not call the core's `on_disconnect` for it."""

    node_id: int


Action = Connect | Send | Disconnect


class PartitionOutcome(NamedTuple):
    """The response to one partition's batch; -1 where there is no offset or time."""

    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class ProduceResponse:
    """Outcomes by topic and partition; a missing partition counts as a lost response."""

    outcomes: dict[tuple[str, int], PartitionOutcome]
    throttle_time_ms: int = 0


class PartitionView(NamedTuple):
    """A partition in a Metadata response; `leader_id` is -1 without a leader."""

    leader_id: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic in a Metadata response; no partitions with an error code."""

    error_code: int
    partitions: dict[int, PartitionView]
    topic_id: bytes = bytes(16)


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    """All brokers, and the requested topics."""

    brokers: dict[int, Address]
    topics: dict[str, TopicView]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class InitProducerIdResponse:
    """A producer id, or an error; `window` is KIP-758's, None if the broker sent none."""

    error_code: int
    producer_id: int = -1
    producer_epoch: int = -1
    window: int | None = None
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """The request was not sent and never will be, because of `error`."""

    error: ClientError
    throttle_time_ms: int = 0


Response = ProduceResponse | MetadataResponse | InitProducerIdResponse | RequestFailed
