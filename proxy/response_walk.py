"""Find the addresses of brokers in a response, by its schema and without decoding the rest.

A walk skips from field to field and reads lengths only. It also works while a response arrives: a
walk that needs bytes which are not there yet yields where it is, and goes on later. So a response
with many records is passed on as it comes.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from struct import Struct
from typing import Any, NamedTuple, TypeVar

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, has_tagged_header, read_unsigned_varint
from protocol.message_schema import schema_of
from protocol.request_bounds import FIXED_SIZES, fixed_size

_INT16, _INT32 = Struct(">h"), Struct(">i")
_VARINT_BYTES_MAX = 5
ENDS_EARLY = "the response ends within a field"
_HEADER_BYTES = 8
"""Size and correlation id."""


class FoundAddress(NamedTuple):
    """A broker in a response. `frame[start:end]` has its host, with the length, and its port."""

    start: int
    end: int
    node_id: int
    host: str
    port: int


class FoundTag(NamedTuple):
    """A tagged field with addresses: where its number, its size and its value begin and end."""

    start: int
    size_start: int
    value_start: int
    end: int


@dataclass(slots=True)
class Window:
    """The part of a frame that is there: `data` begins at `base` and ends at `end` of the frame.

    `frame_end` is the size of the frame with its size field; the walk fills in what it finds.
    """

    data: bytes
    base: int
    end: int
    frame_end: int
    addresses: list[FoundAddress] = field(default_factory=list)
    tags: list[FoundTag] = field(default_factory=list)


_Result = TypeVar("_Result")
_Walk = Generator[int, None, _Result]
Steps = tuple[tuple[str, Any], ...]
"""What to skip or read, in the order of the fields; neighbours of fixed size are one step."""


@cache
def steps_of(api_key: ApiKey, api_version: int) -> Steps:
    """Return the steps to the last address in a response; none if the version has no address."""
    struct = schema_of(messages.response_class(api_key))
    steps = _struct_steps(struct, api_version, messages.is_flexible(api_key, api_version))
    while steps and not _has_address(steps[-1]):
        steps = steps[:-1]
    return steps


def walk(api_key: ApiKey, api_version: int, window: Window) -> _Walk[None]:
    """Walk a frame, and note its addresses in `window`; yield where bytes are missing.

    The caller then changes `window` to have the bytes from the yielded position on.

    Raises:
        DecodeError: the frame ends too early, or is not such a response.
    """
    position = _HEADER_BYTES
    compact = messages.is_flexible(api_key, api_version)
    if has_tagged_header(api_key, api_version):
        position = yield from _skip_tags(window, position)
    yield from _walk(steps_of(api_key, api_version), window, position, compact)


def _has_address(step: tuple[str, Any]) -> bool:
    kind, detail = step
    if kind == "address":
        return True
    if kind == "tags":
        return bool(detail)
    return kind in {"array", "struct"} and any(map(_has_address, detail))


def _struct_steps(struct: Any, version: int, compact: bool) -> Steps:
    steps: list[tuple[str, Any]] = []
    fixed_bytes = 0
    fields = list(struct.untagged_fields(version))
    names = [field.name for field in fields]
    for place, schema in enumerate(fields):
        if schema.name == "port" and names[place - 1 : place] == ["host"]:
            continue  # the step of the host reads it
        is_address = schema.name == "host" and names[place + 1 : place + 2] == ["port"]
        size = None if is_address else fixed_size(schema, version)
        if size is not None:
            fixed_bytes += size
            continue
        if is_address:
            fixed_bytes -= _INT32.size  # the node id before it
        if fixed_bytes:
            steps.append(("skip", fixed_bytes))
            fixed_bytes = 0
        steps.append(("address", None) if is_address else _field_step(schema, version, compact))
    if fixed_bytes:
        steps.append(("skip", fixed_bytes))
    if compact:
        steps.append(("tags", _tags_with_addresses(struct, version)))
    return tuple(steps)


def _tags_with_addresses(struct: Any, version: int) -> dict[int, Steps]:
    found: dict[int, Steps] = {}
    for schema in struct.fields.values():
        is_tagged = schema.for_version_q(version) and schema.tagged_field_q(version)
        if is_tagged and schema.is_struct_array():
            step = _field_step(schema, version, compact=True)
            if _has_address(step):
                found[schema.tag] = (step,)
    return found


def _field_step(schema: Any, version: int, compact: bool) -> tuple[str, Any]:
    if schema.is_array():
        if schema.is_struct_array():
            return "array", _struct_steps(schema.array_of, version, compact)
        size = fixed_size(schema.array_of, version)
        if size is not None:
            return "fixed array", size
        return "array", (_field_step(schema.array_of, version, compact),)
    if schema.is_struct():
        kind = "nullable struct" if schema.nullable_for_version_q(version) else "struct"
        return kind, _struct_steps(schema, version, compact)
    if schema.type_str == "string":
        return "string", None
    if schema.type_str in {"bytes", "records"}:
        return "bytes", None
    return "skip", FIXED_SIZES[schema.type_str]


def _need(window: Window, position: int, count: int) -> _Walk[None]:
    """Yield until `count` bytes from `position` on are there."""
    if position + count > window.frame_end:
        raise DecodeError(ENDS_EARLY)
    while position + count > window.end:
        yield position


def _varint(window: Window, position: int) -> _Walk[tuple[int, int]]:
    count = max(1, min(_VARINT_BYTES_MAX, window.frame_end - position))
    if position + count > window.end:
        yield from _need(window, position, count)
    try:
        value, end = read_unsigned_varint(window.data, position - window.base)
    except IndexError as error:
        raise DecodeError(ENDS_EARLY) from error
    return value, end + window.base


def _length(window: Window, position: int, *, compact: bool, short: bool) -> _Walk[tuple[int, int]]:
    """Return the length in front of an array, a string or bytes, and the position behind it."""
    if compact:
        value, position = yield from _varint(window, position)
        return value - 1, position
    form = _INT16 if short else _INT32
    if position + form.size > window.end:
        yield from _need(window, position, form.size)
    (value,) = form.unpack_from(window.data, position - window.base)
    return value, position + form.size


def _walk(steps: Steps, window: Window, position: int, compact: bool) -> _Walk[int]:
    for kind, detail in steps:
        if kind == "skip":
            position += detail
        elif kind == "tags":
            position = yield from _skip_tags(window, position, detail)
        elif kind == "struct":
            position = yield from _walk(detail, window, position, compact)
        elif kind == "nullable struct":
            yield from _need(window, position, 1)
            is_null = window.data[position - window.base] == 0xFF
            position += 1
            if not is_null:
                position = yield from _walk(detail, window, position, compact)
        elif kind == "address":
            position = yield from _address(window, position, compact)
        else:
            short = kind == "string"
            length, position = yield from _length(window, position, compact=compact, short=short)
            if kind == "array":
                for _ in range(length):
                    position = yield from _walk(detail, window, position, compact)
                    if position > window.frame_end:
                        raise DecodeError(ENDS_EARLY)
            else:
                position += max(length, 0) * (detail or 1)
    return position


def _address(window: Window, position: int, compact: bool) -> _Walk[int]:
    yield from _need(window, position, _INT32.size)
    (node_id,) = _INT32.unpack_from(window.data, position - window.base)
    start = position + _INT32.size
    length, text_start = yield from _length(window, start, compact=compact, short=True)
    text_end = text_start + max(length, 0)
    # All of it has to be there, since it may be replaced.
    yield from _need(window, position, text_end + _INT32.size - position)
    host = bytes(window.data[text_start - window.base : text_end - window.base]).decode()
    (port,) = _INT32.unpack_from(window.data, text_end - window.base)
    end = text_end + _INT32.size
    window.addresses.append(FoundAddress(start, end, node_id, host, port))
    return end


def _skip_tags(
    window: Window, position: int, known: Mapping[int, Steps] | None = None
) -> _Walk[int]:
    count, position = yield from _varint(window, position)
    for _ in range(count):
        start = position
        # Number and size together: who passes the frame on may have to change the number.
        yield from _need(window, start, min(2 * _VARINT_BYTES_MAX, window.frame_end - start))
        tag, size_start = yield from _varint(window, position)
        size, position = yield from _varint(window, size_start)
        end = position + size
        if known and tag in known:
            window.tags.append(FoundTag(start, size_start, position, end))
            yield from _walk(known[tag], window, position, compact=True)
        position = end
    return position
