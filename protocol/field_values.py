"""Values of single fields in JSON, as they are written in fault rules.

Error codes may be names, uuids are strings, and bytes are `{"base64": ...}` or `{"text": ...}`.
"""

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from protocol.errors import ErrorCode
from protocol.suggestions import did_you_mean

INTEGERS = {
    "uint16": range(1 << 16),
    **{f"int{bits}": range(-(1 << bits - 1), 1 << bits - 1) for bits in (8, 16, 32, 64)},
}
"""The integers that fit into a field, by its type."""
_TEXT_BYTES_MAX = (1 << 15) - 1


def simple_value(field: Any, value: Any, path: str) -> Any:
    """Convert a value of JSON to the type of a field that is no struct and no array.

    Raises:
        ValueError: it has another type.
    """
    kind = field.type_str.removeprefix("[]")
    integers = INTEGERS.get(kind)
    if isinstance(value, str) and field.name.endswith("error_code"):
        return _error_code(value, path)
    if integers is not None and isinstance(value, int) and not isinstance(value, bool):
        if value in integers:
            return value
        raise ValueError(f"{path}: {value} doesn't fit into {kind}")
    if kind == "string" and isinstance(value, str) and len(value.encode()) <= _TEXT_BYTES_MAX:
        return value
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "float64" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if kind == "bitfield" and isinstance(value, list):
        if all(isinstance(byte, int) and 0 <= byte < 31 for byte in value):
            return set(value)
    elif kind == "uuid" and isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            raise ValueError(f"{path}: {value!r} is no uuid") from None
    elif kind in {"bytes", "records"} and isinstance(value, Mapping) and len(value) == 1:
        return _bytes(value, path)
    raise ValueError(f"{path}: must be of type {kind}, not {value!r}")


def _error_code(name: str, path: str) -> int:
    code = ErrorCode.__members__.get(name)
    if code is None:
        hint = did_you_mean(name, ErrorCode.__members__)
        raise ValueError(f"{path}: there is no {name}{hint}")
    return int(code)


def _bytes(value: Mapping[str, Any], path: str) -> bytes:
    ((encoding, text),) = value.items()
    if isinstance(text, str) and encoding == "text":
        return text.encode()
    if isinstance(text, str) and encoding == "base64":
        try:
            return b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(f"{path}: {text!r} is no base64") from None
    raise ValueError(f'{path}: must be {{"base64": ...}} or {{"text": ...}}')
