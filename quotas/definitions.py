"""Parse quotas from one line of text, for a broker's configuration.

`user=alice,client-id=app,producer_byte_rate=1024; user=<default>,controller_mutation_rate=5`:
definitions separated by ";", each with an entity and its keys. `<default>` is the default entity.
Names with "," ";" or "=" need AlterClientQuotas.
"""

from typing import NamedTuple

from protocol.pacing import may_pause
from quotas.client_quotas import ClientQuotas
from quotas.entities import ENTITY_TYPES, Entity, make_entity

DEFAULT_NAME = "<default>"


class Definition(NamedTuple):
    """The keys of one entity."""

    entity: Entity
    values: list[tuple[str, float | None]]


@may_pause
def parse_definitions(text: str) -> list[Definition]:
    """Return the definitions of a text; a ValueError has one line."""
    quotas = ClientQuotas()
    definitions: list[Definition] = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        definition = _parse_definition(part)
        problem = quotas.alter(*definition)
        if problem is not None:
            raise ValueError(f"'{part}': {problem}")
        if any(before.entity == definition.entity for before in definitions):
            raise ValueError(f"'{part}': these clients already have quotas; merge the definitions")
        definitions.append(definition)
    return definitions


@may_pause
def definitions_problem(text: str) -> str | None:
    """Return the error message for the text, or None."""
    try:
        parse_definitions(text)
    except ValueError as error:
        return str(error)
    return None


@may_pause
def _parse_definition(part: str) -> Definition:
    names: list[tuple[str, str | None]] = []
    values: list[tuple[str, float | None]] = []
    for pair in part.split(","):
        name, equals, text = (piece.strip() for piece in pair.partition("="))
        if not equals or not text:
            raise ValueError(f"'{part}': '{pair.strip()}' is not of the form name=value")
        if name in ENTITY_TYPES:
            names.append((name, None if text == DEFAULT_NAME else text))
            continue
        try:
            values.append((name, float(text)))
        except ValueError:
            raise ValueError(f"'{part}': {text} is not a number") from None
    if not values:
        raise ValueError(f"'{part}': sets no quota")
    return Definition(make_entity(names), values)
