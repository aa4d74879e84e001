"""JSON in parts, so that the requests of clients come in between.

To encode or to copy a document of 10 MB takes longer than a turn, and so does freeing its objects.
So a long result is encoded element by element, and no part is much longer than `PART_BYTES`.
"""

from collections.abc import Iterable, Iterator, Set
from functools import cache
from typing import Any

import msgspec

from broker.http_admin.operation import encode_result
from protocol.pacing import may_pause, paced

PART_BYTES = 64 * 1024
"""A part ends with the element that reaches this length."""


@may_pause
def json_parts(result: Any, opened: Set[type] = frozenset()) -> list[bytes]:
    """Return the parts whose concatenation is the result of a handler as JSON; may pause.

    `opened` are the types of structs, besides that of the result, whose lists are encoded element
    by element; all other values are encoded in one go.
    """
    return list(_joined(_pieces(result, {type(result), *opened})))


@may_pause
def encoded_elements(elements: Iterable[Any]) -> list[msgspec.Raw]:
    """Return a list that is encoded as the list of these elements is, with many in each `Raw`."""
    return list(map(msgspec.Raw, _joined(map(encode_result, elements), b",")))


@may_pause
def _pieces(value: Any, opened: Set[type]) -> Iterator[bytes]:
    if isinstance(value, list):
        separator = b"["
        for element in paced(value):
            yield separator
            yield from _pieces(element, opened)
            separator = b","
        yield b"]" if value else b"[]"
    elif isinstance(value, msgspec.Struct) and type(value) in opened:
        separator = b"{"
        for name, label, default in _fields_of(type(value)):
            content = getattr(value, name)
            if content != default:
                yield separator + label
                yield from _pieces(content, opened)
                separator = b","
        yield b"{}" if separator == b"{" else b"}"
    else:
        yield encode_result(value)


@may_pause
def _joined(pieces: Iterable[bytes], separator: bytes = b"") -> Iterator[bytes]:
    part: list[bytes] = []
    byte_count = 0
    for piece in pieces:
        part.append(piece)
        byte_count += len(piece)
        if byte_count >= PART_BYTES:
            yield separator.join(part)
            part.clear()
            byte_count = 0
    if part:
        yield separator.join(part)


@cache
def _fields_of(struct_type: type[msgspec.Struct]) -> list[tuple[str, bytes, Any]]:
    """Return of each field its name, its name in JSON with a colon, and the default to omit."""
    omits = struct_type.__struct_config__.omit_defaults
    return [
        (field.name, encode_result(field.encode_name) + b":", _default(field) if omits else _NONE)
        for field in msgspec.structs.fields(struct_type)
    ]


_NONE = object()
"""A default that no value has."""


def _default(field: msgspec.structs.FieldInfo) -> Any:
    has_factory = field.default_factory is not msgspec.NODEFAULT
    return field.default_factory() if has_factory else field.default
