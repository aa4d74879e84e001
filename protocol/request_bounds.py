"""Count what a request contains before anything of it is decoded.

Every element of an array becomes a Python object many times its size on the wire. A long request is
therefore walked first: its lengths are read and nothing is created.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct
from struct import error as StructError
from typing import Any

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import TAGGED_FIELDS_MAX, DecodeError, read_unsigned_varint
from protocol.message_schema import schema_of
from protocol.pacing import may_pause, paced_range
from protocol.releases import Release

STRING_BYTES_MAX = 32_767
"""The longest string; also of flexible versions, as in the readers that Kafka generates."""

ARRAY_LENGTH_MAX = 1_000_000
"""Most elements of one array (Kafka's `MessageUtil`, since 4.4)."""

_BOUNDED_SINCE: Release = (4, 4)
"""First release whose readers bound each array and each section of tagged fields."""

_INT16, _INT32 = Struct(">h"), Struct(">i")
FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "bitfield": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
"""The bytes of each type that has a fixed size."""


class _Body:
    """The bytes of a body, and how many elements it may still have."""

    __slots__ = ("data", "elements_left", "elements_max", "end", "is_bounded")

    def __init__(
        self, data: bytes | bytearray, end: int, elements_max: int, *, is_bounded: bool
    ) -> None:
        self.data, self.end = data, end
        self.elements_max = self.elements_left = elements_max
        self.is_bounded = is_bounded
        """Whether the length of each array and the number of tagged fields are limited, too."""

    def count(self, elements: int, limit: int) -> None:
        if self.is_bounded and elements > limit:
            raise DecodeError(f"{elements} elements of one array or tagged fields, above {limit}")
        self.elements_left -= elements
        if self.elements_left < 0:
            raise DecodeError(f"more than {self.elements_max} elements")


Walk = Callable[[_Body, int], int]
"""Takes a body and the position of a field; returns the position after the field."""


@may_pause
def check_bounds(
    api_key: ApiKey,
    api_version: int,
    frame: bytes | bytearray,
    start: int,
    end: int,
    elements_max: int,
    release: Release,
) -> None:
    """Check the body of a request in `frame[start:end]`; takes time for `elements_max` at most.

    An element is an element of an array, at any depth, or a tagged field. From `release` 4.4 on
    one array has at most a million, and one section at most 10,000 tagged fields.

    Raises:
        DecodeError: it has too many elements or too long a string, or ends too early.
    """
    body = _Body(frame, end, elements_max, is_bounded=release >= _BOUNDED_SINCE)
    try:
        position = _request_walk(api_key, api_version)(body, start)
    except (IndexError, StructError) as error:
        raise DecodeError(f"{type(error).__name__} while counting: {error}") from error
    if position > end:
        raise DecodeError(f"body ends after {position - start} of {end - start} bytes")


@cache
def _request_walk(api_key: ApiKey, api_version: int) -> Walk:
    struct = schema_of(messages.request_class(api_key))
    return _struct_walk(struct, api_version, compact=messages.is_flexible(api_key, api_version))


def _struct_walk(struct: Any, version: int, *, compact: bool, tagged: bool = True) -> Walk:
    """Return the walk over the fields of a struct. Neighbours of fixed size are one step."""
    steps: list[Walk] = []
    fixed_bytes = 0
    for field in struct.untagged_fields(version):
        size = fixed_size(field, version)
        if size is not None:
            fixed_bytes += size
            continue
        if fixed_bytes:
            steps.append(_skip(fixed_bytes))
            fixed_bytes = 0
        steps.append(_field_walk(field, version, compact=compact))
    if fixed_bytes:
        steps.append(_skip(fixed_bytes))
    if compact and tagged:
        steps.append(_tagged_walk(struct, version))
    if len(steps) == 1:
        return steps[0]

    def walk(body: _Body, position: int) -> int:
        for step in steps:
            position = step(body, position)
        return position

    return walk


def fixed_size(field: Any, version: int) -> int | None:
    """Return the bytes of a field that always has the same size; None for others."""
    if field.is_array() or field.is_struct() or field.nullable_for_version_q(version):
        return None
    return FIXED_SIZES.get(field.type_str)


def _skip(size: int) -> Walk:
    return lambda _body, position: position + size


def _field_walk(field: Any, version: int, *, compact: bool) -> Walk:
    if field.is_array():
        element_bytes = None
        if not field.is_struct_array():
            element_bytes = fixed_size(field.array_of, version)
        if element_bytes is not None:
            return _array_walk(_skip(element_bytes), compact=compact, element_bytes=element_bytes)
        inner = (
            _struct_walk(field.array_of, version, compact=compact)
            if field.is_struct_array()
            else _field_walk(field.array_of, version, compact=compact)
        )
        return _array_walk(inner, compact=compact, element_bytes=0)
    if field.is_struct():
        return _nested_walk(field, version, compact=compact)
    if field.type_str == "string":
        return _compact_string if compact else _string
    if field.type_str in ("bytes", "records"):
        return _compact_bytes if compact else _bytes
    return _skip(FIXED_SIZES[field.type_str])


def _array_walk(element: Walk, *, compact: bool, element_bytes: int) -> Walk:
    def walk(body: _Body, position: int) -> int:
        if compact:
            count, position = read_unsigned_varint(body.data, position)
            count -= 1
        else:
            (count,) = _INT32.unpack_from(body.data, position)
            position += 4
        if count <= 0:
            return position
        body.count(count, ARRAY_LENGTH_MAX)
        if element_bytes:
            return int(position + count * element_bytes)
        for _ in paced_range(count):
            position = element(body, position)
            if position > body.end:
                raise DecodeError("an array runs past the end of the body")
        return position

    return walk


def _nested_walk(field: Any, version: int, *, compact: bool) -> Walk:
    inner = _struct_walk(field, version, compact=compact)
    if not field.nullable_for_version_q(version):
        return inner

    def walk(body: _Body, position: int) -> int:
        is_null = body.data[position] == 0xFF
        return position + 1 if is_null else inner(body, position + 1)

    return walk


def _tagged_walk(struct: Any, version: int) -> Walk:
    known = {
        field.tag: (
            _struct_walk(field, version, compact=True)
            if field.is_struct()
            else _field_walk(field, version, compact=True)
        )
        for field in struct.fields.values()
        if field.for_version_q(version) and field.tagged_field_q(version)
    }

    def walk(body: _Body, position: int) -> int:
        count, position = read_unsigned_varint(body.data, position)
        if count:
            body.count(count, TAGGED_FIELDS_MAX)
        for _ in paced_range(count):
            tag, position = read_unsigned_varint(body.data, position)
            size, position = read_unsigned_varint(body.data, position)
            if tag in known:
                known[tag](body, position)
            position += size
            if position > body.end:
                raise DecodeError("tagged fields run past the end of the body")
        return position

    return walk


def _string(body: _Body, position: int) -> int:
    (size,) = _INT16.unpack_from(body.data, position)
    return int(position + 2 + max(size, 0))


def _compact_string(body: _Body, position: int) -> int:
    size, position = read_unsigned_varint(body.data, position)
    if size > STRING_BYTES_MAX + 1:
        raise DecodeError(f"a string of {size - 1} bytes is longer than {STRING_BYTES_MAX}")
    return position + max(size - 1, 0)


def _bytes(body: _Body, position: int) -> int:
    (size,) = _INT32.unpack_from(body.data, position)
    return int(position + 4 + max(size, 0))


def _compact_bytes(body: _Body, position: int) -> int:
    size, position = read_unsigned_varint(body.data, position)
    return position + max(size - 1, 0)
