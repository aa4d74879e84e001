"""Requests from field dicts, by kafka-python's schemas."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from protocol.batch_builder import BatchBuilder, stamp_producer
from protocol.compression import compress, decompress
from protocol.message_schema import schema_of
from protocol.records import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    read_header,
    with_header,
)

_HMAC_REFERENCE = "hmac#"
Resolve = Callable[[Any], Any]
"""Returns the value for a name such as `topic_id#0` or `~orders`; other values as they are."""


def build(message_class: Any, version: int, arguments: Mapping[str, Any], resolve: Resolve) -> Any:
    """Return a message of this version; fields without an argument have the schema's default.

    Raises:
        KeyError: this version has no such field.
    """
    return _struct(schema_of(message_class), message_class, version, arguments, resolve)


def _struct(
    struct: Any, data_class: Any, version: int, arguments: Mapping[str, Any], resolve: Resolve
) -> Any:
    fields = {name: field for name, field in struct.fields.items() if field.for_version_q(version)}
    values = {
        name: _value(fields[name], version, argument, resolve)
        for name, argument in arguments.items()
    }
    for name, field in fields.items():
        if name not in values and field._tag is None:
            values[name] = _default(field, version)
    return data_class(version=version, **values)


def _default(field: Any, version: int) -> Any:
    if field.is_struct_array() or field.is_array():
        return []
    if field.is_struct():
        if field.nullable_for_version_q(version):
            return None
        return _struct(field, field.data_class, version, {}, lambda value: value)
    return field.default


def _value(field: Any, version: int, argument: Any, resolve: Resolve) -> Any:
    if argument is None:
        return None
    if field.is_struct_array():
        element = field.array_of
        return [_struct(element, element.data_class, version, item, resolve) for item in argument]
    if field.is_array():
        return [_value(field.array_of, version, item, resolve) for item in argument]
    if field.is_struct():
        return _struct(field, field.data_class, version, argument, resolve)
    kind = field.type_str.removeprefix("[]")
    if kind == "records":
        return _records(argument, resolve)
    if kind == "bytes":
        return _bytes(argument, resolve)
    value = resolve(argument)
    if kind == "uuid" and isinstance(value, str):
        return UUID(value)
    return value


def _bytes(argument: Any, resolve: Resolve) -> bytes:
    if isinstance(argument, Mapping):
        return bytes.fromhex(argument["hex"])
    if str(argument).startswith(_HMAC_REFERENCE):
        return bytes.fromhex(resolve(argument))
    return str(resolve(argument)).encode()


def _records(argument: Mapping[str, Any], resolve: Resolve) -> bytes:
    """Return record batches: `{"batches": [{"records": [[key, value], ...], ...}]}`.

    A batch can have `compression`, `timestamp`, `producer_id`, `producer_epoch`, `base_sequence`
    and `is_transactional`; `flip` inverts the byte at this position afterwards. Before the CRC is
    computed, `header` replaces fields of the header, `damaged_record` inverts the byte of the
    records at this position, before they are compressed, and `damaged_payload` afterwards.
    """
    if "hex" in argument:
        return bytes.fromhex(argument["hex"])
    return b"".join(_batch(batch, resolve) for batch in argument["batches"])


def _batch(batch: Mapping[str, Any], resolve: Resolve) -> bytes:
    builder = BatchBuilder(batch.get("compression", "none"), 1 << 20)
    timestamp = resolve(batch.get("timestamp", "now+0"))
    for key, value in batch["records"]:
        builder.append(timestamp, _text(key, resolve), _text(value, resolve), ())
    encoded = stamp_producer(
        builder.build(),
        resolve(batch.get("producer_id", -1)),
        batch.get("producer_epoch", -1),
        batch.get("base_sequence", -1),
        is_transactional=batch.get("is_transactional", False),
    )
    encoded = _altered(encoded, batch, resolve)
    position = batch.get("flip")
    if position is None:
        return encoded
    flipped = bytearray(encoded)
    flipped[position] ^= 0xFF
    return bytes(flipped)


def _altered(encoded: bytes, batch: Mapping[str, Any], resolve: Resolve) -> bytes:
    header, payload = read_header(encoded, 0), encoded[HEADER_BYTES:]
    codec = header.attributes & COMPRESSION_MASK
    if "damaged_record" in batch:
        payload = decompress(payload, codec, 1 << 20) if codec else payload
        payload = compress(_inverted(payload, batch["damaged_record"]), codec)
    if "damaged_payload" in batch:
        payload = _inverted(payload, batch["damaged_payload"])
    fields = {name: resolve(value) for name, value in batch.get("header", {}).items()}
    return with_header(encoded[:HEADER_BYTES] + payload, header._replace(**fields))


def _inverted(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position % len(data)] ^= 0xFF
    return bytes(changed)


def _text(value: str | None, resolve: Resolve) -> bytes | None:
    return None if value is None else str(resolve(value)).encode()
