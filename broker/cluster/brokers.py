"""The brokers of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID

from broker.addresses import Address, parse_listener
from broker.config.broker_requirements import LOG_DIR


class Availability(Enum):
    """Whether the sockets of a broker accept connections and serve requests."""

    UP = "up"
    DOWN = "down"
    """Connections are closed and new ones refused, as if the process had ended."""
    ISOLATED = "isolated"
    """Nothing is read or sent until it is up again, as if the network was cut."""


@dataclass(slots=True, eq=False)
class Broker:
    """One broker of the cluster: the addresses it advertises, and whether it is up.

    `host` and `port` are those of its first listener, `endpoints` those of all listeners by name.
    `is_alive`: Metadata lists it. `availability`: whether its sockets accept and respond.
    """

    node_id: int
    host: str
    port: int
    rack: str | None = None
    is_alive: bool = True
    availability: Availability = Availability.UP
    is_shutting_down: bool = False
    """Whether it will be down in a moment, when its controlled shutdown is complete."""
    is_out_of_memory: bool = False
    """Whether it stopped because of `broker.max.producer.ids`, until it is started again."""
    is_unregistered_controller: bool = False
    """Whether its registration as a controller was removed, until it is started again."""
    start_count: int = 0
    """How often it was started again after it was down."""
    endpoints: dict[str, Address] = field(default_factory=dict)
    altered_endpoints: dict[str, Address] = field(default_factory=dict)
    """The addresses that `advertised.listeners` has at run time, in place of `endpoints`."""
    replica_dirs: dict[tuple[UUID, int], str] = field(default_factory=dict)
    """The log directory of each replica, by topic and partition, if it has several."""
    bound: dict[str, str] = field(default_factory=dict)
    """Where it listens, by the name of the listener: `127.0.0.1:9092`."""

    def note_start(self) -> None:
        """Forget what ends with the next start, before the broker is up."""
        self.is_out_of_memory = self.is_unregistered_controller = False
        if self.availability is Availability.DOWN:
            self.start_count += 1

    @property
    def incarnation(self) -> tuple[int, int]:
        """Another value after each start of each broker."""
        return self.node_id, self.start_count

    @property
    def advertised(self) -> dict[str, Address]:
        """The advertised address of each listener, the first listener first."""
        started_with = self.endpoints or {"PLAINTEXT": Address(self.host, self.port)}
        return {**started_with, **self.altered_endpoints}

    def address(self, listener: str) -> Address:
        """Return the advertised address of a listener; every broker has every listener."""
        return (
            self.altered_endpoints.get(listener)
            or self.endpoints.get(listener)
            or Address(self.host, self.port)
        )

    def advertise(self, listener: str, address: Address) -> None:
        """Advertise another address of a listener from now on, also after a reset.

        Raises:
            ValueError: there is no such listener, or the address was altered at run time, which
                has precedence.
        """
        if listener not in self.advertised:
            known = ", ".join(self.advertised)
            raise ValueError(f"broker {self.node_id} has no listener {listener!r}, only {known}")
        if listener in self.altered_endpoints:
            raise ValueError("advertised.listeners was altered at run time, and has precedence")
        self.endpoints = {**self.endpoints, listener: address}
        first = next(iter(self.endpoints.values()))
        self.host, self.port = first.host, first.port

    def alter_endpoints(self, advertised_listeners: str) -> None:
        """Take over a value of `advertised.listeners` at run time; an empty one ends it.

        Raises:
            ValueError: an entry is malformed, or names an unknown listener, no host or port 0.
        """
        entries = advertised_listeners.split(",") if advertised_listeners.strip() else []
        altered = dict(parse_listener(entry.strip()) for entry in entries)
        for name, address in altered.items():
            if name not in self.advertised:
                known = ", ".join(self.advertised)
                raise ValueError(f"{name} is not among the listeners, only {known}")
            if not address.host or not address.port:
                raise ValueError(f"{name} needs a host and a port")
        self.altered_endpoints = altered

    def own_config(self, started_with: Mapping[str, str]) -> dict[str, str]:
        """Return the start keys that are this broker's alone: id, addresses, rack, directory.

        `started_with` are the keys that it was started with. Keys that a server.properties of Kafka
        must set are there, too.
        """
        texts = {
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": LOG_DIR.format(self.node_id),
        }
        if "log.dir" in started_with:
            del texts["log.dirs"]
        texts = {name: text for name, text in texts.items() if name not in started_with}
        texts["node.id"] = texts["broker.id"] = str(self.node_id)
        if self.rack is not None:
            texts["broker.rack"] = self.rack
        if self.bound:
            texts["listeners"] = _listener_list(self.bound)
        if self.host:
            endpoints = self.endpoints or {"PLAINTEXT": self.address("PLAINTEXT")}
            texts["advertised.listeners"] = _listener_list(endpoints)
        return texts


def _listener_list(addresses: Mapping[str, object]) -> str:
    """Return addresses by listener as Kafka's `listeners` has them."""
    return ",".join(f"{name}://{address}" for name, address in addresses.items())
