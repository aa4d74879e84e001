"""The brokers of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from broker.addresses import Address

LOG_DIR = "/mock-kafka/broker-{}"
"""Path of a broker's only log directory, by its node id."""


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
    endpoints: dict[str, Address] = field(default_factory=dict)
    bound: dict[str, str] = field(default_factory=dict)
    """Where it listens, by the name of the listener: `127.0.0.1:9092`."""

    def address(self, listener: str) -> Address:
        """Return the advertised address of a listener; every broker has every listener."""
        return self.endpoints.get(listener) or Address(self.host, self.port)

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
