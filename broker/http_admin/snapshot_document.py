"""The document of a snapshot, for saving and loading."""

from typing import Annotated, Literal

import msgspec

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
from broker.http_admin.topic_records import BytesBody, HeaderBody
from broker.security.scram import ITERATIONS_MAX, ITERATIONS_MIN

Mechanism = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
MECHANISMS: tuple[Mechanism, ...] = ("SCRAM-SHA-256", "SCRAM-SHA-512")
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class SavedRecord(Input, omit_defaults=True):
    """A record; without an offset it gets the next one. A string is UTF-8."""

    offset: Offset | None = None
    timestamp: Annotated[int, msgspec.Meta(ge=-1, le=INT64_MAX)] = -1
    key: str | BytesBody | None = None
    value: str | BytesBody | None = None
    headers: list[HeaderBody] = msgspec.field(default_factory=list)


class SavedPartition(Input, omit_defaults=True):
    """A partition; without `replicas` the cluster chooses them, as for a new topic.

    Offsets without a record stay empty, so that committed offsets keep their meaning. Without
    `high_watermark` all records are committed. It moves to the end of the log if enough replicas
    are in sync.
    """

    replicas: list[NodeId] = msgspec.field(default_factory=list)
    log_start_offset: Offset = 0
    log_end_offset: Offset | None = None
    high_watermark: Offset | None = None
    records: list[SavedRecord] = msgspec.field(default_factory=list)


class SavedTopic(Input):
    """A topic with the configuration that is set on it."""

    name: Name
    partitions: Annotated[list[SavedPartition], msgspec.Meta(min_length=1)]
    config: dict[str, str] = msgspec.field(default_factory=dict)


class SavedOffset(Input):
    """An offset that a group has committed."""

    group: Name
    topic: Name
    partition: PartitionIndex
    offset: Offset
    leader_epoch: Annotated[int, msgspec.Meta(ge=-1, le=INT32_MAX)] = -1
    metadata: str = ""


class SavedCredential(Input):
    """A SCRAM credential of a user; its bytes are base64. The password is not in it."""

    user: Name
    mechanism: Mechanism
    iterations: Annotated[int, msgspec.Meta(ge=ITERATIONS_MIN, le=ITERATIONS_MAX)]
    salt: str
    stored_key: str
    server_key: str


class Snapshot(Input):
    """The setup of a cluster. Everything that is left out is empty.

    `cluster` and `requests` are parts of a recording of another cluster, and not loaded.
    """

    version: Literal[1] = 1
    topics: list[SavedTopic] = msgspec.field(default_factory=list)
    offsets: list[SavedOffset] = msgspec.field(default_factory=list)
    quotas: list[QuotaView] = msgspec.field(default_factory=list)
    faults: list[RULE_OR_VIEW] = msgspec.field(default_factory=list)
    credentials: list[SavedCredential] = msgspec.field(default_factory=list)
    acls: list[AclBody] = msgspec.field(default_factory=list)
    cluster: RecordedCluster | None = None
    requests: list[AskedRequest] = msgspec.field(default_factory=list)


LONG_PARTS: frozenset[type] = frozenset({Snapshot, SavedTopic, SavedPartition})
"""The types whose lists may be long."""
