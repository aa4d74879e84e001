# ruff: noqa: E501
"""The keys of a topic (Kafka's `TopicConfig` and `LogConfig`)."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from broker.config.broker_keys import COMPRESSION_TYPES, DAY_MS, HOUR_MS, LONG_MAX
from broker.config.effects import (
    FILES,
    TESTS_OF_KAFKA,
    TIERED_ONLY,
    Effect,
)
from broker.config.keys import (
    BOOLEAN,
    CLUSTER_WIDE,
    DOUBLE,
    INT,
    LIST,
    LONG,
    STRING,
    Check,
    ConfigKey,
    ConfigType,
    ListRule,
    by_name,
    unseen_key,
)
from broker.config.synthetic_keys import SYNTHETIC_KEYS, SYNTHETIC_NAMES
from broker.config.values import (
    at_least,
    between,
    gzip_level,
    one_of,
    throttled_replicas,
)
from protocol.records import RECORD_BYTES_MAX


def _key(
    name: str,
    config_type: ConfigType,
    default: Any,
    check: Check | ListRule | None,
    broker_synonym: str | None,
    doc: str,
    *,
    effect: Effect = Effect.ACTS,
    reason: str | None = None,
) -> ConfigKey:
    return ConfigKey(
        name,
        config_type,
        default,
        check,
        CLUSTER_WIDE,
        doc,
        effect,
        broker_synonym=broker_synonym,
        reason=reason,
    )


_unseen = partial(_key, effect=Effect.UNSEEN)

# fmt: off
ENFORCED_KEYS: tuple[ConfigKey, ...] = (
    _key("cleanup.policy",                  LIST,    ("delete",),   ListRule(("compact", "delete")), "log.cleanup.policy",             "Whether old segments are deleted, and whether the last record of each key is kept, for which records need a key. With an empty list neither."),
    _key("max.message.bytes",               INT,     1_048_588,     at_least(0),              "message.max.bytes",              "Largest record batch, as sent, that the broker accepts."),
    _key("max.decompressed.message.bytes",  INT,     RECORD_BYTES_MAX, between(1, RECORD_BYTES_MAX), "max.decompressed.message.bytes", "Largest record of a compressed batch, after decompression."),
    _key("compression.type",                STRING,  "producer",    one_of(*COMPRESSION_TYPES), "compression.type",              "How the broker compresses stored batches; producer keeps them as they were sent."),
    _key("compression.gzip.level",          INT,     -1,            gzip_level,               "compression.gzip.level",         "Level of gzip for batches that the broker compresses; -1 is gzip's own default."),
    _key("compression.lz4.level",           INT,     9,             between(1, 17),           "compression.lz4.level",          "Level of lz4 for batches that the broker compresses."),
    _key("compression.zstd.level",          INT,     3,             between(-131072, 22),     "compression.zstd.level",         "Level of zstd for batches that the broker compresses."),
    _key("message.timestamp.type",          STRING,  "CreateTime",  one_of("CreateTime", "LogAppendTime"), "log.message.timestamp.type",     "Whether a record keeps its producer's timestamp or gets the time of its append."),
    _key("message.timestamp.before.max.ms", LONG,    LONG_MAX,      at_least(0),              "log.message.timestamp.before.max.ms", "How far a record's timestamp may be behind the broker's time."),
    _key("message.timestamp.after.max.ms",  LONG,    HOUR_MS,       at_least(0),              "log.message.timestamp.after.max.ms", "How far a record's timestamp may be ahead of the broker's time."),
    _key("min.insync.replicas",             INT,     1,             at_least(1),              "min.insync.replicas",            "In-sync replicas that a write with acks=all needs."),
    _key("retention.bytes",                 LONG,    -1,            None,                     "log.retention.bytes",            "Bytes a partition keeps; older segments are deleted. -1 is unlimited."),
    _key("retention.ms",                    LONG,    7 * DAY_MS,    at_least(-1),             "log.retention.ms",               "Time a segment is kept after its newest record; -1 is for ever."),
    _key("segment.bytes",                   INT,     1_073_741_824, at_least(1024 * 1024),    "log.segment.bytes",              "Size at which a segment ends. Retention deletes whole segments."),
    _key("segment.ms",                      LONG,    7 * DAY_MS,    at_least(1),              "log.roll.ms",                    "Time after its first record at which a segment ends."),
    _key("segment.jitter.ms",               LONG,    0,             at_least(0),              "log.roll.jitter.ms",             "Most of the time that is taken off segment.ms, another for each segment."),
    _key("segment.index.bytes",             INT,     10 * 1024 * 1024, at_least(4),           "log.index.size.max.bytes",       "Size of an index at which a segment ends; there are no files."),
    _key("index.interval.bytes",            INT,     4096,          at_least(0),              "log.index.interval.bytes",       "Bytes between two entries of an index."),
    _key("unclean.leader.election.enable",  BOOLEAN, False,         None,                     "unclean.leader.election.enable", "Whether a replica that is not in sync may become leader, losing records."),
    _key("delete.retention.ms",                     LONG,    DAY_MS,           at_least(0),              "log.cleaner.delete.retention.ms", "Time that a compacted partition keeps the deletion of a key after it was first cleaned."),
    _key("max.compaction.lag.ms",                   LONG,    LONG_MAX,         at_least(1),              "log.cleaner.max.compaction.lag.ms", "Age at which a dirty segment is compacted, whatever the ratio; segment.ms is not longer."),
    _key("min.compaction.lag.ms",                   LONG,    0,                at_least(0),              "log.cleaner.min.compaction.lag.ms", "Age of its newest record below which a segment is not compacted."),
    _key("errors.deadletterqueue.group.enable",     BOOLEAN, False,            None,                     None,                             "Whether the topic may be the dead letter queue of share groups."),
    _key("min.cleanable.dirty.ratio",               DOUBLE,  0.5,              between(0, 1),            "log.cleaner.min.cleanable.ratio", "Share of the bytes of a partition that must not be compacted yet before compaction begins."),
)

# Checked and described without any effect, but for remote.storage.enable, which is refused.
IGNORED_KEYS: tuple[ConfigKey, ...] = (
    _unseen("file.delete.delay.ms",                    LONG,    60_000,           at_least(0),              "log.segment.delete.delay.ms",    "Time between removing a segment and deleting its file.", reason=FILES),
    _unseen("flush.messages",                          LONG,    LONG_MAX,         at_least(1),              "log.flush.interval.messages",    "Records after which Kafka writes a partition to disk.", reason=FILES),
    _unseen("flush.ms",                                LONG,    LONG_MAX,         at_least(0),              "log.flush.interval.ms",          "Time after which Kafka writes a partition to disk.", reason=FILES),
    _unseen("preallocate",                             BOOLEAN, False,            None,                     "log.preallocate",                "Whether Kafka creates a segment's file at full size.", reason=FILES),
    _key("leader.replication.throttled.replicas",   LIST,    (),               throttled_replicas("leader.replication.throttled.replicas"),       None,                             "Replicas whose leaders send at a limited rate: partition:broker, or * for all."),
    _key("follower.replication.throttled.replicas", LIST,    (),               throttled_replicas("follower.replication.throttled.replicas"),       None,                             "Replicas whose followers fetch at a limited rate: partition:broker, or * for all."),
    _key("remote.storage.enable",                   BOOLEAN, False,            None,                     None,                             "Whether old segments move to tiered storage, which this broker does not have."),
    _unseen("remote.log.copy.disable",                 BOOLEAN, False,            None,                     None,                             "Whether a tiered topic stops moving segments.", reason=TIERED_ONLY),
    _unseen("remote.log.delete.on.disable",            BOOLEAN, False,            None,                     None,                             "Whether disabling tiered storage deletes what was moved.", reason=TIERED_ONLY),
    _unseen("remote.copy.lag.ms",                      LONG,    0,                at_least(-1),             "log.remote.copy.lag.ms",         "Time after which a segment moves to tiered storage; -1 is local.retention.ms.", reason=TIERED_ONLY),
    _unseen("remote.copy.lag.bytes",                   LONG,    -1,               at_least(-1),             "log.remote.copy.lag.bytes",      "Newer bytes after which a segment moves to tiered storage; -1 is local.retention.bytes.", reason=TIERED_ONLY),
    _unseen("local.retention.ms",                      LONG,    -2,               at_least(-2),             "log.local.retention.ms",         "Time that a tiered partition keeps records locally; -2 is retention.ms.", reason=TIERED_ONLY),
    _unseen("local.retention.bytes",                   LONG,    -2,               at_least(-2),             "log.local.retention.bytes",      "Bytes that a tiered partition keeps locally; -2 is retention.bytes.", reason=TIERED_ONLY),
)
# fmt: on

# For tests of Kafka, which sets it in its own.
INTERNAL_KEYS: tuple[ConfigKey, ...] = (
    unseen_key(
        "internal.segment.bytes",
        INT,
        None,
        None,
        CLUSTER_WIDE,
        is_internal=True,
        reason=TESTS_OF_KAFKA,
    ),
)

TOPIC_KEYS: Mapping[str, ConfigKey] = MappingProxyType(
    by_name(ENFORCED_KEYS, IGNORED_KEYS, INTERNAL_KEYS, SYNTHETIC_KEYS)
)
"""Every key a topic knows, sorted by name."""

CHECK_ORDER: tuple[str, ...] = (
    "segment.bytes",
    "segment.ms",
    "segment.jitter.ms",
    "segment.index.bytes",
    "flush.messages",
    "flush.ms",
    "retention.bytes",
    "retention.ms",
    "max.message.bytes",
    "max.decompressed.message.bytes",
    "index.interval.bytes",
    "delete.retention.ms",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "file.delete.delay.ms",
    "min.cleanable.dirty.ratio",
    "cleanup.policy",
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "preallocate",
    "message.timestamp.type",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "remote.storage.enable",
    "local.retention.ms",
    "local.retention.bytes",
    "remote.log.copy.disable",
    "remote.copy.lag.ms",
    "remote.copy.lag.bytes",
    "remote.log.delete.on.disable",
    "errors.deadletterqueue.group.enable",
    "internal.segment.bytes",
    *SYNTHETIC_NAMES,
)
"""All keys in the order in which Kafka checks their values: that of `LogConfig.CONFIG`, ours last."""
