"""Keys, their types and defaults by Kafka release: what DescribeConfigs of an older broker shows.

Sources: DescribeConfigs of Apache Kafka 3.9.1, 4.0.0, 4.1.0, 4.2.0, 4.3.0 and 4.4.0. Before 3.9:
the KIPs that added the keys.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from broker.config.keys import DYNAMIC_ONLY, LIST, STRING, Check, ConfigKey, ListRule, plugin_key
from broker.config.values import at_least, each_of
from protocol.releases import Release

_LONG_MAX = (1 << 63) - 1

_KEYS_BY_FIRST_RELEASE: Mapping[Release, tuple[str, ...]] = {
    (1, 1): ("max.incremental.fetch.session.cache.slots",),
    (2, 1): ("connection.failed.authentication.delay.ms",),
    (2, 2): ("connections.max.reauth.ms", "group.max.size", "ssl.principal.mapping.rules"),
    (2, 3): ("log.cleaner.max.compaction.lag.ms", "max.compaction.lag.ms", "max.connections"),
    (2, 5): ("fetch.max.bytes",),
    (2, 7): ("controller.quota.window.num", "controller.quota.window.size.seconds"),
    (2, 8): ("controller.listener.names", "controller.quorum.voters", "node.id", "process.roles"),
    (3, 4): ("producer.id.expiration.ms",),
    (3, 6): (
        "local.retention.bytes",
        "local.retention.ms",
        "log.local.retention.bytes",
        "log.local.retention.ms",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "remote.storage.enable",
        "transaction.partition.verification.enable",
    ),
    (3, 8): ("compression.gzip.level", "compression.lz4.level", "compression.zstd.level"),
    (3, 9): (
        "controller.quorum.bootstrap.servers",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
    ),
    (4, 0): (
        "add.partitions.to.txn.retry.backoff.max.ms",
        "add.partitions.to.txn.retry.backoff.ms",
        "group.consumer.migration.policy",
        "remote.list.offsets.request.timeout.ms",
        "share.coordinator.append.linger.ms",
        "share.coordinator.load.buffer.size",
        "share.coordinator.snapshot.update.records.per.snapshot",
        "share.coordinator.state.topic.compression.codec",
        "share.coordinator.state.topic.min.isr",
        "share.coordinator.state.topic.num.partitions",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.segment.bytes",
        "share.coordinator.threads",
        "share.coordinator.write.timeout.ms",
        "share.fetch.purgatory.purge.interval.requests",
    ),
    (4, 1): (
        "group.share.assignors",
        "group.share.max.share.sessions",
        "group.streams.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
        "group.streams.max.session.timeout.ms",
        "group.streams.max.size",
        "group.streams.max.standby.replicas",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.num.standby.replicas",
        "group.streams.session.timeout.ms",
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope",
        "share.isolation.level",
        "streams.heartbeat.interval.ms",
        "streams.num.standby.replicas",
        "streams.session.timeout.ms",
        "transaction.two.phase.commit.enable",
    ),
    (4, 2): (
        "config.providers",
        "controller.quorum.auto.join.enable",
        "group.share.initialize.retry.interval.ms",
        "group.streams.initial.rebalance.delay.ms",
        "remote.log.manager.follower.thread.pool.size",
        "streams.initial.rebalance.delay.ms",
    ),
    (4, 3): (
        "consumer.assignment.interval.ms",
        "controller.quorum.fetch.max.bytes",
        "controller.quorum.fetch.snapshot.max.bytes",
        "cordoned.log.dirs",
        "follower.fetch.last.tiered.offset.enable",
        "group.consumer.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.coordinator.background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
        "group.share.max.delivery.count.limit",
        "group.share.max.partition.max.record.locks",
        "group.share.min.assignment.interval.ms",
        "group.share.min.delivery.count.limit",
        "group.share.min.partition.max.record.locks",
        "group.streams.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
        "group.streams.min.assignment.interval.ms",
        "remote.log.index.file.cache.ttl.ms",
        "share.assignment.interval.ms",
        "share.coordinator.cached.buffer.max.bytes",
        "share.delivery.count.limit",
        "share.partition.max.record.locks",
        "share.renew.acknowledge.enable",
        "streams.assignment.interval.ms",
    ),
    (4, 4): (
        "consumer.assignor.offload.enable",
        "errors.deadletterqueue.auto.create.topics.enable",
        "errors.deadletterqueue.copy.record.enable",
        "errors.deadletterqueue.group.enable",
        "errors.deadletterqueue.topic.name",
        "errors.deadletterqueue.topic.name.prefix",
        "group.consumer.assignor.offload.enable",
        "group.share.assignor.offload.enable",
        "group.share.dlq.manager.class.name",
        "group.streams.acceptable.recovery.lag",
        "group.streams.assignor.offload.enable",
        "group.streams.assignors",
        "group.streams.max.warmup.replicas",
        "group.streams.min.task.offset.interval.ms",
        "group.streams.num.warmup.replicas",
        "group.streams.rack.aware.assignment.tags",
        "group.streams.task.offset.interval.ms",
        "group.streams.topology.description.plugin.class",
        "log.remote.copy.lag.bytes",
        "log.remote.copy.lag.ms",
        "max.decompressed.message.bytes",
        "remote.copy.lag.bytes",
        "remote.copy.lag.ms",
        "sasl.oauthbearer.allow.unverified.audience",
        "sasl.oauthbearer.allow.unverified.issuer",
        "share.assignor.offload.enable",
        "streams.acceptable.recovery.lag",
        "streams.assignor.name",
        "streams.assignor.offload.enable",
        "streams.num.warmup.replicas",
        "streams.rack.aware.assignment.tags",
        "streams.task.offset.interval.ms",
    ),
}

_KEYS_BY_LAST_RELEASE: Mapping[Release, tuple[str, ...]] = {
    (3, 9): ("leader.imbalance.per.broker.percentage",),
    (4, 2): ("group.share.enable", "internal.metadata.max.fetch.size.in.bytes"),
}

_LAST_RELEASES: Mapping[str, Release] = {
    name: until for until, names in _KEYS_BY_LAST_RELEASE.items() for name in names
}

_FIRST_RELEASES: Mapping[str, Release] = {
    name: since for since, names in _KEYS_BY_FIRST_RELEASE.items() for name in names
}

_DEFAULTS_BEFORE: Mapping[Release, Mapping[str, Any]] = {
    (2, 0): {"offsets.retention.minutes": 1440},
    (4, 0): {
        "group.consumer.assignors": (
            "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
            "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
        ),
        "group.coordinator.append.linger.ms": 10,
        "group.coordinator.rebalance.protocols": ("classic",),
        "group.coordinator.threads": 1,
        "log.message.timestamp.after.max.ms": _LONG_MAX,
        "metric.reporters": (),
        "num.recovery.threads.per.data.dir": 1,
        "remote.log.manager.copier.thread.pool.size": -1,
        "remote.log.manager.expiration.thread.pool.size": -1,
        "remote.log.manager.thread.pool.size": 10,
    },
    (4, 1): {
        "group.coordinator.rebalance.protocols": ("classic", "consumer"),
        "group.share.partition.max.record.locks": 200,
        "share.coordinator.append.linger.ms": 10,
    },
    (4, 2): {
        "group.coordinator.append.linger.ms": 5,
        "sasl.oauthbearer.expected.audience": None,
        "share.coordinator.append.linger.ms": 5,
    },
}
"""Parsed defaults of broker keys that changed in a release, as they were before it."""

_CHECKS_BEFORE: Mapping[Release, Mapping[str, Check | None]] = {
    (4, 2): {
        "group.coordinator.append.linger.ms": at_least(0),
        "num.replica.fetchers": None,
        "share.coordinator.append.linger.ms": at_least(0),
    },
    (4, 3): {"share.coordinator.snapshot.update.records.per.snapshot": at_least(0)},
}
"""Checks of broker keys that changed in a release, as they were before it."""

LIST_RULES_SINCE: Release = (4, 2)
"""First release with rules for lists (KIP-1161)."""

_STRINGS_BEFORE_LIST_RULES = frozenset(
    {
        "advertised.listeners",
        "controller.listener.names",
        "early.start.listeners",
        "listeners",
        "log.dir",
        "log.dirs",
    }
)

_REPLICATION_RATES = frozenset(
    {
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)
"""Keys that Kafka describes as read-only while its `DynamicBrokerConfig` is in Scala."""

DYNAMIC_KEYS_IN_JAVA_SINCE: Release = (4, 3)
"""First release that checks dynamic keys in Java: it prints other sets, and knows more errors."""

GROUP_RESOURCES_SINCE: Release = (4, 0)
"""First release whose groups have configurations by default."""

CLIENT_METRICS_DEFAULTS_SINCE: Release = (4, 1)
"""First release that describes keys of client metrics that are not set."""


def is_known(name: str, release: Release) -> bool:
    """Return whether a release has a key; of some keys neither the first nor the last is known."""
    return _FIRST_RELEASES.get(name, release) <= release <= _LAST_RELEASES.get(name, release)


@cache
def key_in(key: ConfigKey, release: Release) -> ConfigKey:
    """Return a key as a release defines it.

    A key that it does not have is one of a plug-in. Some have other checks, and lists other types,
    too.
    """
    if not is_known(key.name, release):
        return plugin_key(key.name)
    if key.name in _REPLICATION_RATES and release < DYNAMIC_KEYS_IN_JAVA_SINCE:
        return replace(key, update_mode=DYNAMIC_ONLY)
    for changed_in, checks in _CHECKS_BEFORE.items():
        if release < changed_in and key.name in checks:
            return replace(key, check=checks[key.name])
    rule = key.check
    if release >= LIST_RULES_SINCE or not isinstance(rule, ListRule):
        return key
    return replace(
        key,
        config_type=STRING if key.name in _STRINGS_BEFORE_LIST_RULES else LIST,
        check=each_of(*rule.allowed) if rule.allowed else None,
    )


@cache
def release_defaults(release: Release) -> Mapping[str, Any]:
    """Return the defaults of broker keys that differ from those of the default release, by name."""
    defaults: dict[str, Any] = {}
    for changed_in, old in sorted(_DEFAULTS_BEFORE.items(), reverse=True):
        if release < changed_in:
            defaults |= old
    return MappingProxyType(defaults)
