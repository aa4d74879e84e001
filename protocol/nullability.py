"""Refuse nulls in fields that Kafka's schema does not declare nullable.

kafka-python's decoders accept every null. With this check a handler can rely on a string being a
string, as with Kafka's generated readers.
"""

from collections.abc import Callable
from typing import Any

from protocol.pacing import paced_elements

Check = Callable[[Any], str | None]
"""Takes a decoded message or struct; returns the name of a field that must not be null, or None."""

_NULLABLE_ON_THE_WIRE = frozenset({"string", "bytes", "records"})


def null_check(struct: Any, version: int) -> Check | None:
    """Return a check of all fields of `struct` in this version; None if nothing can be null."""
    fields = [
        field_check
        for field in struct.fields.values()
        if field.for_version_q(version) and (field_check := _field_check(field, version))
    ]
    if not fields:
        return None

    def check(message: Any) -> str | None:
        for field_check in fields:
            problem = field_check(message)
            if problem is not None:
                return problem
        return None

    return check


def _field_check(field: Any, version: int) -> Check | None:
    name: str = field.name
    is_nullable = field.nullable_for_version_q(version) or field.tagged_field_q(version)
    inner: Check | None = None
    if field.is_struct_array():
        inner = null_check(field.array_of, version)
    elif field.is_struct():
        inner = null_check(field, version)
    elif field.is_array():
        if field.array_of.type_str in _NULLABLE_ON_THE_WIRE:
            inner = _element_check(name)
    elif field.type_str not in _NULLABLE_ON_THE_WIRE:
        return None
    is_array = field.is_array()

    def check(message: Any) -> str | None:
        value = getattr(message, name)
        if value is None:
            return None if is_nullable else name
        if inner is None:
            return None
        if not is_array:
            return inner(value)
        for element in paced_elements(value):
            problem = inner(element)
            if problem is not None:
                return problem
        return None

    return check


def _element_check(name: str) -> Check:
    return lambda element: name if element is None else None
