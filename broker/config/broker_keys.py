# ruff: noqa: E501
"""Keys that the broker acts on: cluster, topics, logs, connections, groups, producers."""

from broker.config.api_versions import api_versions_problem
from broker.config.features import feature_levels_problem
from broker.config.keys import (
    BOOLEAN,
    CLUSTER_WIDE,
    DOUBLE,
    INT,
    LIST,
    LONG,
    ONE_BROKER,
    ONE_BROKER_OF_MOCK,
    PASSWORD,
    PER_BROKER,
    READ_ONLY,
    SHORT,
    STATIC_PER_BROKER,
    STRING,
    ConfigKey,
    ListRule,
    mock_key,
)
from broker.config.values import (
    at_least,
    between,
    explained_by,
    gzip_level,
    http_url,
    more_than,
    one_of,
    one_of_numbers,
    unlimited_or_positive,
)
from protocol.records import RECORD_BYTES_MAX

LONG_MAX = (1 << 63) - 1
INT_MAX = (1 << 31) - 1
DAY_MS = 24 * 60 * 60 * 1000
HOUR_MS = 60 * 60 * 1000
MINUTE_MS = 60 * 1000
COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

NOT_EMPTY = ListRule(is_empty_allowed=False)

RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

# fmt: off
CLUSTER_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("node.id",                    INT,    None,   between(0, 1_000_000),    READ_ONLY,         "Id of the first broker; the next ones count on from it. The default is 1."),
    ConfigKey("broker.id",                  INT,    -1,     None,                     READ_ONLY,         "Older name of node.id."),
    mock_key("cluster.id",                  STRING, None,   None,                     READ_ONLY,         "Id of this cluster; if unset, the broker generates one."),
    mock_key("cluster.features",            LIST,   (),     explained_by(feature_levels_problem), READ_ONLY,         "Finalized levels of features at the start, as NAME=LEVEL. Others have the level of the release, if it is implemented."),
    mock_key("broker.clock",                STRING, "real", one_of("real", "scaled", "standing"), READ_ONLY,         "How time passes: as in reality, scaled by broker.clock.factor, or standing until it is moved."),
    mock_key("broker.clock.factor",         DOUBLE, 1.0,    more_than(0),             READ_ONLY,         "How many times faster than real time a scaled clock runs."),
    mock_key("request.elements.max",        INT,    50_000,  at_least(1),             READ_ONLY,         "Elements of all arrays of a request together; a request with more closes its connection."),
    mock_key("response.bytes.max",          INT,    16_777_216, at_least(65_536),     READ_ONLY,         "Longest response, with the records of a Fetch; a request that asks for more closes its connection. A Fetch gets fewer records instead."),
    mock_key("request.queue.bytes.max",     LONG,   134_217_728, at_least(-1),         READ_ONLY,         "Bytes of the requests that wait for their turns; beyond it the broker reads no more of large requests other than Produce. -1 is no limit."),
    mock_key("broker.max.producer.ids",     INT,    -1,     unlimited_or_positive,    PER_BROKER,        "Producer ids in the partitions a broker leads; with more it stops, as if out of memory. -1 is unlimited."),
    mock_key("controller.mutation.time.us", INT,    0,      between(0, MINUTE_MS * 1000), CLUSTER_WIDE,  "Microseconds the controller takes for each partition it creates, adds or deletes; later mutations and elections wait."),
    mock_key("broker.api.versions",         LIST,   ("4.4",), explained_by(api_versions_problem), PER_BROKER,        "The Kafka release to behave as (2.8), and APIs with other versions: NAME=HIGHEST, NAME=LOWEST-HIGHEST, or NAME=-1 for none."),
    ConfigKey("broker.rack",                STRING, None,   None,                     STATIC_PER_BROKER, "Rack of the broker, as clients see it in Metadata."),
    ConfigKey("cordoned.log.dirs",          LIST,   (),     ListRule(),               ONE_BROKER,        "Log directories that get no new replicas: * for all, or paths of log.dirs (KIP-1066). It needs metadata.version 30."),
    ConfigKey("replica.selector.class",     STRING, None,   one_of(RACK_AWARE_SELECTOR), STATIC_PER_BROKER, "How a consumer with a rack gets a replica to read from (KIP-392); if unset, everyone reads from the leader."),
    ConfigKey("advertised.listeners",       LIST,   None,   NOT_EMPTY,                ONE_BROKER_OF_MOCK, "Addresses that clients connect to, if they differ from listeners. They can be changed for one broker at run time.", differs_at_start=True),
)

TOPIC_DEFAULT_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("num.partitions",                      INT,     1,            at_least(1),              READ_ONLY,    "Partitions of a topic that is created without a partition count."),
    ConfigKey("default.replication.factor",          INT,     1,            at_least(1),              READ_ONLY,    "Replicas of a partition of a topic that is created without a replication factor."),
    ConfigKey("auto.create.topics.enable",           BOOLEAN, True,         None,                     READ_ONLY,    "Whether a Metadata request creates the topics that don't exist."),
    ConfigKey("delete.topic.enable",                 BOOLEAN, True,         None,                     READ_ONLY,    "Whether topics may be deleted."),
    ConfigKey("min.insync.replicas",                 INT,     1,            at_least(1),              PER_BROKER, "In-sync replicas that a write with acks=all needs."),
    ConfigKey("unclean.leader.election.enable",      BOOLEAN, False,        None,                     PER_BROKER, "Whether a replica that is not in sync may become leader, losing records."),
    ConfigKey("message.max.bytes",                   INT,     1_048_588,    at_least(0),              PER_BROKER, "Largest record batch, as sent, that the broker accepts."),
    ConfigKey("max.decompressed.message.bytes",      INT,     RECORD_BYTES_MAX, between(1, RECORD_BYTES_MAX), PER_BROKER, "Largest record of a compressed batch, after decompression."),
    ConfigKey("compression.type",                    STRING,  "producer",   one_of(*COMPRESSION_TYPES), PER_BROKER, "How the broker compresses stored batches; producer keeps them as they were sent."),
    ConfigKey("compression.gzip.level",              INT,     -1,           gzip_level,               PER_BROKER, "Level of gzip for batches that the broker compresses; -1 is gzip's own default."),
    ConfigKey("compression.lz4.level",               INT,     9,            between(1, 17),           PER_BROKER, "Level of lz4 for batches that the broker compresses."),
    ConfigKey("compression.zstd.level",              INT,     3,            between(-131072, 22),     PER_BROKER, "Level of zstd for batches that the broker compresses."),
    ConfigKey("log.message.timestamp.type",          STRING,  "CreateTime", one_of("CreateTime", "LogAppendTime"), PER_BROKER, "Whether a record keeps its producer's timestamp or gets the time of its append."),
    ConfigKey("log.message.timestamp.before.max.ms", LONG,    LONG_MAX,     at_least(0),              PER_BROKER, "How far a record's timestamp may be behind the broker's time."),
    ConfigKey("log.message.timestamp.after.max.ms",  LONG,    HOUR_MS,      at_least(0),              PER_BROKER, "How far a record's timestamp may be ahead of the broker's time."),
)

LOG_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("log.retention.bytes",             LONG, -1,            None,                     PER_BROKER, "Bytes a partition keeps; older segments are deleted. -1 is unlimited."),
    ConfigKey("log.retention.ms",                LONG, None,          None,    PER_BROKER, "Time a segment is kept after its newest record; -1 is for ever. If unset, log.retention.minutes applies."),
    ConfigKey("log.retention.minutes",           INT,  None,          unlimited_or_positive,    STATIC_PER_BROKER, "Minutes a record is kept. If unset, log.retention.hours applies."),
    ConfigKey("log.retention.hours",             INT,  168,           unlimited_or_positive,    STATIC_PER_BROKER, "Hours a record is kept, if neither milliseconds nor minutes are set."),
    ConfigKey("log.retention.check.interval.ms", LONG, 300_000,       at_least(1),              READ_ONLY,    "How often the broker deletes segments past their retention."),
    ConfigKey("log.initial.task.delay.ms",       LONG, 30_000,        at_least(0),              READ_ONLY,    "Time after the start at which the broker first deletes records past their retention.", is_internal=True),
    mock_key("log.memory.max.bytes",             LONG, 2_147_483_648, at_least(1),              CLUSTER_WIDE, "Bytes of all partitions together; beyond it the oldest batches of the largest partition are deleted, before their retention time."),
    ConfigKey("log.cleaner.enable",                BOOLEAN, True,             None,                     READ_ONLY,    "Whether topics of clients are compacted."),
    ConfigKey("log.cleaner.backoff.ms",          LONG,    15_000,           at_least(0),              CLUSTER_WIDE, "How often the broker looks for dirty logs of compacted topics."),
    ConfigKey("log.cleaner.delete.retention.ms",   LONG,    DAY_MS,           at_least(0),              PER_BROKER, "Time that a compacted partition keeps the deletion of a key."),
    ConfigKey("log.cleaner.min.compaction.lag.ms", LONG,    0,                at_least(0),              PER_BROKER, "Age of its newest record below which a segment is not compacted."),
    ConfigKey("log.cleaner.max.compaction.lag.ms", LONG,    LONG_MAX,         at_least(1),              PER_BROKER, "Age at which a dirty segment is compacted, whatever the ratio."),
    ConfigKey("log.cleaner.min.cleanable.ratio",   DOUBLE,  0.5,              between(0, 1),            PER_BROKER, "Share of the bytes of a partition that must not be compacted yet before compaction begins."),
    ConfigKey("log.segment.bytes",               INT,  1_073_741_824, at_least(1024 * 1024),    PER_BROKER, "Size at which a segment ends. Retention deletes whole segments."),
    ConfigKey("log.roll.ms",                     LONG, None,          None,                     PER_BROKER, "Time after its first record at which a segment ends. If unset, log.roll.hours applies."),
    ConfigKey("log.roll.hours",                  INT,  168,           at_least(1),              READ_ONLY,  "Hours after its first record at which a segment ends, if log.roll.ms is unset."),
    ConfigKey("log.roll.jitter.ms",              LONG, None,          None,                     PER_BROKER, "Most of the time that is taken off log.roll.ms. If unset, log.roll.jitter.hours applies."),
    ConfigKey("log.roll.jitter.hours",           INT,  0,             at_least(0),              READ_ONLY,  "Most of the hours that are taken off log.roll.hours."),
    ConfigKey("log.index.size.max.bytes",        INT,  10 * 1024 * 1024, at_least(4),           PER_BROKER, "Size of an index at which a segment ends; there are no files."),
    ConfigKey("log.index.interval.bytes",        INT,  4096,          at_least(0),              PER_BROKER, "Bytes between two entries of an index."),
    ConfigKey("log.cleanup.policy",              LIST, ("delete",),   ListRule(("compact", "delete")), PER_BROKER, "Whether old segments are deleted, and whether the last record of each key is kept. With an empty list neither."),
)

CONNECTION_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("socket.request.max.bytes",                  INT,  104_857_600, at_least(1),    READ_ONLY,  "Largest request; the broker disconnects a client that announces a larger one."),
    ConfigKey("connections.max.idle.ms",                   LONG, 600_000,     None,           READ_ONLY,  "Time after which a connection without requests is closed; -1 is never."),
    mock_key("connections.held.bytes.max",                 LONG, 268_435_456, at_least(1),    READ_ONLY,  "Bytes that the broker holds for all clients that do not read their responses or send ahead; beyond it the connection that holds most is closed."),
    ConfigKey("max.connections",                           INT,  INT_MAX,     at_least(0),    PER_BROKER, "Connections that a broker accepts."),
    ConfigKey("max.connections.per.ip",                    INT,  INT_MAX,     at_least(0),    PER_BROKER, "Connections that a broker accepts from one address."),
    ConfigKey("max.connection.creation.rate",              INT,  INT_MAX,     at_least(0),    PER_BROKER, "Connections per second that a broker accepts (KIP-612); more wait."),
    ConfigKey("socket.listen.backlog.size",                INT,  50,          at_least(1),    READ_ONLY,  "Connections that wait behind the one that max.connection.creation.rate delays; more are closed."),
    ConfigKey("fetch.max.bytes",                           INT,  57_671_680,  at_least(1024), READ_ONLY,  "Most bytes of records that one Fetch response carries."),
    ConfigKey("max.incremental.fetch.session.cache.slots", INT,  1000,        at_least(0),    READ_ONLY,  "Incremental fetch sessions a broker remembers."),
)

GROUP_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("group.initial.rebalance.delay.ms",    INT,  0,         at_least(0), READ_ONLY, "Time the first rebalance of an empty group waits for more members. Kafka's default is 3000."),
    ConfigKey("group.min.session.timeout.ms",        INT,  6000,      at_least(1), READ_ONLY, "Shortest session timeout a member may ask for."),
    ConfigKey("group.max.session.timeout.ms",        INT,  1_800_000, at_least(1), READ_ONLY, "Longest session timeout a member may ask for."),
    ConfigKey("group.max.size",                      INT,  INT_MAX,   at_least(1), READ_ONLY, "Members that a group may have."),
    ConfigKey("offset.metadata.max.bytes",           INT,  4096,      at_least(0), READ_ONLY, "Longest metadata text of a committed offset."),
    ConfigKey("offsets.retention.minutes",           INT,  10_080,    at_least(1), READ_ONLY, "Minutes that committed offsets are kept after the last member of their group has left."),
    ConfigKey("offsets.retention.check.interval.ms", LONG, 600_000,   at_least(1), READ_ONLY, "How often the broker deletes committed offsets past their retention."),
    ConfigKey("offsets.topic.num.partitions",        INT,  50,        at_least(1), READ_ONLY, "Partitions of __consumer_offsets."),
    ConfigKey("offsets.topic.replication.factor",    SHORT, 3,        at_least(1), READ_ONLY, "Replicas of __consumer_offsets. Unless set, there are at most as many as brokers."),
    ConfigKey("offsets.topic.segment.bytes",         INT,  104_857_600, at_least(1), READ_ONLY, "The topic configuration segment.bytes of __consumer_offsets."),
    ConfigKey("offsets.topic.compression.codec",     INT,  0,         one_of_numbers(0, 1, 2, 3, 4), READ_ONLY, "Compression of the batches in __consumer_offsets: none, gzip, snappy, lz4, zstd."),
    ConfigKey("transaction.state.log.num.partitions", INT,  50,       at_least(1), READ_ONLY, "Partitions of __transaction_state."),
    ConfigKey("transaction.state.log.replication.factor", SHORT, 3,   at_least(1), READ_ONLY, "Replicas of __transaction_state. Unless set, there are at most as many as brokers."),
    ConfigKey("transaction.state.log.min.isr",       INT,  2,         at_least(1), READ_ONLY, "The topic configuration min.insync.replicas of __transaction_state. Unless set, one replica may be down."),
    ConfigKey("transaction.state.log.segment.bytes", INT,  104_857_600, at_least(1), READ_ONLY, "The topic configuration segment.bytes of __transaction_state."),
    mock_key("internal.topic.creation.async",        BOOLEAN, False,  None,        READ_ONLY, "Whether FindCoordinator answers COORDINATOR_NOT_AVAILABLE while it creates the internal topic, as in Kafka."),
)

PRODUCER_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("producer.id.expiration.ms",                   INT, DAY_MS,     at_least(1),          PER_BROKER, "Time after its last write at which a partition forgets an idempotent producer."),
    ConfigKey("producer.id.expiration.check.interval.ms",    INT, 600_000,    at_least(1),          READ_ONLY,  "How often the broker removes expired producers.", is_internal=True),
    mock_key("producer.state.batches",                       INT, 1,          one_of_numbers(1, 5), PER_BROKER, "Batches of a producer that a partition remembers: 1 as in KIP-758, 5 as in Kafka today."),
    mock_key("max.in.flight.sequence.number.per.connection", INT, 10_000_000, between(1, 1 << 30),  PER_BROKER, "Sequence numbers before the last one that still count as a duplicate (KIP-758)."),
)

TRANSACTION_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("transaction.max.timeout.ms",                 INT,     900_000,    at_least(1), READ_ONLY,  "Longest transaction timeout a producer may ask for."),
    ConfigKey("transactional.id.expiration.ms",             INT,     7 * DAY_MS, at_least(1), READ_ONLY,  "Time after its last transaction at which a transactional id is removed."),
    ConfigKey("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10_000, at_least(1), READ_ONLY, "How often the broker aborts transactions that are past their timeout."),
    ConfigKey("transaction.remove.expired.transaction.cleanup.interval.ms",  INT, HOUR_MS, at_least(1), READ_ONLY, "How often the broker removes expired transactional ids."),
    ConfigKey("transaction.partition.verification.enable",  BOOLEAN, True,       None,        PER_BROKER, "Whether a batch or an offset of a transaction is refused if its partition was not added to it. Producers of transaction version 2 add partitions by writing."),
    ConfigKey("transaction.two.phase.commit.enable",        BOOLEAN, False,      None,        READ_ONLY,  "Whether a producer may ask for transactions without a timeout (two-phase commit)."),
)

AUDIT_KEYS: tuple[ConfigKey, ...] = (
    mock_key("audit.enable",               BOOLEAN, False,   None,        READ_ONLY, "Whether acknowledged batches are recorded, so that the audit can compare them with the logs."),
    mock_key("audit.acknowledgements.max", INT,     100_000, at_least(1), READ_ONLY, "Acknowledged batches that the audit keeps; the oldest are dropped and counted."),
)

ADMIN_KEYS: tuple[ConfigKey, ...] = (
    mock_key("broker.admin.token",         PASSWORD, None, None,     READ_ONLY, "Bearer token that the admin port requires; if unset, it requires none."),
    mock_key("broker.schema.registry.url", STRING,   None, http_url, READ_ONLY, "Schema registry from which the admin port reads the schemas that records name, to show their values."),
)

JOURNAL_KEYS: tuple[ConfigKey, ...] = (
    mock_key("journal.enable",      BOOLEAN,  False,      None,        READ_ONLY, "Whether requests and responses are recorded; with an admin port they always are."),
    mock_key("journal.entries.max", INT,      10_000,     at_least(1), READ_ONLY, "Requests that the journal keeps; the oldest are dropped."),
    mock_key("journal.bytes.max",   LONG,     67_108_864, at_least(0), READ_ONLY, "Bytes of requests and responses that the journal keeps; the oldest are dropped."),
)
# fmt: on
