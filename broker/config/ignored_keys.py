# ruff: noqa: E501
"""Keys that the broker accepts, checks and describes, and does not act on.

A user's server.properties must work as it is, with every key that Kafka's own default file or its
images set. docs/coverage.md lists these keys.
"""

from broker.config.broker_keys import HOUR_MS, LONG_MAX, NOT_EMPTY
from broker.config.effects import (
    BROKERS_AS_CLIENTS,
    FILES,
    MEMORY,
    NO_LAG,
    QUORUM,
    THREADS,
    TIERED_ONLY,
    UNUSED_BY_KAFKA,
)
from broker.config.keys import (
    BOOLEAN,
    CLUSTER_WIDE,
    INT,
    LIST,
    LONG,
    ONE_BROKER,
    READ_ONLY,
    SHORT,
    STATIC_PER_BROKER,
    STRING,
    ConfigKey,
    ListRule,
    missing_key,
    unseen_key,
)
from broker.config.values import at_least, one_of

# fmt: off
INTERNAL_TOPIC_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("share.coordinator.state.topic.replication.factor", SHORT, 3,  at_least(1), READ_ONLY, "Replicas of __share_group_state. Unless set, there are at most as many as brokers."),
    ConfigKey("share.coordinator.state.topic.min.isr",            SHORT, 2,  at_least(1), READ_ONLY, "The topic configuration min.insync.replicas of __share_group_state."),
)

# The broker's defaults of topic keys that nothing acts on.
LOG_DETAIL_KEYS: tuple[ConfigKey, ...] = (
    unseen_key("log.flush.interval.messages",       LONG,    LONG_MAX,         at_least(1),              CLUSTER_WIDE, "Records after which Kafka writes a partition to disk.", reason=FILES),
    unseen_key("log.flush.interval.ms",             LONG,    None,             None,              CLUSTER_WIDE, "Time after which Kafka writes a partition to disk.", reason=FILES),
    unseen_key("log.flush.scheduler.interval.ms",   LONG,    LONG_MAX,         None,                     READ_ONLY,    "How often Kafka looks for partitions to write to disk.", reason=FILES),
    unseen_key("log.segment.delete.delay.ms",       LONG,    60_000,           at_least(0),              CLUSTER_WIDE, "Time between removing a segment and deleting its file.", reason=FILES),
    unseen_key("log.preallocate",                   BOOLEAN, False,            None,                     CLUSTER_WIDE, "Whether Kafka creates a segment's file at full size.", reason=FILES),
    unseen_key("log.cleaner.threads",               INT,     1,                at_least(0),              CLUSTER_WIDE,   "Kafka's threads for compaction.", reason=THREADS),
    unseen_key("log.local.retention.ms",            LONG,    -2,               at_least(-2),             CLUSTER_WIDE, "Time that a tiered partition keeps records locally; -2 is its retention time.", reason=TIERED_ONLY),
    unseen_key("log.local.retention.bytes",         LONG,    -2,               at_least(-2),             CLUSTER_WIDE, "Bytes that a tiered partition keeps locally; -2 is its retention size.", reason=TIERED_ONLY),
    unseen_key("log.remote.copy.lag.ms",            LONG,    0,                at_least(-1),             CLUSTER_WIDE, "Time after which a segment moves to tiered storage; -1 is the time that it is kept locally.", reason=TIERED_ONLY),
    unseen_key("log.remote.copy.lag.bytes",         LONG,    -1,               at_least(-1),             CLUSTER_WIDE, "Newer bytes after which a segment moves to tiered storage; -1 is the size that is kept locally.", reason=TIERED_ONLY),
)

PROCESS_KEYS: tuple[ConfigKey, ...] = (
    unseen_key("process.roles",                           LIST,    None,                 ListRule(("broker", "controller"), is_empty_allowed=False), READ_ONLY,  "Whether a Kafka process is broker, controller or both.", reason=QUORUM),
    ConfigKey("controller.quorum.voters",                LIST,    (),                   None,         READ_ONLY,  "The controllers of a Kafka cluster, as DescribeQuorum lists those that are brokers."),
    unseen_key("controller.quorum.bootstrap.servers",     LIST,    (),                   None,         READ_ONLY,  "Addresses of the controllers of a Kafka cluster.", reason=QUORUM),
    ConfigKey("controller.listener.names",               LIST,    None,                 NOT_EMPTY,    READ_ONLY,  "The listeners that Kafka's controllers use."),
    ConfigKey("inter.broker.listener.name",              STRING,  None,                 None,         READ_ONLY,  "Listener that Kafka's brokers use among themselves."),
    ConfigKey("security.inter.broker.protocol",          STRING,  "PLAINTEXT",          one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),         READ_ONLY,  "Security protocol among Kafka's brokers."),
    unseen_key("sasl.mechanism.inter.broker.protocol",    STRING,  "GSSAPI",             None,         ONE_BROKER,  "SASL mechanism among Kafka's brokers.", reason=BROKERS_AS_CLIENTS),
    missing_key("replica.lag.time.max.ms",                 LONG,    30_000,               None,         READ_ONLY,  "Time after which Kafka removes a lagging follower from the ISR; here it leaves at once.", reason=NO_LAG),
    ConfigKey("replica.fetch.max.bytes",                  INT,     1_048_576,            at_least(0),  STATIC_PER_BROKER,  "Bytes of a partition that a follower fetches at once, as a throttled copy does."),
    unseen_key("num.replica.fetchers",                    INT,     1,                    at_least(1),       CLUSTER_WIDE, "Kafka's threads for following a leader; here replicas share one log.", reason=THREADS),
    ConfigKey("log.dir",                                   LIST,    ("/tmp/kafka-logs",), NOT_EMPTY,    STATIC_PER_BROKER, "Names of the log directories, if log.dirs is not set; logs are in memory."),  # noqa: S108
    ConfigKey("log.dirs",                                  LIST,     None,                NOT_EMPTY,    STATIC_PER_BROKER, "Names of the log directories, as tools see them; logs are in memory."),
    unseen_key("num.network.threads",                     INT,     3,                    at_least(1),  CLUSTER_WIDE, "Kafka's network threads; here one thread does everything.", reason=THREADS),
    unseen_key("num.io.threads",                          INT,     8,                    at_least(1),  CLUSTER_WIDE, "Kafka's request handler threads; here one thread does everything.", reason=THREADS),
    unseen_key("queued.max.requests",                     INT,     500,                  at_least(1),  READ_ONLY,  "Requests that may wait for Kafka's threads; here each is handled as it arrives.", reason=MEMORY),
    unseen_key("background.threads",                      INT,     10,                   at_least(1),  CLUSTER_WIDE, "Kafka's background threads; here one thread does everything.", reason=THREADS),
    unseen_key("num.recovery.threads.per.data.dir",       INT,     2,                    at_least(1),  CLUSTER_WIDE, "Kafka's threads that read its folders at the start.", reason=THREADS),
    unseen_key("socket.send.buffer.bytes",                INT,     102_400,              None,         READ_ONLY,  "Size of a socket's send buffer; -1 is the system's default.", reason=MEMORY),
    unseen_key("socket.receive.buffer.bytes",             INT,     102_400,              None,         READ_ONLY,  "Size of a socket's receive buffer; -1 is the system's default.", reason=MEMORY),
    ConfigKey("auto.leader.rebalance.enable",            BOOLEAN, True,                 None,         READ_ONLY,  "Whether the controller moves leadership back to the preferred replica by itself."),
    ConfigKey("leader.imbalance.check.interval.seconds", LONG,    HOUR_MS // 12 // 1000, at_least(1),  READ_ONLY,  "How often the controller makes the preferred replica the leader again."),
    unseen_key("leader.imbalance.per.broker.percentage",  INT,     10,                   None,         READ_ONLY,  "Share of partitions without their preferred leader that Kafka tolerates.", reason=UNUSED_BY_KAFKA),
)
# fmt: on
