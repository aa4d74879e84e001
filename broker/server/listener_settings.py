"""The listeners of brokers: addresses, security protocols and advertised addresses.

Sources: Kafka's `listeners`, `advertised.listeners` and `listener.security.protocol.map`, and its
`SocketServerConfigs.listenerListToEndPoints`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import count

from broker.addresses import PORT_MAX, Address, parse_listener
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.config.values import split_list


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
    listeners of any two brokers share a port.
    """

    name: str
    protocol: SecurityProtocol
    bound: Address
    advertised: Address
    port_step: int

    def bound_by(self, index: int) -> Address:
        """Return the address on which the broker at `index` listens."""
        return self.bound.shifted(index * self.port_step)

    def advertised_by(self, index: int) -> Address:
        """Return the advertised address of the broker at `index`; port 0 is that of its socket."""
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

    Raises:
        ConfigError: an entry is malformed, names an unknown listener or protocol, or no listener
            has the TLS or SASL of `protocol`.
    """
    advertised_entries = _named(config, "advertised.listeners")
    if "listeners" not in config.overrides:
        name = protocol.value
        bound = {name: Address(host, port)}
        advertised_entries = [(name, address) for _name, address in advertised_entries[:1]]
    else:
        bound = _bound(config, host)
    advertised = dict(advertised_entries)
    for name, address in advertised_entries:
        if name not in bound:
            raise ConfigError(f"advertised.listeners: {name} is not among the listeners")
        if not address.host:
            raise ConfigError(f"advertised.listeners: {name} has no host")
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
    addresses = {
        name: advertised.get(name, Address(advertised_host or bound[name].host, 0))
        for name in bound
    }
    port_step = _port_step(bound.values(), addresses.values(), broker_count)
    for name in bound:
        for address in (bound[name], addresses[name]):
            _check_ports(name, address, port_step, broker_count)
    return [
        ListenerPlan(name, protocols[name], bound[name], addresses[name], port_step)
        for name in bound
    ]


def _bound(config: BrokerConfig, host: str) -> dict[str, Address]:
    bound: dict[str, Address] = {}
    for name, address in _named(config, "listeners"):
        if name in bound:
            raise ConfigError(f"listeners: {name} is there twice")
        bound[name] = Address(address.host or host, address.port)
    if not bound:
        raise ConfigError("listeners: there is none for clients")
    return bound


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


def _named(config: BrokerConfig, key: str) -> list[tuple[str, Address]]:
    """Return the entries of a key without the listeners of Kafka's controllers."""
    entries = [_split(key, text) for text in split_list(config[key] or "")]
    controllers = split_list(config["controller.listener.names"] or "")
    return [entry for entry in entries if entry[0] not in controllers]


def _split(key: str, text: str) -> tuple[str, Address]:
    try:
        return parse_listener(text)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None


def _check_ports(name: str, first: Address, port_step: int, broker_count: int) -> None:
    for index in range(broker_count):
        port = first.shifted(index * port_step).port
        if port > PORT_MAX:
            raise ConfigError(f"{name}: port {port} of broker {index + 1} is above {PORT_MAX}")


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
