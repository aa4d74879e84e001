"""Convert messages to values for JSON.

Error codes become names, record batches a summary of their headers, other bytes base64. Secrets are
`HIDDEN`: SASL tokens, salts and hashes of passwords, and the values of all configurations that are
not known to be public.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from uuid import UUID

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_body, decode_header, skip_tagged_fields
from protocol.errors import ErrorCode
from protocol.pacing import paced_elements
from protocol.records import (
    COMPRESSION_MASK,
    COMPRESSION_NAMES,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    read_header,
)

HIDDEN = "(hidden)"
BATCHES_MAX = 100
"""Maximum number of described batches of one field; further ones are only counted."""

_SECRET_FIELDS = frozenset({"auth_bytes", "salt", "salted_password", "hmac"})

_NAMES: dict[int, str] = {int(key): name for key, name in messages.API_NAMES.items()}

MayShow = Callable[[str], bool]
"""Return whether the value of the configuration with this name may be shown."""


def api_name(api_key: int) -> str:
    """Return Kafka's name of an API, such as `CreateTopics`; the number if it has none here."""
    return _NAMES.get(api_key, str(api_key))


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
    json_value = {}
    has_secret = not may_show(str(getattr(message, "name", ""))) if _is_config(message) else False
    for name, value in _fields(message):
        is_secret = name in _SECRET_FIELDS or (has_secret and name == "value")
        json_value[name] = HIDDEN if is_secret and value else _plain(name, value, may_show)
    return json_value


def _is_config(message: Any) -> bool:
    names = message.fields
    return "name" in names and "value" in names


def _fields(message: Any) -> Iterator[tuple[str, Any]]:
    message_class: Any = type(message)
    for name in _field_names(message_class, message.version):
        yield name, getattr(message, name)


@cache
def _field_names(message_class: Any, version: int | None) -> tuple[str, ...]:
    """Return the names of a version's fields, which kafka-python looks up one by one."""
    fields = message_class._struct._fields
    return tuple(field.name for field in fields if version is None or field.for_version_q(version))


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


def batch_summaries(records: bytes) -> dict[str, Any]:
    """Return a summary of the headers of record batches."""
    batches: list[dict[str, Any]] = []
    position = batch_count = 0
    while position + HEADER_BYTES <= len(records):
        header = read_header(records, position)
        end = position + LOG_OVERHEAD_BYTES + header.batch_length
        if header.batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES or end > len(records):
            break
        batch_count += 1
        if batch_count <= BATCHES_MAX:
            compression = header.attributes & COMPRESSION_MASK
            batches.append(
                {
                    "base_offset": header.base_offset,
                    "record_count": header.records_count,
                    "bytes": end - position,
                    "compression": dict(enumerate(COMPRESSION_NAMES)).get(compression, "unknown"),
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


def errors_of(response: Any) -> set[str]:
    """Return the names of the errors anywhere in a response, except NONE."""
    return {
        error_name(value)
        for name, value in _walk(response)
        if name.endswith("error_code") and value != ErrorCode.NONE
    }


def _walk(message: Any) -> Iterator[tuple[str, Any]]:
    for name, value in _fields(message):
        yield name, value
        for code in paced_elements(value) if isinstance(value, list) else (value,):
            if hasattr(code, "_struct"):
                yield from _walk(code)
