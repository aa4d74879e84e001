# ruff: noqa: E501
"""Refused changes of configurations, and what Apache Kafka 4.1 and 4.4 answer to them.

The handlers are tested with them, and an interop test asks a real broker.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = ResourceType
INVALID_CONFIG = ErrorCode.INVALID_CONFIG
INVALID_REQUEST = ErrorCode.INVALID_REQUEST


class RefusedChange(NamedTuple):
    """A change of one resource by IncrementalAlterConfigs. There is a topic `t`, and broker 1."""

    resource_type: int
    resource_name: str
    operations: Sequence[tuple[str, int, str | None]]
    error_code: ErrorCode
    error_message: str | None


# fmt: off
_REFUSED_BY_4_1: tuple[RefusedChange, ...] = (
    RefusedChange(TOPIC, "t", [("no.such.key", SET, "1")], INVALID_CONFIG, "Unknown topic config name: no.such.key"),
    RefusedChange(TOPIC, "t", [("retention.ms", SET, "x")], INVALID_CONFIG, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    RefusedChange(TOPIC, "t", [("retention.ms", SET, "-2")], INVALID_CONFIG, "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
    RefusedChange(TOPIC, "t", [("min.insync.replicas", SET, "0")], INVALID_CONFIG, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"),
    RefusedChange(TOPIC, "t", [("compression.type", SET, "brotli")], INVALID_CONFIG, "Invalid value brotli for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
    RefusedChange(TOPIC, "t", [("cleanup.policy", SET, "compact,nope")], INVALID_CONFIG, "Invalid value nope for configuration cleanup.policy: String must be one of: compact, delete"),
    RefusedChange(TOPIC, "t", [("cleanup.policy", APPEND, "nope")], INVALID_CONFIG, "Invalid value nope for configuration cleanup.policy: String must be one of: compact, delete"),
    RefusedChange(TOPIC, "t", [("retention.ms", APPEND, "1")], INVALID_CONFIG, "Can't APPEND to key retention.ms because its type is not LIST."),
    RefusedChange(TOPIC, "t", [("no.such", APPEND, "1")], INVALID_CONFIG, "Can't APPEND to key no.such because its type is not LIST."),
    RefusedChange(TOPIC, "t", [("min.cleanable.dirty.ratio", SET, "1.5")], INVALID_CONFIG, "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
    RefusedChange(TOPIC, "t", [("min.cleanable.dirty.ratio", SET, "x")], INVALID_CONFIG, "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"),
    RefusedChange(TOPIC, "t", [("min.cleanable.dirty.ratio", SET, "1e1")], INVALID_CONFIG, "Invalid value 10.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
    RefusedChange(TOPIC, "t", [("preallocate", SET, "maybe")], INVALID_CONFIG, "Invalid value maybe for configuration preallocate: Expected value to be either true or false"),
    RefusedChange(TOPIC, "t", [("compression.gzip.level", SET, "0")], INVALID_CONFIG, "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"),
    RefusedChange(TOPIC, "t", [("compression.lz4.level", SET, "18")], INVALID_CONFIG, "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17"),
    RefusedChange(TOPIC, "t", [("leader.replication.throttled.replicas", SET, "0:x, 1:2")], INVALID_CONFIG, "Invalid value [0:x, 1:2] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."),
    RefusedChange(TOPIC, "t", [("min.compaction.lag.ms", SET, "5"), ("max.compaction.lag.ms", SET, "4")], INVALID_CONFIG, "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)"),
    RefusedChange(TOPIC, "t", [("remote.storage.enable", SET, "true")], INVALID_CONFIG, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."),
    RefusedChange(TOPIC, "t", [("retention.ms", SET, "9223372036854775808")], INVALID_CONFIG, "Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG"),
    RefusedChange(TOPIC, "t", [("segment.bytes", SET, "1000")], INVALID_CONFIG, "Invalid value 1000 for configuration segment.bytes: Value must be at least 1048576"),
    RefusedChange(TOPIC, "missing", [("retention.ms", SET, "1")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'missing' does not exist."),
    RefusedChange(TOPIC, "missing", [("retention.ms", SET, "x")], INVALID_CONFIG, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    RefusedChange(TOPIC, "", [("retention.ms", SET, "1")], INVALID_REQUEST, "Default topic resources are not allowed."),
    RefusedChange(TOPIC, "bad name", [("retention.ms", SET, "1")], ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: 'bad name' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
    RefusedChange(TOPIC, "t", [("retention.ms", SET, None)], INVALID_REQUEST, "Null value not supported for : retention.ms"),
    RefusedChange(TOPIC, "t", [("retention.ms", SET, "1"), ("retention.ms", SET, "2")], INVALID_REQUEST, "Error due to duplicate config keys"),
    RefusedChange(TOPIC, "t", [("retention.ms", 9, "1")], ErrorCode.UNKNOWN_SERVER_ERROR, None),
    RefusedChange(BROKER, "1", [("broker.id", SET, "1")], INVALID_REQUEST, "Cannot update these configs dynamically: Set(broker.id)"),
    RefusedChange(BROKER, "1", [("broker.id", SET, "1"), ("node.id", SET, "1"), ("log.dirs", SET, "x")], INVALID_REQUEST, "Cannot update these configs dynamically: Set(node.id, broker.id, log.dirs)"),
    RefusedChange(BROKER, "1", [("ssl.key.password", SET, "1")], INVALID_REQUEST, "These security configs can be dynamically updated only per-listener using the listener prefix: HashSet(ssl.key.password)"),
    RefusedChange(BROKER, "1", [("ssl.key.password", SET, "1"), ("ssl.provider", SET, "1")], INVALID_REQUEST, "These security configs can be dynamically updated only per-listener using the listener prefix: HashSet(ssl.key.password)"),
    RefusedChange(BROKER, "", [("listeners", SET, "PLAINTEXT://:1")], INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: Set(listeners)"),
    RefusedChange(BROKER, "", [("sasl.enabled.mechanisms", SET, "PLAIN"), ("max.connections", SET, "5")], INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: Set(sasl.enabled.mechanisms)"),
    RefusedChange(BROKER, "1", [("log.retention.ms", SET, "x")], INVALID_REQUEST, "Invalid value x for configuration log.retention.ms: Not a number of type LONG"),
    RefusedChange(BROKER, "1", [("log.retention.ms", SET, "0")], INVALID_REQUEST, "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
    RefusedChange(BROKER, "1", [("message.max.bytes", SET, "-1")], INVALID_REQUEST, "Invalid value -1 for configuration message.max.bytes: Value must be at least 0"),
    RefusedChange(BROKER, "1", [("log.roll.ms", SET, "0")], INVALID_REQUEST, "requirement failed: log.roll.ms must be greater than or equal to 1"),
    RefusedChange(BROKER, "1", [("log.roll.jitter.ms", SET, "-1")], INVALID_REQUEST, "requirement failed: log.roll.jitter.ms must be greater than or equal to 0"),
    RefusedChange(BROKER, "1", [("num.io.threads", SET, "100")], INVALID_REQUEST, "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for num.io.threads=100, value should not be greater than double the current value 8 for configuration Invalid dynamic configuration"),
    RefusedChange(BROKER, "1", [("num.io.threads", SET, "0")], INVALID_REQUEST, "Invalid value 0 for configuration num.io.threads: Value must be at least 1"),
    RefusedChange(BROKER, "1", [("num.network.threads", SET, "100")], INVALID_REQUEST, "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for num.network.threads=100, value should not be greater than double the current value 3 for configuration Invalid dynamic configuration"),
    RefusedChange(BROKER, "1", [("log.cleaner.threads", SET, "10")], INVALID_REQUEST, "Invalid value org.apache.kafka.common.config.ConfigException: Log cleaner threads cannot be increased to more than double the current value 1 for configuration Invalid dynamic configuration"),
    RefusedChange(BROKER, "1", [("my.custom.key", APPEND, "1")], ErrorCode.UNKNOWN_SERVER_ERROR, None),
    RefusedChange(BROKER, "1", [("message.max.bytes", APPEND, "1")], INVALID_CONFIG, "Config value append is not allowed for config key: message.max.bytes"),
    RefusedChange(BROKER, "1", [("leader.replication.throttled.rate", SET, "-1")], INVALID_REQUEST, "Invalid value -1 for configuration leader.replication.throttled.rate: Value must be at least 0"),
    RefusedChange(BROKER, "", [("listener.name.plaintext.ssl.provider", SET, "7")], INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: Set(listener.name.plaintext.ssl.provider)"),
    RefusedChange(BROKER, "1", [("listener.name.plaintext.num.network.threads", SET, "x")], INVALID_REQUEST, "Invalid value x for configuration num.network.threads: Not a number of type INT"),
    RefusedChange(BROKER, "1", [("min.insync.replicas", SET, "1")], INVALID_CONFIG, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."),
    RefusedChange(BROKER, "", [("min.insync.replicas", DELETE, None)], INVALID_CONFIG, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."),
    RefusedChange(BROKER, "", [("min.insync.replicas", SET, "0")], INVALID_REQUEST, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"),
    RefusedChange(BROKER, "2", [("message.max.bytes", SET, "5")], INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
    RefusedChange(BROKER, "x", [("message.max.bytes", SET, "5")], INVALID_REQUEST, "Node id must be an integer, but it is: x"),
    RefusedChange(BROKER, "1", [("message.max.bytes", 9, "5")], INVALID_REQUEST, "Unknown operations type 9"),
    RefusedChange(BROKER, "1", [("max.connections.per.ip", SET, "0")], INVALID_REQUEST, "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."),
    RefusedChange(BROKER, "1", [("log.local.retention.ms", SET, "-1")], INVALID_REQUEST, "Invalid value org.apache.kafka.common.config.ConfigException: Invalid value -1 for configuration log.local.retention.ms: Value must not be -1 as log.retention.ms value is set as 604800000. for configuration Invalid dynamic configuration"),
    RefusedChange(BROKER, "1", [("log.cleanup.policy", SET, "nope")], INVALID_REQUEST, "Invalid value nope for configuration log.cleanup.policy: String must be one of: compact, delete"),
    RefusedChange(BROKER, "1", [("log.cleaner.dedupe.buffer.size", SET, "1")], INVALID_REQUEST, "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
    RefusedChange(BROKER, "1", [("remote.log.reader.threads", SET, "1")], INVALID_REQUEST, "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for remote.log.reader.threads=1, value should be at least half the current value 10 for configuration Invalid dynamic configuration"),
    RefusedChange(BROKER, "1", [("unclean.leader.election.enable", SET, "x")], INVALID_REQUEST, "Invalid value x for configuration unclean.leader.election.enable: Expected value to be either true or false"),
    RefusedChange(BROKER, "1", [("auto.create.topics.enable", SET, "false")], INVALID_REQUEST, "Cannot update these configs dynamically: Set(auto.create.topics.enable)"),
    RefusedChange(BROKER, "1", [("log.retention.hours", SET, "1")], INVALID_REQUEST, "Cannot update these configs dynamically: Set(log.retention.hours)"),
    RefusedChange(BROKER_LOGGER, "", [], INVALID_REQUEST, "Node id must be an integer, but it is: "),
    RefusedChange(BROKER_LOGGER, "x", [], INVALID_REQUEST, "Node id must be an integer, but it is: x"),
    RefusedChange(BROKER_LOGGER, "9", [], INVALID_REQUEST, "Unexpected node id. Expected 1, but received 9"),
    RefusedChange(BROKER_LOGGER, "1", [("no.logger", SET, "INFO")], INVALID_CONFIG, "Logger no.logger does not exist!"),
    RefusedChange(BROKER_LOGGER, "1", [("root", APPEND, "x")], INVALID_REQUEST, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
    RefusedChange(CLIENT_METRICS, "", [], INVALID_REQUEST, "Subscription name can't be empty"),
    RefusedChange(CLIENT_METRICS, "m", [("x", SET, "1")], INVALID_REQUEST, "Unknown client metrics configuration: x"),
    RefusedChange(CLIENT_METRICS, "m", [("interval.ms", SET, "1")], INVALID_REQUEST, "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)"),
    RefusedChange(CLIENT_METRICS, "m", [("interval.ms", SET, "x")], INVALID_CONFIG, "Invalid value x for configuration interval.ms: Not a number of type INT"),
    RefusedChange(CLIENT_METRICS, "m", [("match", SET, "a")], INVALID_CONFIG, "Illegal client matching pattern: a"),
    RefusedChange(CLIENT_METRICS, "m", [("match", SET, "client_id=[")], INVALID_CONFIG, "Illegal client matching pattern: client_id=["),
    RefusedChange(CLIENT_METRICS, "m", [("match", SET, "client_id=a,foo=b")], INVALID_CONFIG, "Illegal client matching pattern: foo=b"),
    RefusedChange(CLIENT_METRICS, "m", [("metrics", APPEND, "a"), ("metrics", SUBTRACT, "a")], INVALID_REQUEST, "Error due to duplicate config keys"),
    RefusedChange(CLIENT_METRICS, "m", [("interval.ms", APPEND, "1")], INVALID_CONFIG, "Can't APPEND to key interval.ms because its type is not LIST."),
    RefusedChange(CLIENT_METRICS, "m", [("metrics", APPEND, "a")], INVALID_CONFIG, "Can't APPEND to key metrics because its type is not LIST."),
    RefusedChange(GROUP, "", [], INVALID_REQUEST, "Default group resources are not allowed."),
    RefusedChange(GROUP, "g", [("x", SET, "1")], INVALID_CONFIG, "Unknown group config name: x"),
    RefusedChange(GROUP, "g", [("consumer.session.timeout.ms", SET, "1")], INVALID_CONFIG, "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms"),
    RefusedChange(GROUP, "g", [("consumer.session.timeout.ms", SET, "100000")], INVALID_CONFIG, "consumer.session.timeout.ms must be less than or equal to group.consumer.max.session.timeout.ms"),
    RefusedChange(GROUP, "g", [("consumer.session.timeout.ms", SET, "0")], INVALID_CONFIG, "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1"),
    RefusedChange(GROUP, "g", [("consumer.heartbeat.interval.ms", SET, "1")], INVALID_CONFIG, "consumer.heartbeat.interval.ms must be greater than or equal to group.consumer.min.heartbeat.interval.ms"),
    RefusedChange(GROUP, "g", [("consumer.heartbeat.interval.ms", SET, "16000")], INVALID_CONFIG, "consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms"),
    RefusedChange(GROUP, "g", [("share.record.lock.duration.ms", SET, "1")], INVALID_CONFIG, "Invalid value 1 for configuration share.record.lock.duration.ms: Value must be at least 1000"),
    RefusedChange(GROUP, "g", [("share.record.lock.duration.ms", SET, "70000")], INVALID_CONFIG, "share.record.lock.duration.ms must be less than or equal to group.share.max.record.lock.duration.ms"),
    RefusedChange(GROUP, "g", [("share.auto.offset.reset", SET, "nope")], INVALID_CONFIG, "Invalid value nope for configuration share.auto.offset.reset: Invalid value `nope` for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."),
    RefusedChange(GROUP, "g", [("share.auto.offset.reset", SET, "by_duration:PT-1H")], INVALID_CONFIG, "Invalid value by_duration:PT-1H for configuration share.auto.offset.reset: Invalid value `by_duration:PT-1H` for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."),
    RefusedChange(GROUP, "g", [("share.auto.offset.reset", SET, "by_duration:x")], INVALID_CONFIG, "Invalid value by_duration:x for configuration share.auto.offset.reset: Invalid value `by_duration:x` for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."),
    RefusedChange(GROUP, "g", [("share.isolation.level", SET, "x")], INVALID_CONFIG, "Invalid value x for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted"),
    RefusedChange(GROUP, "g", [("streams.num.standby.replicas", SET, "3")], INVALID_CONFIG, "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas"),
    RefusedChange(GROUP, "g", [("streams.session.timeout.ms", SET, "1")], INVALID_CONFIG, "streams.session.timeout.ms must be greater than or equal to group.streams.min.session.timeout.ms"),
    RefusedChange(0, "", [], INVALID_REQUEST, "Unknown resource type 0"),
    RefusedChange(3, "x", [], INVALID_REQUEST, "Unknown resource type 3"),
    RefusedChange(99, "x", [("a", SET, "b")], INVALID_REQUEST, "Unknown resource type 99"),
    RefusedChange(99, "x", [("a", 9, "b")], INVALID_REQUEST, "Unknown resource type 99"),
)

# What 4.4 answers otherwise.
_ANSWERED_OTHERWISE_BY_4_4: tuple[RefusedChange, ...] = (
    RefusedChange(BROKER, "1", [("broker.id", SET, "1")], INVALID_REQUEST, "Cannot update these configs dynamically: [broker.id]"),
    RefusedChange(BROKER, "1", [("broker.id", SET, "1"), ("node.id", SET, "1"), ("log.dirs", SET, "x")], INVALID_REQUEST, "Cannot update these configs dynamically: [node.id, broker.id, log.dirs]"),
    RefusedChange(BROKER, "1", [("ssl.key.password", SET, "1")], INVALID_REQUEST, "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.key.password]"),
    RefusedChange(BROKER, "1", [("ssl.key.password", SET, "1"), ("ssl.provider", SET, "1")], INVALID_REQUEST, "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.key.password]"),
    RefusedChange(BROKER, "", [("listeners", SET, "PLAINTEXT://:1")], INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: [listeners]"),
    RefusedChange(BROKER, "", [("sasl.enabled.mechanisms", SET, "PLAIN"), ("max.connections", SET, "5")], INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: [sasl.enabled.mechanisms]"),
    RefusedChange(BROKER, "1", [("my.custom.key", APPEND, "1")], INVALID_CONFIG, "Unknown config name: my.custom.key"),
    RefusedChange(BROKER, "", [("listener.name.plaintext.ssl.provider", SET, "7")], INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: [listener.name.plaintext.ssl.provider]"),
    RefusedChange(BROKER, "1", [("auto.create.topics.enable", SET, "false")], INVALID_REQUEST, "Cannot update these configs dynamically: [auto.create.topics.enable]"),
    RefusedChange(BROKER, "1", [("log.retention.hours", SET, "1")], INVALID_REQUEST, "Cannot update these configs dynamically: [log.retention.hours]"),
    RefusedChange(GROUP, "g", [("consumer.session.timeout.ms", SET, "1")], INVALID_CONFIG, "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."),
    RefusedChange(GROUP, "g", [("consumer.session.timeout.ms", SET, "100000")], INVALID_CONFIG, "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."),
    RefusedChange(GROUP, "g", [("consumer.heartbeat.interval.ms", SET, "1")], INVALID_CONFIG, "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive."),
    RefusedChange(GROUP, "g", [("consumer.heartbeat.interval.ms", SET, "16000")], INVALID_CONFIG, "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive."),
    RefusedChange(GROUP, "g", [("share.record.lock.duration.ms", SET, "70000")], INVALID_CONFIG, "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive."),
    RefusedChange(GROUP, "g", [("streams.num.standby.replicas", SET, "3")], INVALID_CONFIG, "streams.num.standby.replicas must be less than or equal to 2"),
    RefusedChange(GROUP, "g", [("streams.session.timeout.ms", SET, "1")], INVALID_CONFIG, "streams.session.timeout.ms must be in the range 45000 to 60000 inclusive."),
)

# What 4.4 refuses and 4.1 does not, and keys that 4.1 does not have.
_REFUSED_BY_4_4_ONLY: tuple[RefusedChange, ...] = (
    RefusedChange(TOPIC, "t", [("cleanup.policy", SET, "delete,,compact")], INVALID_CONFIG, "Configuration 'cleanup.policy' values must not be empty."),
    RefusedChange(TOPIC, "t", [("cleanup.policy", SET, "x,,delete")], INVALID_CONFIG, "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete"),
    RefusedChange(TOPIC, "t", [("cleanup.policy", APPEND, "")], INVALID_CONFIG, "Configuration 'cleanup.policy' values must not be empty."),
    RefusedChange(BROKER, "1", [("listeners", SET, "")], INVALID_REQUEST, "Configuration 'listeners' must not be empty. Valid values include: any non-empty value"),
    RefusedChange(BROKER, "1", [("cordoned.log.dirs", SET, "a,,b")], INVALID_REQUEST, "Configuration 'cordoned.log.dirs' values must not be empty."),
    RefusedChange(BROKER, "1", [("cordoned.log.dirs", SET, "a,a")], INVALID_REQUEST, "Configuration 'cordoned.log.dirs' values must not be duplicated."),
    RefusedChange(BROKER, "1", [("log.cleanup.policy", SET, ",")], INVALID_REQUEST, "Configuration 'log.cleanup.policy' values must not be duplicated."),
    RefusedChange(BROKER, "1", [("metric.reporters", SET, "a,,b")], INVALID_REQUEST, "Configuration 'metric.reporters' values must not be empty."),
    RefusedChange(BROKER, "1", [("listener.name.plaintext.ssl.cipher.suites", SET, "a,,b")], INVALID_REQUEST, "Configuration 'ssl.cipher.suites' values must not be empty."),
    RefusedChange(BROKER, "1", [("group.coordinator.append.linger.ms", SET, "5")], INVALID_REQUEST, "Cannot update these configs dynamically: [group.coordinator.append.linger.ms]"),
    RefusedChange(TOPIC, "t", [("max.decompressed.message.bytes", SET, "0")], INVALID_CONFIG, "Invalid value 0 for configuration max.decompressed.message.bytes: Value must be at least 1"),
    RefusedChange(TOPIC, "t", [("max.decompressed.message.bytes", SET, "2147483647")], INVALID_CONFIG, "Invalid value 2147483647 for configuration max.decompressed.message.bytes: Value must be no more than 2147483639"),
    RefusedChange(TOPIC, "t", [("remote.copy.lag.ms", SET, "-2")], INVALID_CONFIG, "Invalid value -2 for configuration remote.copy.lag.ms: Value must be at least -1"),
    RefusedChange(BROKER, "1", [("log.remote.copy.lag.ms", SET, "700000000")], INVALID_REQUEST, "Invalid value org.apache.kafka.common.config.ConfigException: Invalid value 700000000 for configuration log.remote.copy.lag.ms: Value must not exceed log.local.retention.ms (effective value: 604800000) for configuration Invalid dynamic configuration"),
    RefusedChange(BROKER, "1", [("log.local.retention.bytes", SET, "9"), ("log.remote.copy.lag.bytes", SET, "10"), ("log.retention.bytes", SET, "9")], INVALID_REQUEST, "Invalid value org.apache.kafka.common.config.ConfigException: Invalid value 10 for configuration log.remote.copy.lag.bytes: Value must not exceed log.local.retention.bytes (effective value: 9) for configuration Invalid dynamic configuration"),
    RefusedChange(CLIENT_METRICS, "m", [("metrics", SET, "a,,b")], INVALID_CONFIG, "Configuration 'metrics' values must not be empty."),
    RefusedChange(GROUP, "g", [("streams.rack.aware.assignment.tags", SET, "a,,b")], INVALID_CONFIG, "Configuration 'streams.rack.aware.assignment.tags' values must not be empty."),
    RefusedChange(GROUP, "g", [("streams.rack.aware.assignment.tags", SET, "a, a")], INVALID_CONFIG, "streams.rack.aware.assignment.tags must not contain duplicate tag keys."),
    RefusedChange(GROUP, "g", [("streams.assignor.name", SET, "x")], INVALID_CONFIG, "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky]."),
    RefusedChange(GROUP, "g", [("streams.task.offset.interval.ms", SET, "1")], INVALID_CONFIG, "streams.task.offset.interval.ms must be greater than or equal to 15000"),
)
# fmt: on


def _of_4_4() -> Iterator[RefusedChange]:
    changed = {str(change[:3]): change for change in _ANSWERED_OTHERWISE_BY_4_4}
    for change in _REFUSED_BY_4_1:
        yield changed.pop(str(change[:3]), change)
    assert not changed
    yield from _REFUSED_BY_4_4_ONLY


REFUSED_CHANGES: Mapping[str, tuple[RefusedChange, ...]] = {
    "4.1": _REFUSED_BY_4_1,
    "4.4": tuple(_of_4_4()),
}
"""By the release that refuses them."""

REFUSED_HERE_ONLY = (
    RefusedChange(
        CLIENT_METRICS,
        "m",
        [("match", SET, "client_id=a(?!b)")],
        INVALID_CONFIG,
        "Illegal client matching pattern: client_id=a(?!b)",
    ),
)
"""What Kafka accepts: its regular expressions are Java's (ADR 30)."""
