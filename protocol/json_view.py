"""Convert messages to values for JSON.

Error codes become names, record batches a summary of their headers, other bytes base64. Secrets are
`HIDDEN`: SASL tokens, salts and hashes of passwords, and the values of all configurations that are
not known to be public.
"""

from base64 import b64encode
from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import UUID

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_body, decode_header, skip_tagged_fields
from protocol.errors import ErrorCode
from protocol.message_schema import schema_of
from protocol.pacing import may_pause, paced_elements
from protocol.records import (
    COMPRESSION_MASK,
    COMPRESSION_NAMES,
    whole_batches,
)

HIDDEN = "(hidden)"
BATCHES_MAX = 100
"""Maximum number of described batches of one field; further ones are only counted."""

SECRET_FIELDS = frozenset({"auth_bytes", "salt", "salted_password", "hmac"})
"""Fields that are never shown, of any message."""

_COMPRESSIONS = dict(enumerate(COMPRESSION_NAMES))
_NAMES: dict[int, str] = {int(key): name for key, name in messages.API_NAMES.items()}

MayShow = Callable[[str], bool]
"""Return whether the value of the configuration with this name may be shown."""


def api_name(api_key: int) -> str:
    """Return Kafka's name of an API, such as `CreateTopics`; the number if it has none here."""
    return _NAMES.get(api_key, str(api_key))


@cache
def error_name(error_code: int) -> str:
    """Return Kafka's name of an error code; the number if it is unknown."""
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return str(error_code)


def decode_request_frame(frame: bytes) -> Any:
    """Decode the body of a request frame (without its size).

    Raises:
        DecodeError: the bytes are no such request.
    """
    header = decode_header(frame, 0, len(frame))
    api_key, version = ApiKey(header.api_key), header.api_version
    position = header.end
    if messages.is_flexible(api_key, version):
        position = skip_tagged_fields(frame, position, len(frame))
    return decode_body(messages.request_class(api_key), version, memoryview(frame)[position:])


def as_plain(message: Any, may_show: MayShow) -> dict[str, Any]:
    """Return a message as nested dicts, lists, strings and numbers."""
    message_class: Any = type(message)
    return _converter(message_class, message.version)(message, may_show)


@cache
def _converter(message_class: Any, version: int | None) -> Callable[[Any, MayShow], dict[str, Any]]:
    """Return a function that makes a dict of a message: one display, without a look at the schema.

    Each field's expression depends on its type, as kafka-python's generated decoders.
    """
    items = ", ".join(
        f"{field.name!r}: {_expression(field, schema_of(message_class).fields)}"
        for field in _fields(message_class, version)
    )
    names = {
        "HIDDEN": HIDDEN,
        "error_name": error_name,
        "plain": _plain,
        "plain_structs": _plain_structs,
    }
    function: Callable[[Any, MayShow], dict[str, Any]] = eval(  # noqa: S307 - generated from schemas
        f"lambda message, may_show: {{{items}}}", names
    )
    return function


def _expression(field: Any, siblings: Any) -> str:
    """Return the source of the value of a field of `message` for JSON."""
    name = field.name
    value = f"message.{name}"
    source = value
    if field.is_struct_array():
        source = f"plain_structs({value}, may_show)"
    elif field.is_array() or field.type_str not in _PLAIN_TYPES:
        source = f"plain({name!r}, {value}, may_show)"
    elif name.endswith("error_code"):
        source = f"error_name({value})"
    if name in SECRET_FIELDS:
        return f"HIDDEN if {value} else {source}"
    if name == "value" and "name" in siblings:  # a configuration
        return f"HIDDEN if {value} and not may_show(str(message.name)) else {source}"
    return source


_PLAIN_TYPES = frozenset({"bool", "int8", "int16", "int32", "int64", "uint16", "float64", "string"})
"""Types of fields whose values are JSON values as they are."""


@cache
def _fields(message_class: Any, version: int | None) -> tuple[Any, ...]:
    """Return the fields of a version, or all."""
    fields = schema_of(message_class).fields.values()
    return tuple(field for field in fields if version is None or field.for_version_q(version))


@may_pause
def _plain_structs(messages: list[Any] | None, may_show: MayShow) -> list[Any] | None:
    if not messages:
        return messages
    message_class: Any = type(messages[0])
    convert = _converter(message_class, messages[0].version)
    return [convert(message, may_show) for message in paced_elements(messages)]


@may_pause
def _plain(name: str, value: Any, may_show: MayShow) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int() if name.endswith("error_code"):
            return error_name(value)
        case int() | float():
            return value
        case UUID():
            return str(value)
        case bytes() | bytearray() | memoryview() if name == "records":
            return batch_summaries(bytes(value))
        case bytes() | bytearray() | memoryview():
            return {"base64": b64encode(value).decode()}
        case list() | tuple() | set() | frozenset():
            return [_plain(name, item, may_show) for item in paced_elements(tuple(value))]
        case dict():
            return {str(key): _plain(str(key), item, may_show) for key, item in value.items()}
        case _:
            return as_plain(value, may_show)


BATCHES = "batches"
BATCH_FIELDS = {
    "base_offset": "int64",
    "record_count": "int32",
    "bytes": "int32",
    "compression": "string",
    "producer_id": "int64",
    "producer_epoch": "int16",
    "base_sequence": "int32",
    "max_timestamp": "int64",
}
"""The fields of each of `BATCHES` in a summary of records, with their types."""
SUMMARY_FIELDS = {"bytes": "int32", "batch_count": "int32"}
"""The other fields of a summary that it always has."""


def batch_summaries(records: bytes) -> dict[str, Any]:
    """Return a summary of the headers of record batches."""
    batches: list[dict[str, Any]] = []
    position = batch_count = 0
    for header, start, end in whole_batches(records):
        batch_count += 1
        if batch_count <= BATCHES_MAX:
            compression = header.attributes & COMPRESSION_MASK
            batches.append(
                {
                    "base_offset": header.base_offset,
                    "record_count": header.records_count,
                    "bytes": end - start,
                    "compression": _COMPRESSIONS.get(compression, "unknown"),
                    "producer_id": header.producer_id,
                    "producer_epoch": header.producer_epoch,
                    "base_sequence": header.base_sequence,
                    "max_timestamp": header.max_timestamp,
                }
            )
        position = end
    json_value: dict[str, Any] = {
        "bytes": len(records),
        "batch_count": batch_count,
        "batches": batches,
    }
    if position < len(records):
        json_value["unreadable_bytes"] = len(records) - position
    return json_value


@may_pause
def errors_of(response: "messages.Struct") -> set[str]:
    """Return the names of the errors anywhere in a response, except NONE."""
    codes: set[int] = set()
    _add_errors(response, codes)
    return set(map(error_name, codes - {ErrorCode.NONE}))


@may_pause
def _add_errors(message: Any, codes: set[int]) -> None:
    message_class: Any = type(message)
    code_names, structs, arrays = _where_errors_are(message_class, message.version)
    for name in code_names:
        codes.add(getattr(message, name))
    for name in structs:
        if (struct := getattr(message, name)) is not None:
            _add_errors(struct, codes)
    for name in arrays:
        for element in paced_elements(getattr(message, name) or ()):
            _add_errors(element, codes)


@cache
def _where_errors_are(message_class: Any, version: int | None) -> tuple[tuple[str, ...], ...]:
    """Return which fields are error codes, and which structs and arrays of structs have some."""
    fields = _fields(message_class, version)
    return (
        tuple(field.name for field in fields if field.name.endswith("error_code")),
        tuple(field.name for field in fields if field.is_struct() and _has_errors(field, version)),
        tuple(
            field.name
            for field in fields
            if field.is_struct_array() and _has_errors(field.array_of, version)
        ),
    )


def _has_errors(struct: Any, version: int | None) -> bool:
    return any(_where_errors_are(struct.data_class, version))
