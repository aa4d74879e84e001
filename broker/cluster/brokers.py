"""The brokers of a cluster, and which of them coordinates a group."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from broker.addresses import Address


class Availability(Enum):
    """What happens to who connects to a broker."""

    UP = "up"
    DOWN = "down"
    """Its connections are cut, new ones are refused: the process has ended."""
    ISOLATED = "isolated"
    """Nothing is read and nothing is answered, until it serves again: the network is cut."""


@dataclass(slots=True, eq=False)
class Broker:
    """One broker of the cluster: the addresses it advertises, and whether it is up.

    `host` and `port` are those of its first listener, `endpoints` those of all by name. `is_alive`
    is what the other brokers believe and clients are told; `availability` is what clients find.
    """

    node_id: int
    host: str
    port: int
    rack: str | None = None
    is_alive: bool = True
    availability: Availability = Availability.UP
    is_out_of_memory: bool = False
    """Whether it ended by `broker.max.producer.ids`; until it is started again."""
    endpoints: dict[str, Address] = field(default_factory=dict)

    def address(self, listener: str) -> Address:
        """What a client that came in by a listener is told; every broker has every listener."""
        return self.endpoints.get(listener) or Address(self.host, self.port)


def coordinator_of(
    key: str,
    brokers: Mapping[int, "Broker"],
    first_node_ids: Sequence[int],
    moved: Mapping[str, int],
) -> int | None:
    """The broker to coordinate a group or transactional id: moved there, or the key's own.

    That is one of those there were from the start: a broker that is added takes nothing from the
    others. When it is down it is the next, so that what others coordinate stays; None if none is
    up.
    """
    first = zlib.crc32(key.encode()) % len(first_node_ids)
    in_turn = (*first_node_ids[first:], *first_node_ids[:first], *brokers)
    if key in moved:
        in_turn = (moved[key], *in_turn)
    return next((n for n in in_turn if n in brokers and brokers[n].is_alive), None)
