"""The document of a snapshot, for saving and loading."""

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from broker.cluster.topics import NO_LEADER
from broker.http_admin.acls import AclBody
from broker.http_admin.faults import RULE_OR_VIEW
from broker.http_admin.operation import (
    INT32_MAX,
    INT64_MAX,
    Input,
    Name,
    NodeId,
    PartitionIndex,
)
from broker.http_admin.quotas import QuotaView
from broker.http_admin.recorded_parts import AskedRequest, RecordedCluster
from broker.http_admin.topic_records import BytesBody, HeaderBody, saved_bytes
from broker.security.scram import ITERATIONS_MAX, ITERATIONS_MIN
from producer_state.rules import (
    NO_EPOCH,
    NO_OFFSET,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    SEQUENCE_MAX,
)
from protocol.records import Record

Mechanism = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
MECHANISMS: tuple[Mechanism, ...] = ("SCRAM-SHA-256", "SCRAM-SHA-512")
INT16_MAX = 2**15 - 1
NO_PRODUCER_ID = -1
BATCHES_MAX = 5
"""Batches that Kafka's rule remembers of a producer."""
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
OffsetOrNone = Annotated[int, msgspec.Meta(ge=NO_OFFSET, le=2**62)]
Timestamp = Annotated[int, msgspec.Meta(ge=NO_TIMESTAMP, le=INT64_MAX)]
Sequence = Annotated[int, msgspec.Meta(ge=NO_SEQUENCE, le=SEQUENCE_MAX)]
Epoch = Annotated[int, msgspec.Meta(ge=NO_EPOCH, le=INT32_MAX)]
ProducerEpoch = Annotated[int, msgspec.Meta(ge=NO_EPOCH, le=INT16_MAX)]
ProducerId = Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)]
ProducerIdOrNone = Annotated[int, msgspec.Meta(ge=NO_PRODUCER_ID, le=INT64_MAX)]
LeaderId = Annotated[int, msgspec.Meta(ge=NO_LEADER, le=INT32_MAX)]


class SavedRecord(Input, omit_defaults=True):
    """A record; without an offset it gets the next one. A string is UTF-8."""

    offset: Offset | None = None
    timestamp: Timestamp = NO_TIMESTAMP
    key: str | BytesBody | None = None
    value: str | BytesBody | None = None
    headers: list[HeaderBody] = msgspec.field(default_factory=list)

    @classmethod
    def of(cls, record: Record) -> "SavedRecord":
        """Return a record of a log as it is saved."""
        return cls(
            record.offset,
            record.timestamp,
            saved_bytes(record.key),
            saved_bytes(record.value),
            [HeaderBody(name, saved_bytes(value)) for name, value in record.headers],
        )


class SavedBatch(Input, omit_defaults=True):
    """A batch that a producer has written; `timestamp` is its largest one."""

    first_sequence: Sequence
    last_sequence: Sequence
    base_offset: Offset
    timestamp: Timestamp


class SavedProducer(Input, omit_defaults=True):
    """What a partition remembers of a producer, its newest batches first (`ProducerStateEntry`).

    `floor` is that of KIP-758's rule. `current_txn_start_offset` is set while it has a transaction
    open, `coordinator_epoch` once it has ended one.
    """

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    batches: Annotated[list[SavedBatch], msgspec.Meta(max_length=BATCHES_MAX)] = msgspec.field(
        default_factory=list
    )
    floor: Sequence = NO_SEQUENCE
    coordinator_epoch: Epoch = NO_EPOCH
    last_timestamp: Timestamp = NO_TIMESTAMP
    current_txn_start_offset: OffsetOrNone = NO_OFFSET


class SavedAbort(Input):
    """An aborted transaction of a partition; `last_offset` is that of its marker."""

    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


class SavedEpoch(Input):
    """A leader epoch, and the first offset that was written in it."""

    epoch: Epoch
    start_offset: Offset


class SavedReplica(Input):
    """A replica that is behind the leader, and where its log ends."""

    node_id: NodeId
    log_end_offset: Offset


class SavedPartition(Input, omit_defaults=True):
    """A partition; without `replicas` the cluster chooses them, as for a new topic.

    Offsets without a record stay empty, so that committed offsets keep their meaning. Without
    `high_watermark` all records are committed. It moves to the end of the log if enough replicas
    are in sync.

    `batches` has stored batches as base64, for what `records` cannot say: those of open and aborted
    transactions, the markers of aborted ones, and those that cannot be decoded. Both lists are in
    the order of offsets. Without `leader_id` the first replica that is up leads, in epoch 0.
    """

    replicas: list[NodeId] = msgspec.field(default_factory=list)
    leader_id: LeaderId | None = None
    leader_epoch: Epoch = 0
    isr: list[NodeId] | None = None
    eligible_leader_replicas: list[NodeId] = msgspec.field(default_factory=list)
    last_known_leader_id: LeaderId = NO_LEADER
    behind: list[SavedReplica] = msgspec.field(default_factory=list)
    leader_epochs: list[SavedEpoch] = msgspec.field(default_factory=list)
    log_start_offset: Offset = 0
    log_end_offset: Offset | None = None
    high_watermark: Offset | None = None
    records: list[SavedRecord] = msgspec.field(default_factory=list)
    batches: list[str] = msgspec.field(default_factory=list)
    producers: list[SavedProducer] = msgspec.field(default_factory=list)
    aborted_transactions: list[SavedAbort] = msgspec.field(default_factory=list)


class SavedTopic(Input, omit_defaults=True):
    """A topic with the configuration that is set on it; without an id it gets a new one."""

    name: Name
    partitions: Annotated[list[SavedPartition], msgspec.Meta(min_length=1)]
    config: dict[str, str] = msgspec.field(default_factory=dict)
    topic_id: UUID | None = None


class SavedCoordinatorRecord(Input):
    """A record of a coordinator: Kafka's name of its type, and the fields of key and value.

    The names of fields are those of the journal; bytes are `{"base64": ...}`.
    """

    type: Name
    key: dict[str, Any]
    version: Annotated[int, msgspec.Meta(ge=0, le=INT16_MAX)]
    value: dict[str, Any]


class SavedOffset(Input, omit_defaults=True):
    """An offset that a group has committed.

    With `producer_id` it counts once the transaction commits that this producer has open. Without
    `commit_timestamp` it is committed when the document is loaded.
    """

    group: Name
    topic: Name
    partition: PartitionIndex
    offset: Offset
    leader_epoch: Annotated[int, msgspec.Meta(ge=-1, le=INT32_MAX)] = -1
    metadata: str = ""
    commit_timestamp: Timestamp = NO_TIMESTAMP
    expire_timestamp: Timestamp = NO_TIMESTAMP
    topic_id: UUID | None = None
    producer_id: ProducerIdOrNone = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_EPOCH


class SavedCredential(Input):
    """A SCRAM credential of a user; its bytes are base64. The password is not in it."""

    user: Name
    mechanism: Mechanism
    iterations: Annotated[int, msgspec.Meta(ge=ITERATIONS_MIN, le=ITERATIONS_MAX)]
    salt: str
    stored_key: str
    server_key: str


class SavedToken(Input):
    """A delegation token without its secret, which follows from its id and the broker's key."""

    token_id: Name
    owner: Name
    requester: Name
    renewers: list[Name]
    issue_timestamp: Timestamp
    max_timestamp: Timestamp
    expiry_timestamp: Timestamp


class SavedBroker(Input):
    """A broker that is not up: whether Metadata lists it, and whether its sockets respond."""

    node_id: NodeId
    is_alive: bool
    availability: Literal["up", "down", "isolated"]


class SavedConfig(Input):
    """What was set at run time on a broker (the empty name is all), a group or client metrics."""

    resource_type: Literal["broker", "group", "client_metrics"]
    resource_name: str
    config: dict[str, str]


class Snapshot(Input):
    """The state of a cluster. Everything that is left out is empty, or as at the start.

    Version 1 had topics with `records`, offsets, quotas, faults, credentials and acls. `cluster`
    and `requests` are parts of a recording of another cluster, and not loaded.
    """

    version: Literal[1, 2] = 2
    cluster_id: str | None = None
    next_producer_id: ProducerId = 0
    features: dict[str, Annotated[int, msgspec.Meta(ge=0, le=INT16_MAX)]] = msgspec.field(
        default_factory=dict
    )
    brokers: list[SavedBroker] = msgspec.field(default_factory=list)
    configs: list[SavedConfig] = msgspec.field(default_factory=list)
    topics: list[SavedTopic] = msgspec.field(default_factory=list)
    internal_topics: list[SavedTopic] = msgspec.field(default_factory=list)
    offsets: list[SavedOffset] = msgspec.field(default_factory=list)
    groups: list[SavedCoordinatorRecord] = msgspec.field(default_factory=list)
    transactions: list[SavedCoordinatorRecord] = msgspec.field(default_factory=list)
    share_states: list[SavedCoordinatorRecord] = msgspec.field(default_factory=list)
    quotas: list[QuotaView] = msgspec.field(default_factory=list)
    faults: list[RULE_OR_VIEW] = msgspec.field(default_factory=list)
    credentials: list[SavedCredential] = msgspec.field(default_factory=list)
    delegation_tokens: list[SavedToken] = msgspec.field(default_factory=list)
    acls: list[AclBody] = msgspec.field(default_factory=list)
    cluster: RecordedCluster | None = None
    requests: list[AskedRequest] = msgspec.field(default_factory=list)


LONG_PARTS: frozenset[type] = frozenset({Snapshot, SavedTopic, SavedPartition})
"""The types whose lists may be long."""
