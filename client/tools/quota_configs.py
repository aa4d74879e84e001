"""Describe and alter the client quotas of users, clients and IP addresses (KIP-546)."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

from client.admin import Admin
from client.resources import QuotaChange, QuotaEntity, QuotaFilter
from client.tools.session import ToolError
from protocol.client_quotas import QuotaMatch
from protocol.suggestions import did_you_mean

ENTITY_TYPES = {"users": "user", "clients": "client-id", "ips": "ip"}
"""The protocol's name of each of the tool's entity types."""

_CLIENT_KEYS = {
    "consumer_byte_rate",
    "controller_mutation_rate",
    "producer_byte_rate",
    "request_percentage",
}
_USER_KEYS = {"producer_ids_rate"}
_IP_KEYS = {"connection_creation_rate"}
_KEYS = _CLIENT_KEYS | _USER_KEYS | _IP_KEYS
_NOUNS = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}

Entities = Mapping[str, str | None]
"""Names by the tool's entity types; None is the default entity."""


def alter(
    admin: Admin, entities: Entities, added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    """Set and remove quotas of one entity; removing a key that is not set is an error."""
    _check_keys(entities, added)
    entity = {ENTITY_TYPES[entity_type]: name for entity_type, name in entities.items()}
    quotas: dict[str, float | None] = {key: _number(key, text) for key, text in added.items()}
    if deleted:
        present = _quotas_of(admin, entity)
        missing = [key for key in deleted if key not in present]
        if missing:
            raise ToolError(f"Invalid config(s): {','.join(missing)}")
        quotas |= dict.fromkeys(deleted)
    [error] = admin.alter_client_quotas([QuotaChange(entity, quotas)])
    if error is not None:
        raise error


def describe(admin: Admin, entities: Entities, entity_types: Sequence[str]) -> list[str]:
    """Return a line for each entity; a type without a name matches all entities of these types."""
    filters = [_filter(entity_type, entities) for entity_type in entity_types]
    lines = []
    for entry in admin.describe_client_quotas(filters, is_strict=True):
        quotas = sorted(entry.quotas.items())
        values = ", ".join(f"{key}={double_text(value)}" for key, value in quotas)
        lines.append(f"Quota configs for {entity_text(entry.entity)} are {values}")
    return sorted(lines)


def entity_text(entity: QuotaEntity) -> str:
    """Return an entity as Kafka's tool prints it: `user-principal 'u', the default client-id`."""
    parts = []
    for entity_type, noun in _NOUNS.items():
        if entity_type in entity:
            name = entity[entity_type]
            parts.append(f"the default {noun}" if name is None else f"{noun} '{name}'")
    return ", ".join(parts)


def double_text(value: float) -> str:
    """Return a number as Java prints it: `10.0`, `1.048576E7`."""
    if value == 0 or 1e-3 <= abs(value) < 1e7 or not math.isfinite(value):
        return repr(value)
    exact = Decimal(repr(value)).normalize()
    sign, digits, _ = exact.as_tuple()
    fraction = "".join(str(digit) for digit in digits[1:]) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{exact.adjusted()}"


def _check_keys(entities: Entities, added: Mapping[str, str]) -> None:
    known = _IP_KEYS if "ips" in entities else _CLIENT_KEYS
    if entities.keys() == {"users"}:
        known = known | _USER_KEYS
    unknown = [key for key in added if key not in known]
    if unknown:
        # A key of other entities exists, so it is not misspelt.
        hints = [did_you_mean(key, known) for key in unknown if key not in _KEYS]
        raise ToolError(
            f"Only quota configs can be added for '{' and '.join(entities)}'"
            f" ({', '.join(sorted(known))}). Unexpected config names: {', '.join(unknown)}"
            f"{''.join(hints)}"
        )


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ToolError(f"Cannot parse quota configuration value for {key}: {text}") from None


def _quotas_of(admin: Admin, entity: QuotaEntity) -> Mapping[str, float]:
    filters = [
        QuotaFilter(entity_type, QuotaMatch.DEFAULT)
        if name is None
        else QuotaFilter(entity_type, QuotaMatch.EXACT, name)
        for entity_type, name in entity.items()
    ]
    entries = admin.describe_client_quotas(filters, is_strict=True)
    return entries[0].quotas if entries else {}


def _filter(entity_type: str, entities: Entities) -> QuotaFilter:
    protocol_type = ENTITY_TYPES[entity_type]
    if entity_type not in entities:
        return QuotaFilter(protocol_type, QuotaMatch.ANY)
    name = entities[entity_type]
    if name is None:
        return QuotaFilter(protocol_type, QuotaMatch.DEFAULT)
    return QuotaFilter(protocol_type, QuotaMatch.EXACT, name)
