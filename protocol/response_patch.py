"""Replace fields of a response with values from JSON, similar to a JSON merge patch (RFC 7396).

Field names are the schema's in snake case. An object changes a struct field by field, and every
entry of an array of structs. A list replaces an array; fields that its entries lack have the
schema's default. Error codes may be names, uuids are strings, and bytes are `{"base64": ...}` or
`{"text": ...}`.
"""

from collections.abc import Mapping
from typing import Any

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.field_values import simple_value
from protocol.message_schema import is_ever_nullable, schema_of
from protocol.suggestions import did_you_mean


def check_patch(api_key: ApiKey, patch: Any) -> None:
    """Check that a patch fits a response of this API in some version.

    Raises:
        ValueError: the message names the field, and suggests the nearest for an unknown one.
    """
    if not isinstance(patch, Mapping):
        raise ValueError(f"must be an object, not {patch!r}")  # noqa: TRY004
    _check_struct(schema_of(messages.response_class(api_key)), patch, "")


def apply_patch(message: Any, api_version: int, patch: Mapping[str, Any]) -> None:
    """Apply a checked patch to a decoded response; ignore fields that its version lacks."""
    _apply_patch(message, schema_of(message), api_version, patch)


def _check_struct(struct: Any, patch: Mapping[str, Any], path: str) -> None:
    for name, value in patch.items():
        field = struct.fields.get(name)
        if field is None:
            hint = did_you_mean(str(name), struct.fields)
            hint = hint or f"; it has {', '.join(struct.fields)}"
            raise ValueError(f"{path}{name}: there is no such field{hint}")
        _check_value(field, value, f"{path}{name}")


def _check_value(field: Any, value: Any, path: str) -> None:
    if value is None:
        if not is_ever_nullable(field):
            raise ValueError(f"{path}: can't be null")
    elif isinstance(value, Mapping) and (field.is_struct() or field.is_struct_array()):
        _check_struct(field.array_of if field.is_array() else field, value, f"{path}.")
    elif field.is_array():
        if not isinstance(value, list):
            kinds = "a list, or an object for each" if field.is_struct_array() else "a list"
            raise ValueError(f"{path}: must be {kinds}, not {value!r}")
        for index, item in enumerate(value):
            if field.is_struct_array() and not isinstance(item, Mapping):
                raise ValueError(f"{path}[{index}]: must be an object, not {item!r}")
            _check_value(field.array_of, item, f"{path}[{index}]")
    elif field.is_struct():
        raise ValueError(f"{path}: must be an object, not {value!r}")
    else:
        simple_value(field, value, path)


def _apply_patch(message: Any, struct: Any, api_version: int, patch: Mapping[str, Any]) -> None:
    for name, value in patch.items():
        field = struct.fields[name]
        if not field.for_version_q(api_version):
            continue
        if value is None:
            if field.nullable_for_version_q(api_version):
                setattr(message, name, None)
        elif field.is_struct_array():
            entries = getattr(message, name) or []
            if not isinstance(value, Mapping):
                entries = [_new(field.array_of, api_version, item) for item in value]
            else:
                for entry in entries:
                    _apply_patch(entry, field.array_of, api_version, value)
            setattr(message, name, entries)
        elif field.is_array():
            setattr(message, name, [simple_value(field.array_of, item, name) for item in value])
        elif not field.is_struct():
            setattr(message, name, simple_value(field, value, name))
        elif getattr(message, name) is None:
            setattr(message, name, _new(field, api_version, value))
        else:
            _apply_patch(getattr(message, name), field, api_version, value)


def _new(struct: Any, api_version: int, patch: Mapping[str, Any]) -> Any:
    # Without a version, because in this one the struct may not exist outside its array.
    entry = struct.data_class()
    for name, field in struct.fields.items():
        if field.is_struct() and field.tag is None and not is_ever_nullable(field):
            setattr(entry, name, _new(field, api_version, {}))  # kafka-python has no default
    _apply_patch(entry, struct, api_version, patch)
    return entry
