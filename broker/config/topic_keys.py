"""The keys a topic can be configured with (Kafka's `TopicConfig` and `LogConfig`)."""

from collections.abc import Mapping
from types import MappingProxyType

from broker.config.broker_keys import COMPRESSION_TYPES, DAY_MS, HOUR_MS, LONG_MAX
from broker.config.keys import ConfigKey, ConfigType, by_name
from broker.config.values import (
    at_least,
    between,
    each_of,
    one_of,
    one_of_numbers,
    throttled_replicas,
)

_BOOLEAN, _STRING, _INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
_LONG, _DOUBLE, _LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST

ENFORCED_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "cleanup.policy",
        _LIST,
        ("delete",),
        "Whether old records are deleted. With compact, records need a key; none is compacted.",
        each_of("compact", "delete"),
        broker_synonym="log.cleanup.policy",
    ),
    ConfigKey(
        "max.message.bytes",
        _INT,
        1_048_588,
        "Largest record batch, as sent, that is accepted.",
        at_least(0),
        broker_synonym="message.max.bytes",
    ),
    ConfigKey(
        "message.timestamp.type",
        _STRING,
        "CreateTime",
        "Whether a record keeps its producer's timestamp or gets the time of its append.",
        one_of("CreateTime", "LogAppendTime"),
        broker_synonym="log.message.timestamp.type",
    ),
    ConfigKey(
        "message.timestamp.before.max.ms",
        _LONG,
        LONG_MAX,
        "How far a record's timestamp may lie before the broker's time.",
        at_least(0),
        broker_synonym="log.message.timestamp.before.max.ms",
    ),
    ConfigKey(
        "message.timestamp.after.max.ms",
        _LONG,
        HOUR_MS,
        "How far a record's timestamp may lie after the broker's time.",
        at_least(0),
        broker_synonym="log.message.timestamp.after.max.ms",
    ),
    ConfigKey(
        "min.insync.replicas",
        _INT,
        1,
        "In-sync replicas without which a write with acks=all is refused.",
        at_least(1),
        broker_synonym="min.insync.replicas",
    ),
    ConfigKey(
        "retention.bytes",
        _LONG,
        -1,
        "Bytes a partition keeps before its oldest records go; -1 is without limit.",
        broker_synonym="log.retention.bytes",
    ),
    ConfigKey(
        "retention.ms",
        _LONG,
        7 * DAY_MS,
        "Time a record is kept; -1 is for ever.",
        at_least(-1),
        broker_synonym="log.retention.ms",
    ),
    ConfigKey(
        "segment.bytes",
        _INT,
        1_073_741_824,
        "Largest batch a partition takes. There are no segments: retention drops single batches.",
        at_least(1024 * 1024),
        broker_synonym="log.segment.bytes",
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        _BOOLEAN,
        False,
        "Whether a replica that is not in sync may become leader, losing records.",
        broker_synonym="unclean.leader.election.enable",
    ),
)


def _accepted(key: ConfigKey) -> ConfigKey:
    return ConfigKey(
        key.name,
        key.config_type,
        key.default,
        key.doc,
        key.check,
        is_enforced=False,
        broker_synonym=key.broker_synonym,
    )


# Checked and described, without any effect: mostly about files, which this broker doesn't have.
ACCEPTED_KEYS: tuple[ConfigKey, ...] = tuple(
    _accepted(key)
    for key in (
        ConfigKey(
            "compression.type",
            _STRING,
            "producer",
            "How batches are stored; only producer, which keeps them as they were sent, has an"
            " effect.",
            one_of(*COMPRESSION_TYPES),
            broker_synonym="compression.type",
        ),
        ConfigKey(
            "compression.gzip.level",
            _INT,
            -1,
            "Level of gzip for batches the broker compresses; -1 is gzip's own default.",
            one_of_numbers(-1, 1, 2, 3, 4, 5, 6, 7, 8, 9),
            broker_synonym="compression.gzip.level",
        ),
        ConfigKey(
            "compression.lz4.level",
            _INT,
            9,
            "Level of lz4 for batches the broker compresses.",
            between(1, 17),
            broker_synonym="compression.lz4.level",
        ),
        ConfigKey(
            "compression.zstd.level",
            _INT,
            3,
            "Level of zstd for batches the broker compresses.",
            between(-131072, 22),
            broker_synonym="compression.zstd.level",
        ),
        ConfigKey(
            "delete.retention.ms",
            _LONG,
            DAY_MS,
            "Time that the deletion of a key stays visible in a compacted partition.",
            at_least(0),
            broker_synonym="log.cleaner.delete.retention.ms",
        ),
        ConfigKey(
            "file.delete.delay.ms",
            _LONG,
            60_000,
            "Time between removing a segment and deleting its file.",
            at_least(0),
            broker_synonym="log.segment.delete.delay.ms",
        ),
        ConfigKey(
            "flush.messages",
            _LONG,
            LONG_MAX,
            "Records after which a partition is written to disk.",
            at_least(1),
            broker_synonym="log.flush.interval.messages",
        ),
        ConfigKey(
            "flush.ms",
            _LONG,
            LONG_MAX,
            "Time after which a partition is written to disk.",
            at_least(0),
            broker_synonym="log.flush.interval.ms",
        ),
        ConfigKey(
            "index.interval.bytes",
            _INT,
            4096,
            "Bytes between two entries of an index file.",
            at_least(0),
            broker_synonym="log.index.interval.bytes",
        ),
        ConfigKey(
            "max.compaction.lag.ms",
            _LONG,
            LONG_MAX,
            "Time after which a record must have been compacted.",
            at_least(1),
            broker_synonym="log.cleaner.max.compaction.lag.ms",
        ),
        ConfigKey(
            "min.compaction.lag.ms",
            _LONG,
            0,
            "Time a record is safe from compaction.",
            at_least(0),
            broker_synonym="log.cleaner.min.compaction.lag.ms",
        ),
        ConfigKey(
            "min.cleanable.dirty.ratio",
            _DOUBLE,
            0.5,
            "Share of a partition not yet compacted at which compaction begins.",
            between(0, 1),
            broker_synonym="log.cleaner.min.cleanable.ratio",
        ),
        ConfigKey(
            "preallocate",
            _BOOLEAN,
            False,
            "Whether a segment's file is made at full size.",
            broker_synonym="log.preallocate",
        ),
        ConfigKey(
            "segment.index.bytes",
            _INT,
            10 * 1024 * 1024,
            "Largest index file of a segment.",
            at_least(4),
            broker_synonym="log.index.size.max.bytes",
        ),
        ConfigKey(
            "segment.ms",
            _LONG,
            7 * DAY_MS,
            "Age at which Kafka starts a new segment.",
            at_least(1),
            broker_synonym="log.roll.ms",
        ),
        ConfigKey(
            "segment.jitter.ms",
            _LONG,
            0,
            "Random time taken off segment.ms.",
            at_least(0),
            broker_synonym="log.roll.jitter.ms",
        ),
        ConfigKey(
            "leader.replication.throttled.replicas",
            _LIST,
            (),
            "Replicas whose leaders send at a limited rate: partition:broker, or * for all.",
            throttled_replicas,
        ),
        ConfigKey(
            "follower.replication.throttled.replicas",
            _LIST,
            (),
            "Replicas whose followers read at a limited rate: partition:broker, or * for all.",
            throttled_replicas,
        ),
        ConfigKey(
            "remote.storage.enable",
            _BOOLEAN,
            False,
            "Whether old segments move to tiered storage, which this broker doesn't have.",
        ),
        ConfigKey(
            "remote.log.copy.disable",
            _BOOLEAN,
            False,
            "Whether a tiered topic stops moving segments.",
        ),
        ConfigKey(
            "remote.log.delete.on.disable",
            _BOOLEAN,
            False,
            "Whether ending tiered storage of a topic deletes what was moved.",
        ),
        ConfigKey(
            "local.retention.ms",
            _LONG,
            -2,
            "Time a tiered partition keeps records locally; -2 is as long as retention.ms.",
            at_least(-2),
            broker_synonym="log.local.retention.ms",
        ),
        ConfigKey(
            "local.retention.bytes",
            _LONG,
            -2,
            "Bytes a tiered partition keeps locally; -2 is as many as retention.bytes.",
            at_least(-2),
            broker_synonym="log.local.retention.bytes",
        ),
    )
)

TOPIC_KEYS: Mapping[str, ConfigKey] = MappingProxyType(by_name(ENFORCED_KEYS, ACCEPTED_KEYS))
"""Every key a topic knows, sorted by name."""
