"""Request frames that make a broker work as much as a frame of their size can, from the schemas.

For every API and version: each array at its largest with one name again and again, and with a name
for each element; each string at its longest; null for each array; and more elements than the broker
takes.
"""

import copy
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import SCHEMA_BODY_BYTES_MAX, TAGGED_FIELDS_MAX, encode_unsigned_varint
from protocol.message_schema import schema_of
from protocol.request_bounds import STRING_BYTES_MAX
from tests.broker.connection_driver import request_frame
from tests.broker.faults.requests import sample_message

Path = tuple[str, ...]
"""The names of the fields that lead to an array."""

FRAME_BYTES_MAX = SCHEMA_BODY_BYTES_MAX - 4096
"""The body of a request other than Produce takes that much, with room for a header."""

KINDS = (
    "repeated",
    "distinct",
    "long strings",
    "long distinct",
    "null arrays",
    "tags",
    "tagged elements",
    "too many elements",
)

_CHOICES: dict[str, tuple[int, ...]] = {"resource_type": (2, 4, 16, 32), "key_type": (0, 1, 2)}
"""Fields of small numbers that decide what a name means: each gets its own frames."""

_NUMBERED = frozenset({"partition", "partition_index", "partition_id", "index", "broker_id"})
_DISTINCT_FIRST_ID = 1 << 64
_LONG = "n" * STRING_BYTES_MAX


@dataclass(frozen=True, slots=True)
class AmplifyingFrame:
    """One frame of the corpus, with its size prefix."""

    api_key: ApiKey
    version: int
    kind: str
    detail: str
    data: bytes

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{messages.API_NAMES[self.api_key]} v{self.version} {self.kind} {self.detail}"


def amplifying_frames(
    api_key: ApiKey, version: int, elements_max: int, bytes_max: int = FRAME_BYTES_MAX
) -> Iterator[AmplifyingFrame]:
    """Yield the frames of one API in one version; each is built when it is its turn."""

    def frame(kind: str, detail: str, message: Any) -> AmplifyingFrame:
        return AmplifyingFrame(api_key, version, kind, detail, request_frame(message, version, 1))

    fields = schema_of(messages.request_class(api_key))
    paths = list(array_paths(fields, version))
    for detail, changes in _choices(fields, version):
        for path in paths:
            where = ".".join(path) + detail
            for kind in ("repeated", "distinct"):
                message = _sample(api_key, version, changes)
                _enlarge(message, path, elements_max, is_distinct=kind == "distinct")
                yield frame(kind, where, message)
    for path in paths or [()]:
        for kind in ("long strings", "long distinct"):
            message = _sample(api_key, version, {})
            _lengthen(message, version)
            is_distinct = kind == "long distinct"
            _enlarge_to_bytes(message, path, elements_max, bytes_max, is_distinct=is_distinct)
            yield frame(kind, ".".join(path), message)
    message = _sample(api_key, version, {})
    _empty(message, version)
    yield frame("null arrays", "", message)
    if messages.is_flexible(api_key, version):
        message = _sample(api_key, version, {})
        body = bytes(message.encode(version=version))
        count = min(elements_max, TAGGED_FIELDS_MAX)
        tags = encode_unsigned_varint(count) + (encode_unsigned_varint(10_000) + b"\x03tag") * count
        yield AmplifyingFrame(
            api_key, version, "tags", "", _frame(api_key, version, body[:-1] + tags)
        )
        for path in paths:
            tagged = _tagged_elements(message, version, path, elements_max)
            if tagged is not None:
                data = _frame(api_key, version, tagged)
                yield AmplifyingFrame(api_key, version, "tagged elements", path[0], data)
    for path in paths:
        message = _sample(api_key, version, {})
        _enlarge(message, path, 2 * elements_max, is_distinct=False)
        yield frame("too many elements", ".".join(path), message)


def array_paths(owner: Any, version: int, above: Path = ()) -> Iterator[Path]:
    """Yield the path of each array of a request, at any depth."""
    for field in owner.fields.values():
        if not field.for_version_q(version):
            continue
        path = (*above, field.name)
        if field.is_struct_array():
            yield path
            yield from array_paths(field.array_of, version, path)
        elif field.is_array():
            yield path
        elif field.is_struct():
            yield from array_paths(field, version, path)


def _choices(owner: Any, version: int) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the values of a field that decides what names mean; nothing where there is none."""
    names = {field.name for field in _all_fields(owner, version)}
    found = [name for name in _CHOICES if name in names]
    if not found:
        yield "", {}
    for name in found:
        for value in _CHOICES[name]:
            yield f" {name}={value}", {name: value}


def _all_fields(owner: Any, version: int) -> Iterator[Any]:
    for field in owner.fields.values():
        if field.for_version_q(version):
            yield field
            if field.is_struct_array():
                yield from _all_fields(field.array_of, version)


def _sample(api_key: ApiKey, version: int, changes: dict[str, int]) -> Any:
    message = sample_message(api_key, version)
    for owner, field in _walk(message, version):
        if field.name in changes:
            setattr(owner, field.name, changes[field.name])
        elif field.is_array() and getattr(owner, field.name):
            # One element each: the enlarged array has all others.
            setattr(owner, field.name, getattr(owner, field.name)[:1])
    return message


def _walk(message: Any, version: int) -> Iterator[tuple[Any, Any]]:
    """Yield each struct of a message with each field that this version has."""
    for field in schema_of(message).fields.values():
        if not field.for_version_q(version):
            continue
        yield message, field
        value = getattr(message, field.name)
        if field.is_struct_array():
            for element in value or ():
                yield from _walk(element, version)
        elif field.is_struct() and value is not None:
            yield from _walk(value, version)


def _owner(message: Any, path: Path) -> Any:
    """Return the struct that has the array; create what is on the way to it."""
    for name in path[:-1]:
        field = schema_of(message).fields[name]
        value = getattr(message, name)
        if field.is_struct_array():
            if not value:
                value = [field.array_of.data_class(version=message.version)]
                _set(message, field, value)
            message = value[0]
        else:
            if value is None:
                value = field.data_class(version=message.version)
                _set(message, field, value)
            message = value
    return message


def _set(message: Any, field: Any, value: Any) -> None:
    setattr(message, field.name, value)
    if field._tag is not None:
        message.tags = {*(message.tags or ()), field.name}


def _element(owner: Any, field: Any) -> Any:
    """Return the element to repeat: the sample's, or one of the field's type."""
    value = getattr(owner, field.name)
    if value:
        return value[0]
    if field.is_struct_array():
        return field.array_of.data_class(version=owner.version)
    return {"string": "t", "uuid": UUID(int=1)}.get(field.array_of.type_str, 0)


def _enlarge(message: Any, path: Path, elements_max: int, *, is_distinct: bool) -> None:
    """Give the array at `path` as many elements as fit into `elements_max` of the request."""
    owner = _owner(message, path)
    field = schema_of(owner).fields[path[-1]]
    element = _element(owner, field)
    _set(owner, field, [element])
    others = _count(message)
    weight = 1 + (_count(element) if field.is_struct_array() else 0)
    count = max((elements_max - others + weight) // weight, 1)
    if is_distinct:
        _set(owner, field, [_numbered(element, field, number) for number in range(count)])
    else:
        _set(owner, field, [element] * count)


def _enlarge_to_bytes(
    message: Any, path: Path, elements_max: int, bytes_max: int, *, is_distinct: bool
) -> None:
    """Repeat an element whose strings are long until the request is as long as it may be."""
    if not path:
        return
    version = message.version
    one = len(message.encode(version=version))
    owner = _owner(message, path)
    field = schema_of(owner).fields[path[-1]]
    element = _element(owner, field)
    if isinstance(element, str):
        element = _LONG
    elif field.is_struct_array():
        _lengthen(element, version)
    _set(owner, field, [element] * 2)
    two = len(message.encode(version=version))
    _set(owner, field, [element])
    weight = 1 + (_count(element) if field.is_struct_array() else 0)
    fitting_elements = (elements_max - _count(message) + weight) // weight
    fitting_bytes = (bytes_max - one) // max(two - one, 1)
    count = max(min(fitting_elements, fitting_bytes), 1)
    if is_distinct:
        _set(owner, field, [_numbered(element, field, number) for number in range(count)])
    else:
        _set(owner, field, [element] * count)


def _count(message: Any) -> int:
    """Count the elements of all arrays of a struct."""
    total = 0
    for owner, field in _walk(message, message.version):
        if field.is_array():
            total += len(getattr(owner, field.name) or ())
    return total


def _numbered(element: Any, field: Any, number: int) -> Any:
    """Return a copy of an element, with a name or number that no other has."""
    if field.is_struct_array():
        element = copy.copy(element)
        for inner in schema_of(element).fields.values():
            if not inner.for_version_q(element.version) or inner.is_array() or inner.is_struct():
                continue
            is_number = inner.name in _NUMBERED and inner.type_str in ("int16", "int32")
            if inner.type_str in ("string", "uuid") or is_number:
                setattr(element, inner.name, _number(getattr(element, inner.name), number))
        return element
    return number % 128 if field.array_of.type_str == "int8" else _number(element, number)


def _number(value: Any, number: int) -> Any:
    if isinstance(value, str):
        name = f"{value}-{number}"
        return name if len(name) <= len(_LONG) else f"{number}-{value}"[: len(_LONG)]
    if isinstance(value, UUID):
        return UUID(int=_DISTINCT_FIRST_ID + number)
    return number % 32_768 if isinstance(value, int) else value


def _lengthen(message: Any, version: int) -> None:
    for owner, field in _walk(message, version):
        if field.type_str == "string" and not field.is_array():
            _set(owner, field, _LONG)
        elif (
            field.is_array() and not field.is_struct_array() and field.array_of.type_str == "string"
        ):
            _set(owner, field, [_LONG])


def _empty(message: Any, version: int) -> None:
    for field in schema_of(message).fields.values():
        if field.for_version_q(version) and field.is_array():
            setattr(message, field.name, None if field.nullable_for_version_q(version) else [])


def _tagged_elements(message: Any, version: int, path: Path, elements_max: int) -> bytes | None:
    """Return the body of a request in which each element has another tagged field."""
    field = schema_of(message).fields[path[0]]
    elements = getattr(message, path[0])
    if len(path) != 1 or not field.is_struct_array() or not elements or field._tag is not None:
        return None
    element = bytes(field.array_of.encode(elements[0], version=version, compact=True, tagged=True))
    body = bytes(message.encode(version=version))
    start = body.find(b"\x02" + element)
    if start < 0 or element[-1:] != b"\x00":
        return None
    count = elements_max // (2 + _count(elements[0]))
    tagged = element[:-1] + b"\x01\x64\x03tag"
    rest = body[start + 1 + len(element) :]
    return body[:start] + encode_unsigned_varint(count + 1) + tagged * count + rest


def _frame(api_key: ApiKey, version: int, body: bytes) -> bytes:
    """Return a frame of a flexible version around a body."""
    header = struct.pack(">hhih4sB", api_key, version, 1, 4, b"test", 0)
    return struct.pack(">i", len(header) + len(body)) + header + body
