"""The certificates of TLS listeners, which change at run time (KIP-226).

A listener takes the keys with its prefix, of the start and those that AlterConfigs set for its
broker. With each change of a key of the broker it also reads its files again if they have changed,
as Kafka does. New connections get the new certificate; the others keep theirs.

Sources: Kafka's `SslFactory` and `DynamicBrokerConfig.reloadUpdatedFilesWithoutConfigChange`.
"""

import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from broker.cluster.cluster import Cluster
from broker.config.listener_values import (
    first_listener_values,
    inter_broker_listener,
    listener_values,
    own_start_texts,
)
from broker.config.security_keys import STORE_KEYS
from broker.log import log
from broker.server.broker_listeners import BrokerListeners
from broker.server.certificate_names import CertificateNames
from broker.server.listener_settings import ListenerPlan
from broker.server.tls import (
    StoreError,
    has_keystore,
    load_keystore,
    load_truststore,
    server_context,
)

_NO_TRUSTSTORE_BEFORE = (
    "org.apache.kafka.common.config.ConfigException: Cannot add SSL truststore to an existing"
    " listener for which no truststore was configured."
)
_NOT_TRUSTED = (
    "javax.net.ssl.SSLHandshakeException: PKIX path validation failed:"
    " java.security.cert.CertPathValidatorException: "
)
_EXPIRED_CODE = 10
"""OpenSSL's number for a certificate that has expired."""
_FILES = ("ssl.keystore.location", "ssl.truststore.location")
_TRUSTSTORES = ("ssl.truststore.location", "ssl.truststore.certificates")


@dataclass(frozen=True, slots=True)
class Stores:
    """What one listener of a broker has loaded.

    `certificate` is the PEM text with its certificate, `modified_ns` the time of each file's last
    change, None for a file that cannot be read.
    """

    values: Mapping[str, Any]
    context: ssl.SSLContext
    certificate: bytes
    modified_ns: tuple[int | None, ...]
    client_context: ssl.SSLContext | None
    """How another broker would connect; None if brokers would not use the listener."""

    @classmethod
    def load(cls, plan: ListenerPlan, values: Mapping[str, Any]) -> "Stores":
        """Load the stores that values name.

        Raises:
            StoreError: a key is missing, a file or a PEM text is invalid, or both are given.
        """
        modified_ns = _modified_ns(values)
        context = server_context(values, has_sasl=plan.protocol.has_sasl)
        client_context = None
        if _is_inter_broker(plan, values):
            client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            client_context.check_hostname = False
            load_keystore(client_context, values)
            load_truststore(client_context, values)
        chain, path = values["ssl.keystore.certificate.chain"], values["ssl.keystore.location"]
        certificate = Path(path).read_bytes() if chain is None else chain.encode()
        return cls(dict(values), context, certificate, modified_ns, client_context)

    def is_current(self, values: Mapping[str, Any]) -> bool:
        """Return whether these values name the same stores, and no file has changed."""
        return all(self.values[key] == values[key] for key in STORE_KEYS) and (
            self.modified_ns == _modified_ns(values)
        )


def _modified_ns(values: Mapping[str, Any]) -> tuple[int | None, ...]:
    times: list[int | None] = []
    for key in _FILES:
        try:
            times.append(None if values[key] is None else Path(values[key]).stat().st_mtime_ns)
        except (OSError, ValueError):
            times.append(None)
    return tuple(times)


class ListenerCertificates:
    """The stores of the TLS listeners of all brokers; `BrokerListeners` has their contexts."""

    def __init__(self, cluster: Cluster, listeners: BrokerListeners) -> None:
        self.made_keystore: str | None = None
        """The file with the certificate that was made at the start, for brokers without another."""
        self._cluster = cluster
        self._listeners = listeners
        self._first: dict[str, Stores] = {}
        self._own: dict[tuple[int, str], Stores] = {}
        """Those of brokers that were started with their own keys."""
        self._changed: dict[tuple[int, str], Stores] = {}

    def load_first(self, plan: ListenerPlan) -> ssl.SSLContext | None:
        """Return the context of a listener at the start; None for one without TLS.

        Raises:
            ConfigError: see `Stores.load`.
        """
        if not plan.protocol.has_tls:
            return None
        values = first_listener_values(self._cluster.config, plan.name)
        stores = Stores.load(plan, self._with_made(values))
        self._first[plan.name] = stores
        return stores.context

    def load_own(self, plan: ListenerPlan, broker_id: int) -> None:
        """Load the key and trust stores of a broker that has own keys of its listeners.

        `use_own` uses them.

        Raises:
            ConfigError: see `Stores.load`.
        """
        config = self._cluster.config
        if plan.protocol.has_tls and own_start_texts(config, plan.name, broker_id):
            values = self._with_made(first_listener_values(config, plan.name, broker_id))
            self._own[broker_id, plan.name] = Stores.load(plan, values)

    def use_own(self, broker_id: int) -> None:
        """Have the open listeners of a broker use what `load_own` has loaded."""
        for (node_id, listener_name), stores in self._own.items():
            if node_id == broker_id:
                self._listeners.use_tls(broker_id, listener_name, stores.context)

    def problem(self, broker_id: int, listener_name: str, values: Mapping[str, Any]) -> str | None:
        """Return why a listener cannot adopt changed values, in the words of Kafka, or None.

        Files whose names stay are not looked at, as in Kafka.
        """
        plan = self._tls_plans().get(listener_name)
        before = listener_values(self._cluster.config, broker_id, listener_name)
        if plan is None or all(before[key] == values[key] for key in STORE_KEYS):
            return None
        try:
            self._replacement(plan, self._stores(broker_id, plan), values)
        except StoreError as error:
            return f"Validation of dynamic config update of SSLFactory failed: {error.kafka_text}"
        return None

    def reload(self, broker_id: int) -> None:
        """Have the listeners of a broker adopt its values, and files that have changed.

        A listener whose new stores cannot be used keeps the old ones, and a log line says why.
        """
        for plan in self._tls_plans().values():
            stores = self._stores(broker_id, plan)
            values = listener_values(self._cluster.config, broker_id, plan.name)
            if not stores.is_current(self._with_made(values)):
                replacement = partial(self._replacement, plan, stores, values)
                self._adopt(broker_id, plan, replacement)

    def restart(self, broker_id: int) -> None:
        """Have the listeners of a broker that starts again read their files.

        As at a start, a certificate may have any names.
        """
        for plan in self._tls_plans().values():
            values = self._stores(broker_id, plan).values
            if not self._stores(broker_id, plan).is_current(values):
                self._adopt(broker_id, plan, partial(Stores.load, plan, values))

    def reset(self) -> None:
        """Return to the stores of the start."""
        changed = [*self._changed]
        self._changed.clear()
        for broker_id, listener_name in changed:
            stores = self._own.get((broker_id, listener_name), self._first[listener_name])
            self._listeners.use_tls(broker_id, listener_name, stores.context)

    def _adopt(self, broker_id: int, plan: ListenerPlan, load: Callable[[], Stores]) -> None:
        try:
            stores = load()
        except StoreError as error:
            log.warning(
                "certificates not reloaded",
                broker=broker_id,
                listener=plan.name,
                reason=error.kafka_text,
            )
            return
        self._changed[broker_id, plan.name] = stores
        self._listeners.use_tls(broker_id, plan.name, stores.context)
        log.info("certificates reloaded", broker=broker_id, listener=plan.name)

    def _tls_plans(self) -> dict[str, ListenerPlan]:
        return {plan.name: plan for plan, _ in self._listeners.plans if plan.name in self._first}

    def _stores(self, broker_id: int, plan: ListenerPlan) -> Stores:
        name = (broker_id, plan.name)
        return self._changed.get(name) or self._own.get(name) or self._first[plan.name]

    def _with_made(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if has_keystore(values):
            return values
        return {**values, "ssl.keystore.location": self.made_keystore}

    def _replacement(self, plan: ListenerPlan, old: Stores, values: Mapping[str, Any]) -> Stores:
        """Return the stores of a running listener with other values.

        Raises:
            StoreError: they cannot be loaded, or cannot replace the old ones.
        """
        changed = {key: self._with_made(values)[key] for key in STORE_KEYS}
        new = Stores.load(plan, {**old.values, **changed})
        problem = _change_problem(old, new)
        if problem is not None:
            raise StoreError(problem, problem)
        return new


def _change_problem(old: Stores, new: Stores) -> str | None:
    before, after = (CertificateNames.read(stores.certificate) for stores in (old, new))
    problem = before.change_problem(
        after,
        allows_name=new.values["ssl.allow.dn.changes"],
        allows_alternatives=new.values["ssl.allow.san.changes"],
    )
    if problem is not None:
        return problem
    if not _has_truststore(old) and _has_truststore(new):
        return _NO_TRUSTSTORE_BEFORE
    return _handshake_problem(old, new) or _handshake_problem(new, old)


def _has_truststore(stores: Stores) -> bool:
    return any(stores.values[key] is not None for key in _TRUSTSTORES)


def _is_inter_broker(plan: ListenerPlan, values: Mapping[str, Any]) -> bool:
    """Return whether Kafka's brokers would use the listener among themselves."""
    return inter_broker_listener(values).upper() == plan.name.upper()


def _handshake_problem(server: Stores, client: Stores) -> str | None:
    """Return why another broker with one store cannot connect to one with the other, or None."""
    if client.client_context is None:
        return None
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    log_class, server.context.sslobject_class = server.context.sslobject_class, ssl.SSLObject
    sides = [
        client.client_context.wrap_bio(to_client, to_server),
        server.context.wrap_bio(to_server, to_client, server_side=True),
    ]
    server.context.sslobject_class = log_class
    try:
        for side in sides * 2:
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == _EXPIRED_CODE:
            return f"{_NOT_TRUSTED}validity check failed"
        return f"{_NOT_TRUSTED}Path does not chain with any of the trust anchors"
    except ssl.SSLError as error:
        return f"javax.net.ssl.SSLHandshakeException: {error.reason}"
    return None
