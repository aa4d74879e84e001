"""Broker keys this broker acts on: cluster, topics, logs, connections, groups, producers."""

from broker.config.api_versions import api_versions_problem
from broker.config.keys import ConfigKey, ConfigType
from broker.config.values import (
    at_least,
    between,
    each_of,
    more_than,
    one_of,
    one_of_numbers,
    unlimited_or_positive,
)

_BOOLEAN, _STRING, _INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
_LONG, _LIST = ConfigType.LONG, ConfigType.LIST

LONG_MAX = (1 << 63) - 1
INT_MAX = (1 << 31) - 1
DAY_MS = 24 * 60 * 60 * 1000
HOUR_MS = 60 * 60 * 1000
MINUTE_MS = 60 * 1000
COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

CLUSTER_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "cluster.id",
        _STRING,
        None,
        "The id by which clients know this cluster; without it the broker chooses one.",
        is_mock_only=True,
    ),
    ConfigKey(
        "broker.clock",
        _STRING,
        "real",
        "How the broker's time goes by: like the machine's, faster or slower by"
        " broker.clock.factor, or only when it is moved.",
        one_of("real", "scaled", "standing"),
        is_mock_only=True,
    ),
    ConfigKey(
        "broker.clock.factor",
        ConfigType.DOUBLE,
        1.0,
        "How many times faster than the machine's the time of a scaled clock goes by.",
        more_than(0),
        is_mock_only=True,
    ),
    ConfigKey(
        "broker.max.producer.ids",
        ConfigType.INT,
        -1,
        "Producer ids over the partitions that a broker leads, beyond which it stops as if it were"
        " out of memory; -1 for any number.",
        unlimited_or_positive,
        is_dynamic=True,
        is_per_broker=True,
        is_mock_only=True,
    ),
    ConfigKey(
        "controller.mutation.time.ms",
        ConfigType.DOUBLE,
        0.0,
        "Time that the controller takes for each partition that a request creates, adds or deletes;"
        " other requests of this kind and elections wait until it is done.",
        between(0, MINUTE_MS),
        is_dynamic=True,
        is_mock_only=True,
    ),
    ConfigKey(
        "broker.api.versions",
        _LIST,
        (),
        "The APIs and versions that clients find: a release of Kafka such as 2.8, NAME=HIGHEST,"
        " NAME=LOWEST-HIGHEST or NAME=-1 for single APIs; all there are if empty.",
        api_versions_problem,
        is_dynamic=True,
        is_per_broker=True,
        is_mock_only=True,
    ),
    ConfigKey(
        "broker.rack",
        _STRING,
        None,
        "The rack this broker tells its clients it is in.",
        is_per_broker=True,
    ),
    ConfigKey(
        "advertised.listeners",
        _LIST,
        None,
        "The addresses clients are told to connect to, when they differ from listeners.",
    ),
)

TOPIC_DEFAULT_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "num.partitions",
        _INT,
        1,
        "Partitions of a topic that is created without a number of its own.",
        at_least(1),
    ),
    ConfigKey(
        "default.replication.factor",
        _INT,
        1,
        "Replicas of each partition of a topic that is created without a number of its own.",
        at_least(1),
    ),
    ConfigKey(
        "auto.create.topics.enable",
        _BOOLEAN,
        True,
        "Whether asking for the metadata of a topic that is not there creates it.",
    ),
    ConfigKey("delete.topic.enable", _BOOLEAN, True, "Whether topics may be deleted."),
    ConfigKey(
        "min.insync.replicas",
        _INT,
        1,
        "In-sync replicas without which a write with acks=all is refused.",
        at_least(1),
        is_dynamic=True,
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        _BOOLEAN,
        False,
        "Whether a replica that is not in sync may become leader, losing records.",
        is_dynamic=True,
    ),
    ConfigKey(
        "message.max.bytes",
        _INT,
        1_048_588,
        "Largest record batch, as sent, that is accepted.",
        at_least(0),
        is_dynamic=True,
    ),
    ConfigKey(
        "compression.type",
        _STRING,
        "producer",
        "How batches are stored; only producer, which keeps them as they were sent, has an effect.",
        one_of(*COMPRESSION_TYPES),
        is_dynamic=True,
        is_enforced=False,
    ),
    ConfigKey(
        "log.message.timestamp.type",
        _STRING,
        "CreateTime",
        "Whether a record keeps its producer's timestamp or gets the time of its append.",
        one_of("CreateTime", "LogAppendTime"),
        is_dynamic=True,
    ),
    ConfigKey(
        "log.message.timestamp.before.max.ms",
        _LONG,
        LONG_MAX,
        "How far a record's timestamp may lie before the broker's time.",
        at_least(0),
        is_dynamic=True,
    ),
    ConfigKey(
        "log.message.timestamp.after.max.ms",
        _LONG,
        HOUR_MS,
        "How far a record's timestamp may lie after the broker's time.",
        at_least(0),
        is_dynamic=True,
    ),
)

LOG_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "log.retention.bytes",
        _LONG,
        -1,
        "Bytes a partition keeps before its oldest records go; -1 is without limit.",
        is_dynamic=True,
    ),
    ConfigKey(
        "log.retention.ms",
        _LONG,
        None,
        "Time a record is kept; -1 is for ever. Without it log.retention.minutes counts.",
        unlimited_or_positive,
        is_dynamic=True,
    ),
    ConfigKey(
        "log.retention.minutes",
        _INT,
        None,
        "Minutes a record is kept. Without it log.retention.hours counts.",
        unlimited_or_positive,
    ),
    ConfigKey(
        "log.retention.hours",
        _INT,
        168,
        "Hours a record is kept, when neither milliseconds nor minutes are set.",
        unlimited_or_positive,
    ),
    ConfigKey(
        "log.retention.check.interval.ms",
        _LONG,
        300_000,
        "How often records past their retention are looked for.",
        at_least(1),
    ),
    ConfigKey(
        "log.memory.max.bytes",
        _LONG,
        2_147_483_648,
        "Bytes that all partitions together may hold; beyond it the oldest batches of the largest"
        " partition go.",
        at_least(1),
        is_dynamic=True,
        is_mock_only=True,
    ),
    ConfigKey(
        "log.segment.bytes",
        _INT,
        1_073_741_824,
        "Largest batch a partition takes. There are no segments: retention drops single batches.",
        at_least(1024 * 1024),
        is_dynamic=True,
    ),
    ConfigKey(
        "log.cleanup.policy",
        _LIST,
        ("delete",),
        "Whether old records are deleted. With compact, records need a key; none is compacted.",
        each_of("compact", "delete"),
        is_dynamic=True,
    ),
)

CONNECTION_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "socket.request.max.bytes",
        _INT,
        104_857_600,
        "Largest request; a client that announces a larger one is disconnected.",
        at_least(1),
    ),
    ConfigKey(
        "connections.max.idle.ms",
        _LONG,
        600_000,
        "Time after which a connection without requests is closed; -1 is never.",
    ),
    ConfigKey(
        "max.connections",
        _INT,
        INT_MAX,
        "Connections a broker holds at once.",
        at_least(0),
        is_dynamic=True,
        is_per_broker=True,
    ),
    ConfigKey(
        "max.connections.per.ip",
        _INT,
        INT_MAX,
        "Connections a broker holds at once from one address.",
        at_least(0),
        is_dynamic=True,
        is_per_broker=True,
    ),
    ConfigKey(
        "fetch.max.bytes",
        _INT,
        57_671_680,
        "Most bytes of records one Fetch returns, whatever the client asks for.",
        at_least(1024),
    ),
    ConfigKey(
        "max.incremental.fetch.session.cache.slots",
        _INT,
        1000,
        "Incremental fetch sessions a broker remembers.",
        at_least(0),
    ),
)

GROUP_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "group.initial.rebalance.delay.ms",
        _INT,
        0,
        "How long the first rebalance of an empty group waits for more members. Kafka's default is"
        " 3000; here it is 0, so that tests don't wait.",
        at_least(0),
    ),
    ConfigKey(
        "group.min.session.timeout.ms",
        _INT,
        6000,
        "Shortest session timeout a member may ask for.",
        at_least(1),
    ),
    ConfigKey(
        "group.max.session.timeout.ms",
        _INT,
        1_800_000,
        "Longest session timeout a member may ask for.",
        at_least(1),
    ),
    ConfigKey("group.max.size", _INT, INT_MAX, "Members one group may have.", at_least(1)),
    ConfigKey(
        "offset.metadata.max.bytes",
        _INT,
        4096,
        "Longest text that may be committed beside an offset.",
        at_least(0),
    ),
    ConfigKey(
        "offsets.retention.minutes",
        _INT,
        10_080,
        "Minutes that committed offsets outlive the last member of their group.",
        at_least(1),
    ),
    ConfigKey(
        "offsets.retention.check.interval.ms",
        _LONG,
        600_000,
        "How often committed offsets past their retention are looked for.",
        at_least(1),
    ),
)

PRODUCER_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "producer.id.expiration.ms",
        _INT,
        DAY_MS,
        "Time after its last write that a partition forgets an idempotent producer.",
        at_least(1),
        is_dynamic=True,
        is_per_broker=True,
    ),
    ConfigKey(
        "producer.id.expiration.check.interval.ms",
        _INT,
        600_000,
        "How often idempotent producers past their expiration are looked for.",
        at_least(1),
    ),
    ConfigKey(
        "producer.state.batches",
        _INT,
        1,
        "Batches of an idempotent producer that a partition remembers: 1 follows KIP-758, 5 is what"
        " Kafka does today.",
        one_of_numbers(1, 5),
        is_dynamic=True,
        is_per_broker=True,
        is_mock_only=True,
    ),
    ConfigKey(
        "max.in.flight.sequence.number.per.connection",
        _INT,
        10_000_000,
        "Sequence numbers behind the last one that still count as a duplicate (KIP-758).",
        between(1, 1 << 30),
        is_dynamic=True,
        is_per_broker=True,
        is_mock_only=True,
    ),
)

AUDIT_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "audit.enable",
        _BOOLEAN,
        False,
        "Whether acknowledged batches are recorded, so that the audit can compare them with logs.",
        is_mock_only=True,
    ),
    ConfigKey(
        "audit.acknowledgements.max",
        _INT,
        100_000,
        "Acknowledged batches that the audit covers; beyond it the oldest are dropped and counted.",
        at_least(1),
        is_mock_only=True,
    ),
)

JOURNAL_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "journal.enable",
        _BOOLEAN,
        False,
        "Whether requests and their responses are remembered; with an admin port they always are.",
        is_mock_only=True,
    ),
    ConfigKey(
        "journal.entries.max",
        _INT,
        10_000,
        "Requests that are remembered; beyond it the oldest go.",
        at_least(1),
        is_mock_only=True,
    ),
    ConfigKey(
        "journal.bytes.max",
        _LONG,
        67_108_864,
        "Bytes of remembered requests and responses; beyond it the oldest go.",
        at_least(0),
        is_mock_only=True,
    ),
    ConfigKey(
        "broker.admin.token",
        ConfigType.PASSWORD,
        None,
        "What callers of the admin port must send as Authorization: Bearer; without it, nothing.",
        is_mock_only=True,
    ),
)
