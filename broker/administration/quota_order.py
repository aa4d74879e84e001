"""The order of quota entities, their types and their keys in responses.

Kafka answers from hash maps; `protocol/hash_order.py` has their order.

Sources: `ClientQuotaControlManager.alterClientQuotas`, `ClientQuotasImage.describe`,
`AlterClientQuotasRequest.entries` and `ClientQuotaEntity`.
"""

from collections.abc import Iterable, Sequence

from protocol.hash_order import (
    CAPACITY_DEFAULT,
    in_hash_order,
    map_hash,
    string_hash,
)
from protocol.pacing import may_pause
from quotas.entities import Entity


@may_pause
def ordered_entities(
    entities: Iterable[Entity], *, capacity_min: int = CAPACITY_DEFAULT
) -> list[Entity]:
    """Return distinct entities, given by their first change, in the order of a response."""
    return in_hash_order(entities, _entity_hash, capacity_min=capacity_min)


@may_pause
def ordered_names(
    entity: Entity, *, capacity_min: int = CAPACITY_DEFAULT
) -> list[tuple[str, str | None]]:
    """Return the types and names of an entity in the order of a response: client-id before user."""
    return in_hash_order(entity, lambda pair: string_hash(pair[0]), capacity_min=capacity_min)


@may_pause
def requested_names(parts: Sequence[tuple[str, str | None]]) -> Entity:
    """Return the types and names of a requested entity in the order in which Kafka checks them.

    The last name of a type counts. The map has room for all parts, also those that occur twice.
    """
    capacity = 1 << max(0, len(parts) - 1).bit_length()
    return tuple(ordered_names(tuple(dict(parts).items()), capacity_min=capacity))


@may_pause
def ordered_keys(keys: Iterable[str]) -> list[str]:
    """Return distinct keys of one entity, in the order in which Kafka checks them."""
    return in_hash_order(keys, string_hash, capacity_min=1)


def entity_text(entity: Entity) -> str:
    """Return an entity, in the order of `requested_names`, as Kafka's error messages show it."""
    names = (f"{entity_type}={'null' if name is None else name}" for entity_type, name in entity)
    return f"ClientQuotaEntity(entries={{{', '.join(names)}}})"


@may_pause
def _entity_hash(entity: Entity) -> int:
    return (31 + map_hash(entity)) & 0xFFFFFFFF
