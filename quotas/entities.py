"""Quota entities and quota keys (KIP-55, KIP-546, KIP-599, KIP-612, KIP-936).

An entity is a user, a client id, both, or an ip address. The name None is the default, for all
without their own quota. The name "<default>" is an ordinary name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from protocol.pacing import may_pause, paced

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ENTITY_TYPES = (USER, CLIENT_ID, IP)

IP_SINCE_RELEASE = (2, 8)
"""The first release with the entity type ip: KIP-612's second part, not 2.7."""

Entity = tuple[tuple[str, str | None], ...]
"""Pairs of entity type and name, in the order of ENTITY_TYPES."""

_CLIENTS = frozenset({(USER,), (CLIENT_ID,), (USER, CLIENT_ID)})
_USERS = frozenset({(USER,)})
_IPS = frozenset({(IP,)})


@dataclass(frozen=True, slots=True)
class QuotaKey:
    """A quota key: its name, its families of entities, and its largest value.

    `integral_max` is None if values may be fractions. `since_release` is the first release of
    Kafka that knows the key; None for those that every release with AlterClientQuotas knows, and
    for KIP-936's, which no release knows.
    """

    name: str
    families: frozenset[tuple[str, ...]] = _CLIENTS
    integral_max: int | None = None
    since_release: tuple[int, ...] | None = None


PRODUCER_BYTE_RATE = QuotaKey("producer_byte_rate", integral_max=2**63 - 1)
CONSUMER_BYTE_RATE = QuotaKey("consumer_byte_rate", integral_max=2**63 - 1)
REQUEST_PERCENTAGE = QuotaKey("request_percentage")
CONTROLLER_MUTATION_RATE = QuotaKey("controller_mutation_rate", since_release=(2, 7))
PRODUCER_IDS_RATE = QuotaKey("producer_ids_rate", _USERS)
CONNECTION_CREATION_RATE = QuotaKey(
    "connection_creation_rate", _IPS, integral_max=2**31 - 1, since_release=IP_SINCE_RELEASE
)

QUOTA_KEYS = {
    key.name: key
    for key in (
        PRODUCER_BYTE_RATE,
        CONSUMER_BYTE_RATE,
        REQUEST_PERCENTAGE,
        CONTROLLER_MUTATION_RATE,
        PRODUCER_IDS_RATE,
        CONNECTION_CREATION_RATE,
    )
}


@may_pause
def make_entity(names: Iterable[tuple[str, str | None]]) -> Entity:
    """Return the entity of these types and names, in any order; unknown types come last.

    The last name of a type counts, as in Kafka.
    """
    by_type = dict(paced(names))
    known = [entity_type for entity_type in ENTITY_TYPES if entity_type in by_type]
    unknown = sorted(by_type.keys() - set(ENTITY_TYPES))
    return tuple((entity_type, by_type[entity_type]) for entity_type in paced((*known, *unknown)))


def entity_problem(entity: Entity) -> str | None:
    """Return why no quota can be set on this entity, or None."""
    if not entity:
        return "Invalid empty client quota entity"
    family = family_of(entity)
    for entity_type, name in entity:
        if entity_type not in ENTITY_TYPES:
            return f"Unhandled client quota entity type: {entity_type}"
        if name is not None and not name:
            return f"Empty {entity_type} not supported"
    if IP in family and len(family) > 1:
        # Kafka's message, with its missing space.
        return (
            "Invalid quota entity combination, IP entity should"
            "not be combined with User or ClientId"
        )
    if family == (IP,) and not is_ip(entity[0][1]):
        return f"{entity[0][1]} is not a valid IP or resolvable host."
    return None


def release_problem(
    entity: Entity, key_names: Iterable[str], release: tuple[int, ...]
) -> str | None:
    """Return why brokers of a release refuse to set these keys on an entity, or None.

    Source: `AdminManager.alterClientQuotas` of 2.6.
    """
    if IP in family_of(entity) and release < IP_SINCE_RELEASE:
        return f"Unhandled client quota entity type: {IP}"
    for name in key_names:
        key = QUOTA_KEYS.get(name)
        if key is not None and key.since_release is not None and release < key.since_release:
            return f"Invalid configuration key {name}"
    return None


def family_of(entity: Entity) -> tuple[str, ...]:
    """Return the types of an entity."""
    return tuple(entity_type for entity_type, _name in entity)


def is_ip(name: str | None) -> bool:
    """Return whether it is the default or an address; host names are not resolved."""
    try:
        canonical_ip(name)
    except ValueError:
        return False
    return True


def canonical_ip(name: str | None) -> str | None:
    """Return the canonical form of an address, None for the default.

    Raises:
        ValueError: it is not an address.
    """
    return None if name is None else str(ip_address(name))
