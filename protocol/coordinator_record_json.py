"""Records of coordinators as values for JSON, and back.

A record is its type, by Kafka's name of it, the fields of its key, the version of its value and the
fields of its value. Fields have the names that they have in the journal; bytes are base64.

Source: what Kafka's `CoordinatorRecordMessageFormatter` prints, with names instead of numbers.
"""

import struct
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from protocol.coordinator_records import (
    CoordinatorRecord,
    RecordClasses,
    decode_key,
    decode_value,
    encode_key,
    record_type,
)
from protocol.data_messages import encode_data
from protocol.json_view import as_plain
from protocol.message_schema import schema_of
from protocol.nullability import null_check

_KEY_VERSION = 0
_KEY_SUFFIX = "Key"


class RecordAsJson(NamedTuple):
    """A record that does not delete its key."""

    type: str
    key: dict[str, Any]
    version: int
    value: dict[str, Any]


def record_as_json(records: Mapping[int, RecordClasses], key: bytes, value: bytes) -> RecordAsJson:
    """Return a record of the topic of these records.

    Raises:
        DecodeError: the bytes are no such key or value.
    """
    decoded_key = decode_key(records, key)
    decoded = decode_value(records, decoded_key, value)
    name = records[record_type(decoded_key)].key.__name__.removesuffix(_KEY_SUFFIX)
    return RecordAsJson(
        name, as_plain(decoded_key, _show_all), decoded.version, as_plain(decoded, _show_all)
    )


def record_of_json(
    records: Mapping[int, RecordClasses], described: RecordAsJson
) -> CoordinatorRecord:
    """Return the key and the value of a described record of the topic of these records.

    Raises:
        ValueError: there is no such type or version, or a field is missing, unknown or wrong.
    """
    names = {f"{classes.key.__name__}": classes for classes in records.values()}
    classes = names.get(f"{described.type}{_KEY_SUFFIX}")
    if classes is None:
        raise ValueError(f"there are no records of the type {described.type!r}")
    low, high = classes.value.valid_versions
    if not low <= described.version <= high:
        text = f"{described.type} has versions {low} to {high}, not {described.version}"
        raise ValueError(text)
    key = _message(classes.key, described.key, _KEY_VERSION, "key")
    absent = [name for name in schema_of(classes.key).fields if described.key.get(name) is None]
    if absent:
        raise ValueError(f"key: {absent[0]} is missing or null")
    value = _message(classes.value, described.value, described.version, "value")
    try:
        return encode_key(key), encode_data(value, described.version)
    except (TypeError, AttributeError, OverflowError, struct.error) as error:
        raise ValueError(f"{described.type}: {error}") from error


def _show_all(_name: str) -> bool:
    return True


def _message(message_class: Any, document: Any, version: int, path: str) -> Any:
    """Return a message or struct with the fields of a document."""
    schema = schema_of(message_class)
    if not isinstance(document, dict):
        raise ValueError(f"{path}: it is no object")  # noqa: TRY004 - a client's mistake
    fields = {field.name: field for field in schema.fields.values() if field.for_version_q(version)}
    unknown = [name for name in document if name not in fields]
    if unknown:
        raise ValueError(f"{path}: unknown field {unknown[0]!r}")
    values = {
        name: _value(fields[name], value, version, f"{path}.{name}")
        for name, value in document.items()
    }
    message = message_class(version=version, **values)
    check = null_check(schema, version)
    problem = None if check is None else check(message)
    if problem is not None:
        raise ValueError(f"{path}: {problem} is missing or null")
    return message


def _value(field: Any, value: Any, version: int, path: str) -> Any:
    if value is None:
        return None
    if field.is_struct_array() or field.is_array():
        if not isinstance(value, list):
            raise ValueError(f"{path}: it is no list")
        element = field.array_of
        if field.is_struct_array():
            return [
                _message(element.data_class, entry, version, f"{path}[{index}]")
                for index, entry in enumerate(value)
            ]
        return [
            _value(element, entry, version, f"{path}[{index}]") for index, entry in enumerate(value)
        ]
    if field.is_struct():
        return _message(field.data_class, value, version, path)
    read = _READ[field.type_str]
    try:
        return read(value)
    except (TypeError, ValueError, KeyError, struct.error) as error:
        raise ValueError(f"{path}: {value!r} is no {field.type_str}") from error


def _integer(format_character: str) -> Callable[[Any], int]:
    bounds = struct.Struct(f">{format_character}")

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError
        bounds.pack(value)
        return value

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _bytes(value: Any) -> bytes:
    return b64decode(value["base64"], validate=True)


_READ: Mapping[str, Callable[[Any], Any]] = {
    "int8": _integer("b"),
    "int16": _integer("h"),
    "int32": _integer("i"),
    "int64": _integer("q"),
    "uint16": _integer("H"),
    "string": _text,
    "bytes": _bytes,
    "uuid": UUID,
}
"""Reads a value of each type that the records of coordinators have."""
