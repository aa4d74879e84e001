"""The kinds of values of a fault rule's fields: their checks and JSON schemas.

Each field is declared once, with `declare(kind, description)` in a dataclass derived from
`Declared`. Validation, the OpenAPI schema and the tables of docs/faults.md read the declaration.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any
from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, error_code_of
from protocol.messages import API_NAMES, api_key_of
from protocol.suggestions import did_you_mean

INT32_MAX = (1 << 31) - 1
MS_MAX = 1 << 53


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value.

    `python_type` is the type of a value in Python, `values` describes the values in a few words,
    `schema` is their JSON schema. `check(name, value)` returns the value in its usual form, or
    raises a ValueError that begins with the name of the field.
    """

    python_type: Any
    values: str
    schema: Mapping[str, Any]
    check: Callable[[str, Any], Any]


class Declared:
    """Base class of the parts of a rule; it checks every value that is not None."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for declared in fields(self):  # type: ignore[arg-type]
            value = getattr(self, declared.name)
            if value is not None:
                checked = kind_of(declared).check(declared.name, value)
                object.__setattr__(self, declared.name, checked)


def declare(kind: Kind, description: str, default: Any = None) -> Any:
    """Declare a field of a rule: the default value of a dataclass attribute."""
    return field(default=default, metadata={"kind": kind, "description": description})


def declare_required(kind: Kind, description: str) -> Any:
    """Declare the field without which an action would do nothing; it has no default."""
    return field(metadata={"kind": kind, "description": description})


def kind_of(declared: Field[Any]) -> Kind:
    """Return the kind that a field was declared with."""
    kind: Kind = declared.metadata["kind"]
    return kind


def schema_of(declared: Field[Any]) -> dict[str, Any]:
    """Return the JSON schema of a field, with its description."""
    return {**kind_of(declared).schema, "description": declared.metadata["description"]}


def whole(low: int, high: int = INT32_MAX) -> Kind:
    """Return the kind of integers from `low` to `high`, both included."""

    def check(name: str, value: Any) -> Any:
        if not _is_integer(value) or not low <= value <= high:
            raise ValueError(f"{name}: must be a whole number from {low} to {high}, not {value!r}")
        return value

    bounds = f"integer from {low}" if high >= INT32_MAX else f"integer from {low} to {high}"
    return Kind(int, bounds, {"type": "integer", "minimum": low, "maximum": high}, check)


def duration_ms(low: int = 0) -> Kind:
    """Return the kind of times and delays, in milliseconds of the broker's clock."""
    return whole(low, MS_MAX)


def one_of(*words: str) -> Kind:
    """Return the kind of values that are one of these words."""

    def check(name: str, value: Any) -> Any:
        if value not in words:
            hint = did_you_mean(str(value), words)
            raise ValueError(f"{name}: must be one of {', '.join(words)}, not {value!r}{hint}")
        return value

    quoted = ", ".join(f"`{word}`" for word in words)
    return Kind(str, quoted, {"type": "string", "enum": list(words)}, check)


def broker_or(*words: str) -> Kind:
    """Return the kind of values that are a node id or one of these words."""

    def check(name: str, value: Any) -> Any:
        if value not in words and not (_is_integer(value) and 0 <= value <= INT32_MAX):
            choices = " or ".join(words)
            raise ValueError(f"{name}: must be a node id or {choices}, not {value!r}")
        return value

    schema = {"anyOf": [NODE_ID.schema, {"type": "string", "enum": list(words)}]}
    quoted = ", ".join(("node id", *(f"`{word}`" for word in words)))
    return Kind(int | str, quoted, schema, check)


def _check_text(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError(f"{name}: must be a text, not {value!r}")  # noqa: TRY004
    return value


def _check_flag(name: str, value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError(f"{name}: must be true or false, not {value!r}")  # noqa: TRY004
    return value


def _check_only_true(name: str, value: Any) -> Any:
    if value is not True:
        raise ValueError(f"{name}: must be true, not {value!r}")
    return value


def _check_probability(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{name}: must be a number from 0 to 1, not {value!r}")
    return value


def _check_api(name: str, value: Any) -> Any:
    if _is_integer(value) and value in API_NAMES:
        return API_NAMES[ApiKey(value)]
    try:
        return API_NAMES[api_key_of(str(value))]
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _check_error(name: str, value: Any) -> Any:
    if _is_integer(value):
        try:
            return ErrorCode(value).name
        except ValueError:
            raise ValueError(f"{name}: there is no error code {value}") from None
    try:
        return error_code_of(str(value)).name
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _check_topic_id(name: str, value: Any) -> Any:
    try:
        return str(UUID(_check_text(name, value)))
    except ValueError:
        raise ValueError(f"{name}: {value!r} is no uuid") from None


def _check_conditions(name: str, value: Any) -> Any:
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{name}: must be an object with conditions by path, not {value!r}")
    return deepcopy(dict(value))


def _check_object(name: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: must be an object, not {value!r}")  # noqa: TRY004
    return deepcopy(dict(value))


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


NODE_ID = replace(whole(0), values="node id")
TEXT = Kind(str, "string", {"type": "string"}, _check_text)
API_VERSIONS = Kind(str, "releases or limits of APIs", {"type": "string"}, _check_text)
FLAG = Kind(bool, "true or false", {"type": "boolean"}, _check_flag)
ONLY_TRUE = Kind(bool, "true", {"type": "boolean"}, _check_only_true)
"""A flag that is an action without options. False in JSON means no action."""
PROBABILITY = Kind(
    float,
    "number from 0 to 1",
    {"type": "number", "minimum": 0, "maximum": 1},
    _check_probability,
)
API = Kind(str, "name of an API", {"type": "string", "enum": list(API_NAMES.values())}, _check_api)
"""Kafka's name of an API; `PRODUCE`, a key and an ApiKey become that name."""
ERROR = Kind(
    str,
    "name of an error code",
    {"type": "string", "enum": list(ErrorCode.__members__)},
    _check_error,
)
"""Kafka's name of an error code; other spellings and a number become that name."""
OBJECT = Kind(dict, "object", {"type": "object"}, _check_object)
CONDITIONS = Kind(
    Mapping[str, Any], "object", {"type": "object", "minProperties": 1}, _check_conditions
)
TOPIC_ID = Kind(str, "uuid", {"type": "string", "format": "uuid"}, _check_topic_id)
"""A topic id; its usual form has hyphens."""
