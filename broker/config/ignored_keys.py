"""Broker keys that are accepted, checked and described, and change nothing yet.

Users bring a broker's properties along; a key that Kafka's own default file or images set must not
stop the broker from starting. What is here is said to be without effect in the documentation.
"""

from functools import partial

from broker.config.broker_keys import DAY_MS, HOUR_MS, LONG_MAX
from broker.config.keys import ConfigKey, ConfigType
from broker.config.values import (
    at_least,
    between,
    one_of_numbers,
)

_BOOLEAN, _STRING, _INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
_LONG, _DOUBLE, _LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
_SHORT = ConfigType.SHORT


_accepted = partial(ConfigKey, is_enforced=False)

TRANSACTION_KEYS: tuple[ConfigKey, ...] = (
    _accepted(
        "transaction.max.timeout.ms",
        _INT,
        900_000,
        "Longest transaction timeout a producer may ask for.",
        at_least(1),
    ),
    _accepted(
        "transactional.id.expiration.ms",
        _INT,
        7 * DAY_MS,
        "Time after its last use that a transactional id is forgotten.",
        at_least(1),
    ),
    _accepted(
        "transaction.partition.verification.enable",
        _BOOLEAN,
        True,
        "Whether a transactional write to a partition outside its transaction is refused.",
        is_dynamic=True,
        is_per_broker=True,
    ),
    _accepted(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        _INT,
        10_000,
        "How often transactions past their timeout are looked for.",
        at_least(1),
    ),
    _accepted(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        _INT,
        3_600_000,
        "How often transactional ids past their expiration are looked for.",
        at_least(1),
    ),
    _accepted(
        "transaction.state.log.replication.factor",
        _SHORT,
        3,
        "Replicas of Kafka's internal topic of transactions, which this broker doesn't have.",
        at_least(1),
    ),
    _accepted(
        "transaction.state.log.min.isr",
        _INT,
        2,
        "In-sync replicas of Kafka's internal topic of transactions.",
        at_least(1),
    ),
    _accepted(
        "transaction.state.log.num.partitions",
        _INT,
        50,
        "Partitions of Kafka's internal topic of transactions.",
        at_least(1),
    ),
)

INTERNAL_TOPIC_KEYS: tuple[ConfigKey, ...] = (
    _accepted(
        "offsets.topic.replication.factor",
        _SHORT,
        3,
        "Replicas of Kafka's internal topic of offsets, which this broker doesn't have.",
        at_least(1),
    ),
    _accepted(
        "offsets.topic.num.partitions",
        _INT,
        50,
        "Partitions of Kafka's internal topic of offsets.",
        at_least(1),
    ),
    _accepted(
        "share.coordinator.state.topic.replication.factor",
        _SHORT,
        3,
        "Replicas of Kafka's internal topic of share groups.",
        at_least(1),
    ),
    _accepted(
        "share.coordinator.state.topic.min.isr",
        _SHORT,
        2,
        "In-sync replicas of Kafka's internal topic of share groups.",
        at_least(1),
    ),
)

# What a topic's keys fall back to, where neither the topic nor its broker does anything with it.
LOG_DETAIL_KEYS: tuple[ConfigKey, ...] = (
    _accepted(
        "log.roll.ms",
        _LONG,
        None,
        "Age at which Kafka starts a new segment. Without it log.roll.hours counts.",
        at_least(1),
        is_dynamic=True,
    ),
    _accepted(
        "log.roll.hours",
        _INT,
        168,
        "Hours after which Kafka starts a new segment, when log.roll.ms is not set.",
        at_least(1),
    ),
    _accepted(
        "log.roll.jitter.ms",
        _LONG,
        None,
        "Random time taken off log.roll.ms. Without it log.roll.jitter.hours counts.",
        at_least(0),
        is_dynamic=True,
    ),
    _accepted(
        "log.roll.jitter.hours", _INT, 0, "Random hours taken off log.roll.hours.", at_least(0)
    ),
    _accepted(
        "log.index.size.max.bytes",
        _INT,
        10 * 1024 * 1024,
        "Largest index file of a segment.",
        at_least(4),
        is_dynamic=True,
    ),
    _accepted(
        "log.index.interval.bytes",
        _INT,
        4096,
        "Bytes between two entries of an index file.",
        at_least(0),
        is_dynamic=True,
    ),
    _accepted(
        "log.flush.interval.messages",
        _LONG,
        LONG_MAX,
        "Records after which a partition is written to disk.",
        at_least(1),
        is_dynamic=True,
    ),
    _accepted(
        "log.flush.interval.ms",
        _LONG,
        None,
        "Time after which a partition is written to disk.",
        at_least(0),
        is_dynamic=True,
    ),
    _accepted(
        "log.flush.scheduler.interval.ms",
        _LONG,
        LONG_MAX,
        "How often partitions to be written to disk are looked for.",
        at_least(0),
    ),
    _accepted(
        "log.segment.delete.delay.ms",
        _LONG,
        60_000,
        "Time between removing a segment and deleting its file.",
        at_least(0),
        is_dynamic=True,
    ),
    _accepted(
        "log.preallocate",
        _BOOLEAN,
        False,
        "Whether a segment's file is made at full size.",
        is_dynamic=True,
    ),
    _accepted("log.cleaner.enable", _BOOLEAN, True, "Whether Kafka compacts topics at all."),
    _accepted(
        "log.cleaner.threads",
        _INT,
        1,
        "Kafka's threads for compaction.",
        at_least(0),
        is_dynamic=True,
        is_per_broker=True,
    ),
    _accepted(
        "log.cleaner.delete.retention.ms",
        _LONG,
        DAY_MS,
        "Time that the deletion of a key stays visible in a compacted partition.",
        at_least(0),
        is_dynamic=True,
    ),
    _accepted(
        "log.cleaner.min.compaction.lag.ms",
        _LONG,
        0,
        "Time a record is safe from Kafka's compaction.",
        at_least(0),
        is_dynamic=True,
    ),
    _accepted(
        "log.cleaner.max.compaction.lag.ms",
        _LONG,
        LONG_MAX,
        "Time after which a record must have been compacted.",
        at_least(1),
        is_dynamic=True,
    ),
    _accepted(
        "log.cleaner.min.cleanable.ratio",
        _DOUBLE,
        0.5,
        "Share of a partition not yet compacted at which compaction begins.",
        between(0, 1),
        is_dynamic=True,
    ),
    _accepted(
        "compression.gzip.level",
        _INT,
        -1,
        "Level of gzip for batches the broker compresses; -1 is gzip's own default.",
        one_of_numbers(-1, 1, 2, 3, 4, 5, 6, 7, 8, 9),
        is_dynamic=True,
    ),
    _accepted(
        "compression.lz4.level",
        _INT,
        9,
        "Level of lz4 for batches the broker compresses.",
        between(1, 17),
        is_dynamic=True,
    ),
    _accepted(
        "compression.zstd.level",
        _INT,
        3,
        "Level of zstd for batches the broker compresses.",
        between(-131072, 22),
        is_dynamic=True,
    ),
    _accepted(
        "log.local.retention.ms",
        _LONG,
        -2,
        "Time a tiered partition keeps records locally; -2 is as long as its retention.",
        at_least(-2),
        is_dynamic=True,
    ),
    _accepted(
        "log.local.retention.bytes",
        _LONG,
        -2,
        "Bytes a tiered partition keeps locally; -2 is as many as its retention.",
        at_least(-2),
        is_dynamic=True,
    ),
)

PROCESS_KEYS: tuple[ConfigKey, ...] = (
    _accepted(
        "node.id", _INT, -1, "Kafka's id of a broker; here brokers count from 1.", at_least(-1)
    ),
    _accepted("broker.id", _INT, -1, "Older name of node.id.", at_least(-1)),
    _accepted("process.roles", _LIST, (), "Whether a Kafka process is broker, controller or both."),
    _accepted("controller.quorum.voters", _LIST, (), "The controllers of a Kafka cluster."),
    _accepted(
        "controller.quorum.bootstrap.servers",
        _LIST,
        (),
        "Where the controllers of a Kafka cluster are found.",
    ),
    _accepted(
        "controller.listener.names", _LIST, (), "The listeners that Kafka's controllers use."
    ),
    _accepted(
        "inter.broker.listener.name",
        _STRING,
        None,
        "The listener that Kafka's brokers use among themselves.",
    ),
    _accepted(
        "security.inter.broker.protocol",
        _STRING,
        "PLAINTEXT",
        "What Kafka's brokers speak among themselves.",
    ),
    _accepted(
        "sasl.mechanism.inter.broker.protocol",
        _STRING,
        "GSSAPI",
        "How Kafka's brokers authenticate among themselves.",
    ),
    _accepted(
        "replica.lag.time.max.ms",
        _LONG,
        30_000,
        "Time after which Kafka takes a follower that lags for out of sync; here none lags.",
    ),
    _accepted(
        "replica.fetch.max.bytes",
        _INT,
        1_048_576,
        "Bytes of a partition that a follower fetches; here replicas share one log.",
        at_least(0),
    ),
    _accepted(
        "num.replica.fetchers",
        _INT,
        1,
        "Kafka's threads for following a leader; here replicas share one log.",
        is_dynamic=True,
        is_per_broker=True,
    ),
    _accepted("log.dir", _LIST, ("/tmp/kafka-logs",), "Kafka's folder; here logs are in memory."),  # noqa: S108
    _accepted("log.dirs", _LIST, None, "Kafka's folders; here logs are in memory."),
    _accepted(
        "num.network.threads",
        _INT,
        3,
        "Kafka's threads for connections; here there is one for all.",
        at_least(1),
        is_dynamic=True,
        is_per_broker=True,
    ),
    _accepted(
        "num.io.threads",
        _INT,
        8,
        "Kafka's threads for requests; here there is one for all.",
        at_least(1),
        is_dynamic=True,
        is_per_broker=True,
    ),
    _accepted(
        "queued.max.requests",
        _INT,
        500,
        "Requests that may wait for Kafka's threads; here each is answered as it comes.",
        at_least(1),
    ),
    _accepted(
        "background.threads",
        _INT,
        10,
        "Kafka's threads for regular work; here there is one for all.",
        at_least(1),
        is_dynamic=True,
        is_per_broker=True,
    ),
    _accepted(
        "num.recovery.threads.per.data.dir",
        _INT,
        2,
        "Kafka's threads for reading its folders when it starts.",
        at_least(1),
        is_dynamic=True,
        is_per_broker=True,
    ),
    _accepted(
        "socket.send.buffer.bytes",
        _INT,
        102_400,
        "Size of a socket's send buffer; -1 is the system's default.",
        at_least(-1),
    ),
    _accepted(
        "socket.receive.buffer.bytes",
        _INT,
        102_400,
        "Size of a socket's receive buffer; -1 is the system's default.",
        at_least(-1),
    ),
    _accepted(
        "auto.leader.rebalance.enable",
        _BOOLEAN,
        True,
        "Whether leadership goes back to the preferred replica by itself.",
    ),
    _accepted(
        "leader.imbalance.check.interval.seconds",
        _LONG,
        HOUR_MS // 12 // 1000,
        "How often leadership away from the preferred replica is looked for.",
        at_least(1),
    ),
    _accepted(
        "leader.imbalance.per.broker.percentage",
        _INT,
        10,
        "Share of partitions led by another than the preferred replica that is put up with.",
    ),
)
