"""The listeners of brokers: addresses, security protocols and advertised addresses.

Sources: Kafka's `listeners`, `advertised.listeners` and `listener.security.protocol.map`, and its
`SocketServerConfigs.listenerListToEndPoints`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count

from broker.addresses import PORT_MAX, Address, parse_listener
from broker.config.api_versions import release_of
from broker.config.broker_config import BROKER_KEYS, BrokerConfig
from broker.config.keys import ConfigError
from broker.config.release_keys import key_in
from broker.config.values import elements_of, parse_value, split_list

LISTENERS, ADVERTISED_LISTENERS = "listeners", "advertised.listeners"


class SecurityProtocol(Enum):
    """The security protocol of a listener: with or without TLS and SASL."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @classmethod
    def of(cls, *, has_tls: bool, has_sasl: bool) -> "SecurityProtocol":
        """Return the protocol with or without TLS and SASL."""
        return next(p for p in cls if (p.has_tls, p.has_sasl) == (has_tls, has_sasl))

    @property
    def has_sasl(self) -> bool:
        """Whether a client must authenticate before other requests."""
        return self in {SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL}

    @property
    def has_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self in {SecurityProtocol.SSL, SecurityProtocol.SASL_SSL}


@dataclass(frozen=True, slots=True)
class ListenerPlan:
    """One listener of every broker; the addresses are those of the broker at `index` 0.

    The ports of the next brokers follow in steps of `port_step`, the smallest with which no two
    listeners of any two brokers share a port. `own` has the addresses of brokers that have others,
    by their index: where they listen, and what they advertise.
    """

    name: str
    protocol: SecurityProtocol
    bound: Address
    advertised: Address
    port_step: int
    own: Mapping[int, tuple[Address, Address]] = field(default_factory=dict)

    def bound_by(self, index: int) -> Address:
        """Return the address on which the broker at `index` listens."""
        if index in self.own:
            return self.own[index][0]
        return self.bound.shifted(index * self.port_step)

    def advertised_by(self, index: int) -> Address:
        """Return the advertised address of the broker at `index`; port 0 is that of its socket."""
        if index in self.own:
            return self.own[index][1]
        return self.advertised.shifted(index * self.port_step)


def plan_listeners(
    config: BrokerConfig,
    host: str,
    port: int,
    broker_count: int,
    advertised_host: str | None = None,
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT,
) -> list[ListenerPlan]:
    """Return the listeners of the brokers, in the order in which they are printed.

    Without `listeners` there is one at `host` and `port`, of `protocol` and with its name. In
    `listeners` an empty host is `host`, and TLS and SASL of `protocol` must be there. A listener
    that is not in `advertised.listeners` advertises `advertised_host`, by default the host it is
    bound to. Listeners named in `controller.listener.names` are left out.

    A broker may have its own `listeners` and `advertised.listeners`, with the same names. With
    `listeners` alone it advertises its own ports. If only single brokers have listeners, the others
    have those of the first broker, on any free port.

    Raises:
        ConfigError: an entry is malformed, names an unknown listener or protocol, no listener has
            the TLS or SASL of `protocol`, or brokers differ in the names of their listeners or
            advertise the same address.
    """
    own_keys = {
        node_id - config.first_node_id: keys
        for node_id, keys in config.overrides_by_broker.items()
        if LISTENERS in keys or ADVERTISED_LISTENERS in keys
    }
    bound = {protocol.value: Address(host, port)}
    if LISTENERS in config.overrides:
        bound = _bound(config, config.overrides[LISTENERS], host)
    elif LISTENERS in own_keys.get(0, {}):
        of_first = _bound(config, own_keys[0][LISTENERS], host)
        if of_first.keys() != bound.keys():
            bound = {name: Address(address.host, 0) for name, address in of_first.items()}
    advertised = _advertised(
        config, config.overrides.get(ADVERTISED_LISTENERS), bound, advertised_host
    )
    protocols = _protocols(config)
    for name in bound:
        if name not in protocols:
            raise ConfigError(f"listener.security.protocol.map has no protocol for {name}")
    if protocol.has_tls and not any(protocols[name].has_tls for name in bound):
        raise ConfigError("listeners: TLS (--tls, tls=True) needs one such as SSL://:0")
    if protocol.has_sasl and not any(protocols[name].has_sasl for name in bound):
        raise ConfigError(
            "listeners: SASL (--sasl, users=...) needs one such as SASL_PLAINTEXT://:0"
        )
    port_step = _port_step(bound.values(), advertised.values(), broker_count)
    plans = [
        ListenerPlan(name, protocols[name], bound[name], advertised[name], port_step)
        for name in bound
    ]
    for index, keys in own_keys.items():
        try:
            plans = _with_own(config, plans, index, keys, host, advertised_host)
        except ConfigError as error:
            raise ConfigError(f"broker.{config.first_node_id + index}.{error}") from None
    _check_ports(plans, broker_count)
    return plans


def _with_own(
    config: BrokerConfig,
    plans: list[ListenerPlan],
    index: int,
    keys: Mapping[str, str],
    host: str,
    advertised_host: str | None,
) -> list[ListenerPlan]:
    """Return the listeners with the addresses of the broker at `index`, which are in `keys`."""
    bound = {plan.name: plan.bound_by(index) for plan in plans}
    if LISTENERS in keys:
        names = bound.keys()
        bound = _bound(config, keys[LISTENERS], host)
        if bound.keys() != names:
            raise ConfigError(f"listeners: each broker has the listeners {', '.join(names)}")
    if ADVERTISED_LISTENERS in keys:
        advertised = _advertised(config, keys[ADVERTISED_LISTENERS], bound, advertised_host)
    else:
        named = {plan.name: plan.advertised.host for plan in plans if plan.advertised.port}
        advertised = {
            name: Address(named.get(name, advertised_host or address.host), 0)
            for name, address in bound.items()
        }
    return [
        replace(plan, own={**plan.own, index: (bound[plan.name], advertised[plan.name])})
        for plan in plans
    ]


def _bound(config: BrokerConfig, text: str, host: str) -> dict[str, Address]:
    bound: dict[str, Address] = {}
    for name, address in _named(config, LISTENERS, text):
        if name in bound:
            raise ConfigError(f"listeners: {name} is there twice")
        bound[name] = Address(address.host or host, address.port)
    if not bound:
        raise ConfigError("listeners: there is none for clients")
    return bound


def _advertised(
    config: BrokerConfig,
    text: str | None,
    bound: Mapping[str, Address],
    advertised_host: str | None,
) -> dict[str, Address]:
    """Return what each listener advertises; port 0 is that of its socket."""
    entries = [] if text is None else _named(config, ADVERTISED_LISTENERS, text)
    if not any(LISTENERS in keys for keys in _all_overrides(config)):
        entries = [(name, address) for name in bound for _name, address in entries[:1]]
    for name, address in entries:
        if name not in bound:
            raise ConfigError(f"advertised.listeners: {name} is not among the listeners")
        if not address.host:
            raise ConfigError(f"advertised.listeners: {name} has no host")
    advertised = dict(entries)
    return {
        name: advertised.get(name, Address(advertised_host or address.host, 0))
        for name, address in bound.items()
    }


def _all_overrides(config: BrokerConfig) -> Iterable[Mapping[str, str]]:
    return config.overrides, *config.overrides_by_broker.values()


def _protocols(config: BrokerConfig) -> dict[str, SecurityProtocol]:
    protocols = {}
    for text in split_list(config["listener.security.protocol.map"]):
        name, _, protocol = text.partition(":")
        try:
            protocols[name.strip()] = SecurityProtocol(protocol.strip().upper())
        except ValueError:
            raise ConfigError(
                f"listener.security.protocol.map: {text!r} is not NAME:PROTOCOL with one of"
                f" {', '.join(protocol.value for protocol in SecurityProtocol)}"
            ) from None
    return protocols


def _named(config: BrokerConfig, key: str, text: str) -> list[tuple[str, Address]]:
    """Return the entries of a key without the listeners of Kafka's controllers."""
    value = parse_value(key_in(BROKER_KEYS[key], release_of(config)), text)
    entries = [_split(key, element) for element in elements_of(value)]
    controllers = elements_of(config["controller.listener.names"])
    return [entry for entry in entries if entry[0] not in controllers]


def _split(key: str, text: str) -> tuple[str, Address]:
    try:
        return parse_listener(text)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None


def _check_ports(plans: Iterable[ListenerPlan], broker_count: int) -> None:
    advertised: set[Address] = set()
    for plan in plans:
        for index in range(broker_count):
            for address in (plan.bound_by(index), plan.advertised_by(index)):
                if address.port > PORT_MAX:
                    message = f"port {address.port} of broker {index + 1} is above {PORT_MAX}"
                    raise ConfigError(f"{plan.name}: {message}")
            address = plan.advertised_by(index)
            if address in advertised:
                raise ConfigError(f"advertised.listeners: two listeners advertise {address}")
            if address.port:
                advertised.add(address)


def _port_step(bound: Iterable[Address], advertised: Iterable[Address], broker_count: int) -> int:
    ports = [address.port for address in bound if address.port]
    named = [(address.host, address.port) for address in advertised if address.port]
    for side in (ports, named):
        if len(set(side)) < len(side):
            raise ConfigError("two listeners have the same port")
    return next(
        step
        for step in count(1)
        if len({port + i * step for port in ports for i in range(broker_count)})
        == len(ports) * broker_count
        and len({(host, port + i * step) for host, port in named for i in range(broker_count)})
        == len(named) * broker_count
    )
