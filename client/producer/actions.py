"""The actions and requests that the core returns, and the responses that it takes.

Plain values: no sockets, no messages of the protocol.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from client.errors import ClientError
from client.producer.batch import Batch, TopicPartition
from client.producer.transactional_offsets import ConsumerGroupMetadata, OffsetAndMetadata
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
    transactional_id: str | None = None
    transaction_version: int = 0


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    """A Metadata request for these topics; the broker may create them."""

    topics: tuple[str, ...]


NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


@dataclass(frozen=True, slots=True)
class InitProducerIdRequest:
    """An InitProducerId request; a transactional producer sends its id and epoch (KIP-360)."""

    transactional_id: str | None = None
    transaction_timeout_ms: int = 0
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class CoordinatorType(IntEnum):
    """The `key_type` of FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1


class CoordinatorKey(NamedTuple):
    """A group id or a transactional id, whose coordinator is a broker."""

    key_type: CoordinatorType
    key: str


@dataclass(frozen=True, slots=True)
class FindCoordinatorRequest:
    """A FindCoordinator request for one key."""

    key: CoordinatorKey


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnRequest:
    """An AddPartitionsToTxn request; transaction version 2 has none (KIP-890)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxnRequest:
    """An AddOffsetsToTxn request; transaction version 2 has none (KIP-890)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


@dataclass(frozen=True, slots=True)
class TxnOffsetCommitRequest:
    """A TxnOffsetCommit request to the coordinator of the group."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    group: ConsumerGroupMetadata
    offsets: tuple[tuple[TopicPartition, OffsetAndMetadata], ...]
    transaction_version: int


@dataclass(frozen=True, slots=True)
class EndTxnRequest:
    """An EndTxn request."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    transaction_version: int


TransactionRequest = (
    FindCoordinatorRequest
    | AddPartitionsToTxnRequest
    | AddOffsetsToTxnRequest
    | TxnOffsetCommitRequest
    | EndTxnRequest
)
Request = ProduceRequest | MetadataRequest | InitProducerIdRequest | TransactionRequest


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
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    window: int | None = None
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class FindCoordinatorResponse:
    """The coordinator of the key, or an error."""

    error_code: int
    node_id: int = -1
    address: Address | None = None
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnResponse:
    """Error codes by partition."""

    error_codes: dict[TopicPartition, int]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxnResponse:
    """The result for the whole request."""

    error_code: int
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class TxnOffsetCommitResponse:
    """Error codes by partition."""

    error_codes: dict[TopicPartition, int]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class EndTxnResponse:
    """With transaction version 2 also the producer id and epoch of the next transaction."""

    error_code: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """The request was not sent and never will be, because of `error`."""

    error: ClientError
    throttle_time_ms: int = 0


TransactionResponse = (
    FindCoordinatorResponse
    | AddPartitionsToTxnResponse
    | AddOffsetsToTxnResponse
    | TxnOffsetCommitResponse
    | EndTxnResponse
)
Response = (
    ProduceResponse
    | MetadataResponse
    | InitProducerIdResponse
    | TransactionResponse
    | RequestFailed
)
