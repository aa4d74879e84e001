"""The order in which DescribeConfigs returns the keys of a resource since Kafka 4.2.

What Kafka does not define comes first. The keys of Kafka follow in the order of a Java `HashMap`,
which depends on their order in Kafka's definitions where two keys share a bucket.

Sources: Kafka's `ConfigHelperUtils`, `AbstractConfig.nonInternalValues`, `LogConfig` and
`AbstractKafkaConfig`, of 4.4.
"""

from collections.abc import Collection, Mapping, Sequence

from broker.config.broker_config import BROKER_KEYS
from broker.config.keys import ConfigKey
from broker.config.resource_keys import RESOURCE_KEYS
from broker.config.topic_keys import CHECK_ORDER, TOPIC_KEYS
from protocol.configs import ResourceType
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, paced_elements
from protocol.releases import Release

HAS_JAVA_MAPS_SINCE: Release = (4, 2)
"""First release with this order; before it is that of a Scala `HashMap`."""

_BROKER_ORDER = (
    "remote.log.metadata.manager.impl.prefix",
    "remote.log.storage.manager.class.name",
    "remote.log.metadata.manager.class.path",
    "remote.log.metadata.manager.listener.name",
    "remote.log.manager.expiration.thread.pool.size",
    "log.remote.copy.lag.bytes",
    "remote.log.manager.copy.quota.window.size.seconds",
    "remote.log.manager.fetch.max.bytes.per.second",
    "remote.fetch.max.wait.ms",
    "broker.id",
    "num.io.threads",
    "socket.connection.setup.timeout.ms",
    "early.start.listeners",
    "controlled.shutdown.enable",
    "compression.lz4.level",
    "max.request.partition.size.limit",
    "process.roles",
    "sasl.mechanism.controller.protocol",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.log.dir",
    "metadata.log.segment.bytes",
    "listeners",
    "socket.receive.buffer.bytes",
    "max.connections",
    "replica.fetch.backoff.ms",
    "replica.fetch.min.bytes",
    "replica.fetch.response.max.bytes",
    "fetch.purgatory.purge.interval.requests",
    "producer.purgatory.purge.interval.requests",
    "group.coordinator.background.threads",
    "offsets.topic.compression.codec",
    "group.max.session.timeout.ms",
    "group.max.size",
    "group.consumer.max.session.timeout.ms",
    "group.consumer.heartbeat.interval.ms",
    "group.consumer.max.heartbeat.interval.ms",
    "group.consumer.max.size",
    "group.consumer.assignors",
    "group.consumer.max.assignment.interval.ms",
    "group.share.session.timeout.ms",
    "group.share.max.size",
    "group.share.max.assignment.interval.ms",
    "group.streams.max.session.timeout.ms",
    "group.streams.max.heartbeat.interval.ms",
    "group.streams.max.size",
    "group.streams.num.standby.replicas",
    "group.streams.max.standby.replicas",
    "group.streams.initial.rebalance.delay.ms",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.enable",
    "log.roll.hours",
    "log.flush.interval.messages",
    "log.flush.offset.checkpoint.interval.ms",
    "num.recovery.threads.per.data.dir",
    "log.message.timestamp.before.max.ms",
    "group.share.delivery.count.limit",
    "group.share.record.lock.duration.ms",
    "group.share.min.record.lock.duration.ms",
    "group.share.max.record.lock.duration.ms",
    "group.share.min.partition.max.record.locks",
    "share.fetch.purgatory.purge.interval.requests",
    "share.coordinator.threads",
    "share.coordinator.state.topic.compression.codec",
    "transaction.state.log.min.isr",
    "transaction.partition.verification.enable",
    "transaction.max.timeout.ms",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "controller.quorum.voters",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.election.backoff.max.ms",
    "controller.quorum.auto.join.enable",
    "controller.quorum.fetch.max.bytes",
    "kafka.metrics.reporters",
    "alter.log.dirs.replication.quota.window.num",
    "controller.quota.window.num",
    "controller.quota.window.size.seconds",
    "sasl.server.max.receive.size",
    "security.providers",
    "ssl.keystore.type",
    "ssl.keystore.key",
    "ssl.keymanager.algorithm",
    "ssl.secure.random.implementation",
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.kerberos.kinit.cmd",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.buffer.seconds",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "delegation.token.max.lifetime.ms",
    "delegation.token.expiry.time.ms",
)
"""Kafka's order of the keys of brokers, of those in buckets that are not in the order of names."""

_KEYS: Mapping[ResourceType, Mapping[str, ConfigKey]] = {
    ResourceType.BROKER: BROKER_KEYS,
    ResourceType.TOPIC: TOPIC_KEYS,
    **RESOURCE_KEYS,
}
_DEFINED: Mapping[ResourceType, Collection[str]] = {
    ResourceType.BROKER: dict.fromkeys(_BROKER_ORDER),
    ResourceType.TOPIC: dict.fromkeys(CHECK_ORDER),
}


@may_pause
def in_described_order(resource_type: ResourceType, names: Sequence[str]) -> list[str]:
    """Return the names of all described keys of a resource in Kafka's order."""
    defined = _DEFINED.get(resource_type, ())
    keys = _KEYS.get(resource_type, {})
    present = set(names)
    of_kafka = [name for name in defined if name in present]
    others = []
    for name in paced_elements(sorted(names)):
        key = keys.get(name)
        if key is None or key.is_hidden or key.is_mock_only:
            others.append(name)
        elif name not in defined:
            of_kafka.append(name)
    return in_hash_order(others, string_hash) + in_hash_order(of_kafka, string_hash)
