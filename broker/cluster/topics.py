"""Topics and partitions: replicas, leaders and configuration."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from broker.cluster.compaction import Compaction
from broker.cluster.log_segments import SegmentSettings
from broker.cluster.partition_log import PartitionLog
from broker.config.broker_config import BrokerConfig
from broker.config.synthetic_keys import SYNTHETIC
from broker.config.topic_config import TopicConfig
from producer_state.producer_state_manager import ProducerStateManager
from protocol.records import COMPRESSION_NAMES, LOG_OVERHEAD_BYTES, RECORD_BYTES_MAX

NO_LEADER = -1
TIMESTAMP_MAX = 2**63 - 1
TOPIC_NAME_LENGTH_MAX = 249
_NO_ENDS: Mapping[int, int] = MappingProxyType({})
"""Of partitions without a replica that is behind, as most are."""
_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")

GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_GROUP_STATE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset(
    {GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_GROUP_STATE_TOPIC}
)
"""Names of topics in which coordinators keep their state; clients may not write to them."""


def topic_name_problem(name: str) -> str | None:
    """Return the error message for a topic name as Kafka's `Topic.validate` has it, or None."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in {".", ".."}:
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed "
            f"length {TOPIC_NAME_LENGTH_MAX}"
        )
    if not _LEGAL.issuperset(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        )
    return None


@dataclass(slots=True, eq=False)
class Partition:
    """One partition: its place in the cluster, its log and what its producers last wrote.

    `replicas[0]` is the preferred leader. `adding_replicas` and `removing_replicas` are not empty
    only while a reassignment waits for a broker that is not alive. `compaction` is None except in
    internal topics with keys: those of clients are compacted by the log cleaner, which keeps no
    index.

    `eligible_leader_replicas` left the ISR while it was smaller than min.insync.replicas, so they
    have every committed record (KIP-966). `last_known_leader_id` is NO_LEADER unless the ISR became
    empty and there is no leader since.

    `replica_ends` has the log end offset of each replica that is behind: all others have the whole
    log. `paused_followers` do not fetch from the leader until they are resumed.
    """

    topic_name: str
    partition_index: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_id: int
    producers: ProducerStateManager
    leader_epoch: int = 0
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_leader_id: int = NO_LEADER
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    log: PartitionLog = field(default_factory=PartitionLog)
    compaction: Compaction | None = None
    replica_ends: Mapping[int, int] = field(default_factory=lambda: _NO_ENDS)
    paused_followers: frozenset[int] = frozenset()

    @property
    def is_internal(self) -> bool:
        """Whether it is of a topic in which coordinators keep their state."""
        return self.topic_name in INTERNAL_TOPICS

    def end_of(self, node_id: int) -> int:
        """Return the log end offset of a replica."""
        return self.replica_ends.get(node_id, self.log.log_end_offset)

    def segment_bytes_of(self, node_id: int) -> int:
        """Return the size of a replica's segments; one that ends before the log start is empty."""
        log, end_offset = self.log, self.end_of(node_id)
        if end_offset < log.log_start_offset:
            return 0
        return log.segment_bytes - log.readable_bytes(end_offset, log.size_bytes)

    def assign(self, replicas: Sequence[int]) -> None:
        """Set the replicas; a new one has nothing until it is in sync."""
        ends = dict.fromkeys(replicas, 0) | dict.fromkeys(self.replicas, self.log.log_end_offset)
        ends |= self.replica_ends
        behind = {n: ends[n] for n in replicas if ends[n] < self.log.log_end_offset}
        self.replicas, self.replica_ends = tuple(replicas), behind or _NO_ENDS

    def replace_isr(self, isr: Sequence[int]) -> None:
        """Set the ISR: who leaves it falls behind from here on, who joins it has caught up."""
        ends = {n: end for n, end in self.replica_ends.items() if n in self.replicas}
        ends |= dict.fromkeys(self.isr, self.log.log_end_offset)
        left = {n: end for n, end in ends.items() if n not in isr}
        self.isr, self.replica_ends = tuple(isr), left or _NO_ENDS

    def follows(self, node_id: int) -> bool:
        """Return whether a replica fetches from the leader while its broker is up, or leads."""
        return node_id not in self.paused_followers or node_id == self.leader_id

    @property
    def last_stable_offset(self) -> int:
        """The end of what read_committed consumers read.

        It is the first open transaction, or the high watermark if that is before it.
        """
        high_watermark = self.log.high_watermark
        first_unstable_offset = self.producers.first_unstable_offset
        if not 0 <= first_unstable_offset < high_watermark:
            return high_watermark
        return max(first_unstable_offset, self.log.log_start_offset)

    @property
    def has_lagging_high_watermark(self) -> bool:
        """Whether the high watermark is before the first offset of the leader's epoch.

        The leader cannot say then where the records end that were committed before it
        (`Partition.fetchOffsetForTimestamp`).
        """
        log = self.log
        if log.high_watermark == log.log_end_offset:
            return False
        newest_epoch, start_offset = log.epoch_starts[-1]
        is_current = newest_epoch == self.leader_epoch
        return log.high_watermark < (start_offset if is_current else log.log_end_offset)


@dataclass(slots=True, eq=False)
class Topic:
    """A topic; `config` is replaced when it changes.

    The attributes below `config` are the settings that Produce reads for every batch.
    """

    name: str
    topic_id: UUID
    partitions: list[Partition]
    config: TopicConfig
    is_internal: bool = field(init=False)
    is_synthetic: bool = field(init=False)
    """Whether its records are made when they are read."""
    is_read_only: bool = field(init=False)
    """Whether clients may not write to it: it is internal or synthetic."""
    max_message_bytes: int = 0
    record_bytes_max: int = RECORD_BYTES_MAX
    segment_bytes: int = 0
    batch_length_max: int = 0
    """The largest length in the header of a batch that is within both."""
    min_insync_replicas: int = 1
    is_compacted: bool = False
    is_log_append_time: bool = False
    timestamp_before_max_ms: int = 0
    timestamp_after_max_ms: int = 0
    checks_records: bool = False
    """Whether the record of a batch with a single one is looked at before it is stored."""
    target_codec: int | None = None
    """How stored batches are compressed; None is as their producers do it."""
    compression_level: int | None = None
    segment_settings: SegmentSettings = field(init=False)
    by_broker: dict[int, "Topic"] = field(default_factory=dict)
    """The same topic on brokers that give it other defaults; empty unless brokers differ."""
    encoded_metadata: dict[int, tuple[object, bytes]] = field(default_factory=dict)
    """What Metadata says of it, by version, and the state of the partitions that this is true for.
    """

    def __post_init__(self) -> None:
        self.is_internal = self.name in INTERNAL_TOPICS
        self.is_synthetic = self.config["log.records"] == SYNTHETIC
        self.is_read_only = self.is_internal or self.is_synthetic
        self.refresh_settings()

    def has_too_few_in_sync(self, partition: Partition) -> bool:
        """Return whether acks=-1 is refused (Kafka's `Partition.effectiveMinIsr`).

        min.insync.replicas asks for no more replicas than the partition has.
        """
        in_sync = len(partition.isr)
        return in_sync < self.min_insync_replicas and in_sync < len(partition.replicas)

    def hold_or_release(self, partition: Partition) -> None:
        """Have the next appends move the high watermark, or not; it stays where it is.

        A new min.insync.replicas does only this: Kafka looks at it at the next append.
        """
        led = self.on_broker(partition.leader_id)
        partition.log.is_high_watermark_held = led.has_too_few_in_sync(partition)

    def refresh_settings(self) -> None:
        """Update the settings of the hot path; call it when `config` was replaced."""
        config = self.config
        cleanup_policy = config["cleanup.policy"]
        self.max_message_bytes = config["max.message.bytes"]
        self.segment_bytes = config["segment.bytes"]
        size_max = min(self.max_message_bytes, self.segment_bytes)
        self.batch_length_max = size_max - LOG_OVERHEAD_BYTES
        self.min_insync_replicas = config["min.insync.replicas"]
        self.segment_settings = SegmentSettings.of(config)
        self.is_compacted = "compact" in cleanup_policy and not self.is_synthetic
        self.is_log_append_time = config["message.timestamp.type"] == "LogAppendTime"
        self.timestamp_before_max_ms = config["message.timestamp.before.max.ms"]
        self.timestamp_after_max_ms = config["message.timestamp.after.max.ms"]
        # The header of a batch has only its largest timestamp, so a bound of the past needs these.
        self.record_bytes_max = config["max.decompressed.message.bytes"]
        self._refresh_compression(config)
        self.checks_records = (
            self.is_compacted
            or bool(self.target_codec)
            or (not self.is_log_append_time and self.timestamp_before_max_ms != TIMESTAMP_MAX)
        )

    def _refresh_compression(self, config: TopicConfig) -> None:
        name = config["compression.type"]
        if name == "producer":
            self.target_codec = self.compression_level = None
            return
        self.target_codec = 0 if name == "uncompressed" else COMPRESSION_NAMES.index(name)
        self.compression_level = config.get(f"compression.{name}.level")

    def replace_config(self, config: TopicConfig, by_broker: dict[int, "Topic"]) -> None:
        """Replace the configuration; what is in the logs keeps the segments of the old one."""
        before, before_min = self._all_segment_settings(), self.min_insync_replicas
        differed = bool(self.by_broker)
        self.config = config
        self.by_broker = by_broker
        self.refresh_settings()
        if self._all_segment_settings() != before:
            for partition in self.partitions:
                settings = before.get(partition.leader_id, before[NO_LEADER])
                partition.log.end_segment_settings(settings)
        if self.min_insync_replicas != before_min or differed or by_broker:
            for partition in self.partitions:
                self.hold_or_release(partition)

    def _all_segment_settings(self) -> dict[int, SegmentSettings]:
        """Return the settings of brokers that have others, and those of all others."""
        settings = {
            broker_id: topic.segment_settings for broker_id, topic in self.by_broker.items()
        }
        return settings | {NO_LEADER: self.segment_settings}

    def on_broker(self, broker_id: int) -> "Topic":
        """Return the topic with the configuration that it has on a broker."""
        return self.by_broker.get(broker_id, self)

    def on_different_brokers(self, own: TopicConfig, config: BrokerConfig) -> dict[int, "Topic"]:
        """Return the topic as brokers have it that give it other defaults than `own` has."""
        found = {}
        for broker_id in config.ids_of_different_brokers():
            there = TopicConfig(config.for_broker(broker_id), own.overrides)
            if dict(there) != dict(own):
                found[broker_id] = Topic(self.name, self.topic_id, self.partitions, there)
        return found

    def partition(self, partition_index: int) -> Partition | None:
        """Return the partition with this index, or None."""
        if 0 <= partition_index < len(self.partitions):
            return self.partitions[partition_index]
        return None


class TopicTable:
    """All topics, by name and by id, in the order they were created."""

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID | None, Topic] = {}
        self.get: Callable[[str], Topic | None] = self._by_name.get
        """Return the topic with this name, or None."""
        self.created_count = 0
        """How many topics have been added so far."""
        self.on_config: Callable[[Topic], None] | None = None
        """Called with a topic that is new, or has another configuration."""

    def __len__(self) -> int:
        return len(self._by_name)

    def get_by_id(self, topic_id: UUID | None) -> Topic | None:
        """Return the topic with this id, or None. An id of zeros is decoded as None."""
        return self._by_id.get(topic_id)

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with this id, or None."""
        topic = self._by_id.get(topic_id)
        return None if topic is None else topic.name

    def find(self, name: str, topic_id: UUID | None) -> Topic | None:
        """Return the topic that a request names by its id, or without an id by its name."""
        return self._by_name.get(name) if topic_id is None else self._by_id.get(topic_id)

    def has_partition(self, topic_id: UUID, partition_index: int) -> bool:
        """Return whether there is a partition of a topic."""
        topic = self._by_id.get(topic_id)
        return topic is not None and topic.partition(partition_index) is not None

    def all(self) -> Iterable[Topic]:
        """Return all topics, as a view that must not be kept across changes."""
        return self._by_name.values()

    def colliding_name(self, name: str, ignored_names: Collection[str] = ()) -> str | None:
        """Return a topic whose name differs only in `.` and `_` (equal in metrics), or None."""
        if "." not in name and "_" not in name:
            return None
        folded = name.replace(".", "_")
        for other in self._by_name:
            if other != name and other.replace(".", "_") == folded and other not in ignored_names:
                return other
        return None

    def add(self, topic: Topic) -> None:
        """Add a topic."""
        assert topic.name not in self._by_name
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self.created_count += 1
        if self.on_config is not None:
            self.on_config(topic)

    def replace_config(
        self, topic: Topic, config: TopicConfig, by_broker: dict[int, Topic]
    ) -> None:
        """Replace the configuration of a topic."""
        topic.replace_config(config, by_broker)
        if self.on_config is not None:
            self.on_config(topic)

    def remove(self, topic: Topic) -> None:
        """Remove a topic."""
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]


def place_replicas(
    broker_ids: Sequence[int], partition_count: int, replication_factor: int, first: int
) -> list[tuple[int, ...]]:
    """Spread partitions over brokers round robin, starting at the broker at index `first`.

    Each full round shifts the followers by one, as Kafka's placers do, so that the partitions of
    one leader have different followers. `first` also counts partitions that exist already.
    """
    broker_count = len(broker_ids)
    placed = []
    for number in range(first, first + partition_count):
        shift = number // broker_count
        replicas = [broker_ids[number % broker_count]]
        for follower in range(replication_factor - 1):
            distance = 1 + (shift + follower) % (broker_count - 1)
            replicas.append(broker_ids[(number + distance) % broker_count])
        placed.append(tuple(replicas))
    return placed
