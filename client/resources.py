"""Arguments and results of `Admin`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from client.topology import TopologyDescription, TopologyStatus
from protocol import acls
from protocol.acls import AclOperation, PatternType, PermissionType
from protocol.client_quotas import QuotaMatch
from protocol.configs import ConfigOperation, ConfigSource, ResourceType


class Address(NamedTuple):
    """Where a broker listens; as text `HOST:PORT`, with an IPv6 address in brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The brokers by node id, and the one that clients take for the controller (-1: none)."""

    cluster_id: str | None
    controller_id: int
    brokers: Mapping[int, Address]


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition; `leader_id` is -1 without a leader."""

    index: int
    leader_id: int
    replica_ids: tuple[int, ...]
    isr_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic with its partitions by index."""

    name: str
    topic_id: UUID | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; -1 leaves a number to the broker.

    `assignments` gives each partition's replicas, and both numbers are then -1.
    """

    name: str
    partition_count: int = -1
    replication_factor: int = -1
    assignments: tuple[tuple[int, ...], ...] = ()
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """The new total number of partitions of a topic, and optionally replicas of the new ones."""

    total_count: int
    assignments: tuple[tuple[int, ...], ...] | None = None


class ConfigResource(NamedTuple):
    """A topic by name, a broker by node id; the broker "" stands for the default of all."""

    resource_type: ResourceType
    name: str


class ConfigSynonym(NamedTuple):
    """One of the places that give a key its value."""

    source: ConfigSource
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A key as it is in force; the value of a sensitive one is None."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]


class ConfigChange(NamedTuple):
    """One key's change; DELETE has no value."""

    name: str
    operation: ConfigOperation
    value: str | None = None


class QuotaFilter(NamedTuple):
    """A type (`user`, `client-id`, `ip`) and which of its entities; EXACT has a name."""

    entity_type: str
    match: QuotaMatch
    name: str | None = None


QuotaEntity = Mapping[str, str | None]
"""Entity types with their names; None is the default entity of that type."""


@dataclass(frozen=True, slots=True)
class QuotaEntry:
    """An entity's own quotas by key."""

    entity: QuotaEntity
    quotas: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """Quotas to set on one entity, by key; None removes a quota."""

    entity: QuotaEntity
    quotas: Mapping[str, float | None]


AclResourceType = acls.ResourceType
"""What access control lists are about; `ResourceType` is that of configurations."""


class ResourcePattern(NamedTuple):
    """The resources of an access control list: a name, the start of names, or `*` for all.

    In a filter ANY, and the name None, fit all; MATCH fits the patterns that have the name in them.
    """

    resource_type: AclResourceType = AclResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY


class AccessControlEntry(NamedTuple):
    """Who may, or may not, do what from where; the principal is such as `User:alice`.

    In a filter ANY and None fit all.
    """

    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: PermissionType = PermissionType.ANY


class AclBinding(NamedTuple):
    """A rule of an access control list, or a filter that selects rules."""

    pattern: ResourcePattern = ResourcePattern()
    entry: AccessControlEntry = AccessControlEntry()


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """A SCRAM credential to set: `SCRAM-SHA-256` or `SCRAM-SHA-512` of a user."""

    user: str
    mechanism: str
    iterations: int
    password: str = field(repr=False)


PartitionKey = tuple[str, int]
"""Topic name and partition index."""


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A group in a list; the type and the state are "" if the broker does not say them."""

    group_id: str
    group_type: str
    state: str
    protocol_type: str


@dataclass(frozen=True, slots=True)
class StreamsTasks:
    """Tasks of a member of a streams group: partition numbers by subtopology id."""

    active: Mapping[str, tuple[int, ...]]
    standby: Mapping[str, tuple[int, ...]]
    warmup: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member of a group.

    `member_epoch` and `target` are None in the classic protocol. `is_upgraded` says whether a
    member of a consumer or streams group uses the new protocol, None if that is unknown. In a
    streams group `assigned` and `target` are what the active tasks read; only there a member has a
    `process_id`, the instance of Kafka Streams it belongs to, `tasks` and `target_tasks`.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assigned: frozenset[PartitionKey]
    member_epoch: int | None = None
    target: frozenset[PartitionKey] | None = None
    is_upgraded: bool | None = None
    process_id: str = ""
    tasks: StreamsTasks | None = None
    target_tasks: StreamsTasks | None = None


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of the topology of a streams group: names of the topics that its tasks read or write.

    `repartition_topics` are those it reads.
    """

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_topics: tuple[str, ...]
    changelog_topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group of any type (classic, consumer, share or streams) with its coordinator.

    Epochs are None in a classic group. Only a streams group has `topology_epoch` and
    `subtopologies`, which are empty while it is not ready, and perhaps `topology`, the description
    that its members sent (KIP-1331).
    """

    group_id: str
    group_type: str
    state: str
    assignor: str
    coordinator_id: int
    coordinator: Address
    members: tuple[MemberDescription, ...]
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    topology_epoch: int | None = None
    subtopologies: tuple[Subtopology, ...] = ()
    topology_status: TopologyStatus = TopologyStatus.NOT_REQUESTED
    topology: TopologyDescription | None = None


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """The committed offset of a partition, or the start offset of a share group.

    The leader epoch is -1 if it is unknown. `lag` is the number of records that a share group has
    not done yet (KIP-1226), None if the broker does not say it.
    """

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    lag: int | None = None
