"""Messages for people: frames that went by, as plain values that JSON can hold.

Error codes become names, record batches a summary of their headers, other bytes base64. Secrets do
not come out: a SASL token or a password's salt and hash is `HIDDEN`, and so is the value of every
configuration of which it isn't known that it may be shown.
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
from protocol.records import (
    COMPRESSION_MASK,
    COMPRESSION_NAMES,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    read_header,
)

HIDDEN = "(hidden)"
BATCHES_MAX = 100
"""Batches of one field that are summed up; beyond it, only their number is told."""

_SECRET_FIELDS = frozenset({"auth_bytes", "salt", "salted_password", "hmac"})

_NAMES: dict[int, str] = {int(key): name for key, name in messages.API_NAMES.items()}

MayShow = Callable[[str], bool]
"""Whether the value of a configuration of this name is no secret."""


def api_name(api_key: int) -> str:
    """Kafka's name of an API, such as `CreateTopics`; the number where there is none."""
    return _NAMES.get(api_key, str(api_key))


def error_name(error_code: int) -> str:
    """Kafka's name of an error code; the number where there is none."""
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return str(error_code)


def decode_request_frame(frame: bytes) -> Any:
    """The body of a request frame (without its size), header included.

    Raises:
        DecodeError: it is none, or longer or newer than its schema.
    """
    header = decode_header(frame, 0, len(frame))
    api_key, version = ApiKey(header.api_key), header.api_version
    position = header.end
    if messages.is_flexible(api_key, version):
        position = skip_tagged_fields(frame, position, len(frame))
    return decode_body(messages.request_class(api_key), version, memoryview(frame)[position:])


def as_plain(message: Any, may_show: MayShow) -> dict[str, Any]:
    """A message as nested dicts, lists, texts and numbers."""
    plain = {}
    has_secret = not may_show(str(getattr(message, "name", ""))) if _is_config(message) else False
    for name, value in _fields(message):
        is_secret = name in _SECRET_FIELDS or (has_secret and name == "value")
        plain[name] = HIDDEN if is_secret and value else _plain(name, value, may_show)
    return plain


def _is_config(message: Any) -> bool:
    names = message.fields
    return "name" in names and "value" in names


def _fields(message: Any) -> Iterator[tuple[str, Any]]:
    message_class: Any = type(message)
    for name in _field_names(message_class, message.version):
        yield name, getattr(message, name)


@cache
def _field_names(message_class: Any, version: int | None) -> tuple[str, ...]:
    """What a message of this version has; kafka-python looks it up field by field."""
    fields = message_class._struct._fields
    return tuple(each.name for each in fields if version is None or each.for_version_q(version))


def _plain(name: str, value: Any, may_show: MayShow) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int() if name == "error_code":
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
            return [_plain(name, each, may_show) for each in value]
        case dict():
            return {str(key): _plain(str(key), each, may_show) for key, each in value.items()}
        case _:
            return as_plain(value, may_show)


def batch_summaries(records: bytes) -> dict[str, Any]:
    """What the headers of record batches say, without looking at the records."""
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
    plain: dict[str, Any] = {
        "bytes": len(records),
        "batch_count": batch_count,
        "batches": batches,
    }
    if position < len(records):
        plain["unreadable_bytes"] = len(records) - position
    return plain


# What a message is about --------------------------------------------------------------------

_TOPIC_LISTS = frozenset({"topics", "topic_data", "topic_partitions", "topic_names"})
_GROUP_FIELDS = frozenset({"group_id", "groups", "groups_names", "coordinator_keys"})
_NO_ID = UUID(int=0)


def topics_of(request: Any) -> set[str | UUID]:
    """The topics that a request names, by name or by id."""
    found: set[str | UUID] = set()
    for name, value in _walk(request):
        if name not in _TOPIC_LISTS or not isinstance(value, list):
            continue
        for each in value:
            if isinstance(each, str | UUID):
                found.add(each)
                continue
            names = each.fields
            topic = getattr(each, "topic" if "topic" in names else "name", None)
            topic_id = getattr(each, "topic_id", None) if "topic_id" in names else None
            if topic:
                found.add(topic)
            elif topic_id and topic_id != _NO_ID:
                found.add(topic_id)
    return found


def groups_of(request: Any) -> set[str]:
    """The consumer groups that a request names."""
    found: set[str] = set()
    for name, value in _walk(request):
        if name in _GROUP_FIELDS:
            values = value if isinstance(value, list) else [value]
            found.update(each for each in values if isinstance(each, str) and each)
        elif name == "key" and isinstance(value, str) and value:
            found.add(value)
    return found


def errors_of(response: Any) -> set[str]:
    """Names of the errors anywhere in a response; NONE is none."""
    return {
        error_name(value)
        for name, value in _walk(response)
        if name == "error_code" and value != ErrorCode.NONE
    }


def _walk(message: Any) -> Iterator[tuple[str, Any]]:
    for name, value in _fields(message):
        yield name, value
        for each in value if isinstance(value, list) else (value,):
            if hasattr(each, "_struct"):
                yield from _walk(each)
