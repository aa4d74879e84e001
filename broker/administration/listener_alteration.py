"""Check changes of the keys of listeners at run time.

Sources: Kafka's `DynamicListenerConfig`, `DataPlaneAcceptor` and `ListenerConnectionQuota`. Keys
that none of them checks are kept without an effect, as in Kafka.
"""

from collections.abc import Mapping

from broker.cluster.cluster import Cluster
from broker.config.broker_config import BrokerConfig
from broker.config.broker_requirements import thread_problem
from broker.config.keys import ConfigError
from broker.config.listener_values import listener_values, own_texts
from broker.config.security_keys import STORE_KEYS

THREADS = "num.network.threads"
CONNECTION_LIMITS = ("max.connections", "max.connection.creation.rate")
_CHANGEABLE_KEYS = STORE_KEYS | {THREADS, *CONNECTION_LIMITS}
"""Keys of a listener that a running listener adopts."""
_KEYS_OF_ALL_LISTENERS = frozenset(
    {
        "listener.security.protocol.map",
        "listeners",
        "principal.builder.class",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.mechanism.inter.broker.protocol",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        THREADS,
        *CONNECTION_LIMITS,
    }
)
"""Keys without a prefix after whose change Kafka compares the keys of all listeners."""


def listener_problem(cluster: Cluster, broker_id: int, new_config: BrokerConfig) -> str | None:
    """Return why the listeners of a broker cannot adopt a configuration, or None."""
    names = list(cluster.brokers[broker_id].endpoints)
    problems = (_values_problem(cluster, broker_id, name, new_config) for name in names)
    problem = next((found for found in problems if found is not None), None)
    if problem is not None or not _changes_all_listeners(cluster.config, new_config, broker_id):
        return problem
    for name in names:
        before, after = (
            _fixed(own_texts(config, broker_id, name)) for config in (cluster.config, new_config)
        )
        if before != after:
            return (
                "Configs cannot be updated dynamically for existing listener"
                f" ListenerName({name.upper()}), restart broker or create a new listener for update"
            )
    return None


def _values_problem(
    cluster: Cluster, broker_id: int, name: str, new_config: BrokerConfig
) -> str | None:
    before = listener_values(cluster.config, broker_id, name)
    try:
        after = listener_values(new_config, broker_id, name)
    except ConfigError as error:
        return str(error)
    if any(before[key] != after[key] for key in CONNECTION_LIMITS):
        for key in CONNECTION_LIMITS:
            if after[key] <= 0:
                return f"Invalid {key} {after[key]}"
    problem = thread_problem(THREADS, before[THREADS], after[THREADS])
    if problem is None and cluster.certificates is not None:
        problem = cluster.certificates.problem(broker_id, name, after)
    return problem


def _changes_all_listeners(before: BrokerConfig, after: BrokerConfig, broker_id: int) -> bool:
    texts = [
        {**config.dynamic_default, **config.dynamic_layer(broker_id)} for config in (before, after)
    ]
    return any(texts[0].get(key) != texts[1].get(key) for key in _KEYS_OF_ALL_LISTENERS)


def _fixed(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if name not in _CHANGEABLE_KEYS}
