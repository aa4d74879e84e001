"""Field dicts from messages, by the schemas of their fields."""

from typing import Any
from uuid import UUID

from protocol.message_schema import schema_of
from protocol.records import (
    COMPRESSION_MASK,
    COMPRESSION_NAMES,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    read_header,
    read_records,
)


def as_values(message: Any, version: int) -> dict[str, Any]:
    """Return the fields of a decoded response: dicts, lists, numbers, strings; ids are strings."""
    return _fields(message, schema_of(message), version)


def _fields(message: Any, struct: Any, version: int) -> dict[str, Any]:
    values = {
        name: _plain(getattr(message, name), field, version)
        for name, field in struct.fields.items()
        if field.for_version_q(version)
    }
    if message.unknown_tags:
        values["unknown_tags"] = {
            str(tag): bytes(raw).hex() for tag, raw in message.unknown_tags.items()
        }
    return values


def _plain(value: Any, field: Any, version: int) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if field.is_struct():
        return _fields(value, field, version)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if field.is_array():
        return [_plain(element, field.array_of, version) for element in value]
    if isinstance(value, UUID):
        return str(value)
    if field.type_str == "records":
        return batches_of(bytes(value))
    return text_or_hex(bytes(value))


def text_or_hex(value: bytes) -> Any:
    """Return printable bytes as text, others as `{"hex": ...}`."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return {"hex": value.hex()}
    return text if text.isprintable() else {"hex": value.hex()}


def batches_of(records: bytes) -> list[dict[str, Any]]:
    """Return the fields and records of each batch; the last one may be cut short."""
    batches: list[dict[str, Any]] = []
    position = 0
    while position + HEADER_BYTES <= len(records):
        header = read_header(records, position)
        end = position + LOG_OVERHEAD_BYTES + header.batch_length
        if end > len(records) or end < position + HEADER_BYTES:
            break
        fields = header._asdict()
        del fields["crc"]  # It covers fields that are compared.
        fields["compression"] = dict(enumerate(COMPRESSION_NAMES)).get(
            header.attributes & COMPRESSION_MASK
        )
        try:
            fields["records"] = [
                {
                    "offset": record.offset,
                    "timestamp": record.timestamp,
                    "key": None if record.key is None else text_or_hex(bytes(record.key)),
                    "value": None if record.value is None else text_or_hex(bytes(record.value)),
                    "headers": [[name, str(value)] for name, value in record.headers],
                }
                for record in read_records(records[position:end])
            ]
        except ValueError:
            fields["records"] = records[position + HEADER_BYTES : end].hex()
        batches.append(fields)
        position = end
    if position < len(records):
        batches.append({"incomplete_bytes": len(records) - position})
    return batches
