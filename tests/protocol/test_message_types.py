"""What a message is decoded to has the types that `protocol/message_types.pyi` declares."""

import ast
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import protocol
from protocol import messages
from protocol.codec import decode_body, encode_message
from protocol.message_schema import schema_of

VALUES: dict[str, Any] = {
    "bool": True,
    "int8": 1,
    "int16": 2,
    "uint16": 3,
    "int32": 4,
    "int64": 5,
    "float64": 6.5,
    "string": "text",
    "bytes": b"bytes",
    "records": b"records",
    "uuid": UUID(int=7),
    "bitfield": {8},
}
EMPTY = {
    **VALUES,
    "string": "",
    "bytes": b"",
    "records": b"",
    "uuid": UUID(int=0),
    "bitfield": {31},
}
PYTHON_TYPES = {"bool": bool, "int": int, "float": float, "str": str, "bytes": bytes, "UUID": UUID}


@cache
def declared() -> dict[str, ast.ClassDef]:
    """Return the classes of the messages by name."""
    path = Path(protocol.__file__ or "").parent / "message_types.pyi"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def filled(message_class: Any, struct: Any, version: int, *, is_empty: bool) -> Any:
    """Return a message without nulls, or with null wherever the schema permits it and zeros."""

    def value(field: Any) -> Any:
        if is_empty and field.nullable_for_version_q(version):
            return None
        if field.is_struct_array():
            entry_class = getattr(message_class, field.type_str)
            return [filled(entry_class, field.array_of, version, is_empty=is_empty)]
        if field.is_struct():
            inner_class = getattr(message_class, field.type_str)
            return filled(inner_class, field, version, is_empty=is_empty)
        values = EMPTY if is_empty else VALUES
        return [values[field.array_of.type_str]] if field.is_array() else values[field.type_str]

    fields = [field for field in struct.fields.values() if field.for_version_q(version)]
    return message_class(version=version, **{field.name: value(field) for field in fields})


def mistakes(value: Any, annotation: ast.expr, scope: ast.ClassDef) -> list[str]:
    """Return why a value is not of a type; `scope` is the class with the field."""
    match annotation:
        case ast.BinOp(left, ast.BitOr(), right):
            return mistakes(value, left, scope) and mistakes(value, right, scope)
        case ast.Constant(None):
            return [] if value is None else [f"{value!r} is not None"]
        case ast.Subscript(ast.Name(name), element):
            if type(value) is not {"list": list, "Set": set}[name]:
                return [f"{value!r} is no {name}"]
            return [mistake for item in value for mistake in mistakes(item, element, scope)]
        case ast.Name(name) if name in PYTHON_TYPES:
            return [] if type(value) is PYTHON_TYPES[name] else [f"{value!r} is no {name}"]
        case ast.Name(name):
            [inner] = [n for n in scope.body if isinstance(n, ast.ClassDef) and n.name == name]
            if type(value).__name__ != name:
                return [f"{value!r} is no {name}"]
            return mistakes_of_fields(value, inner)
        case _:
            raise NotImplementedError(ast.unparse(annotation))


def mistakes_of_fields(value: Any, scope: ast.ClassDef) -> list[str]:
    fields = {
        node.target.id: node.annotation
        for node in scope.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert list(fields) == list(schema_of(value).fields)
    return [
        f"{scope.name}.{name}: {mistake}"
        for name, annotation in fields.items()
        for mistake in mistakes(getattr(value, name), annotation, scope)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", messages.MESSAGE_NAMES)
def test_a_decoded_message_has_the_declared_types_in_every_version(name: str) -> None:
    message_class = getattr(messages, name)
    low, high = message_class.valid_versions
    for version in range(low, high + 1):
        for is_empty in (False, True):
            message = filled(message_class, schema_of(message_class), version, is_empty=is_empty)
            encoded = encode_message(message, version)
            decoded = decode_body(message_class, version, memoryview(encoded))
            assert mistakes_of_fields(decoded, declared()[name]) == [], f"version {version}"


def test_every_message_is_declared() -> None:
    assert set(messages.MESSAGE_NAMES) < set(declared())
