"""Parse, format and check values (Kafka's `ConfigDef.parseType`).

A value is a bool, int, float, str, tuple of str, or None for "not set".
"""

import math
import re
from typing import Any

from broker.config.keys import Check, ConfigError, ConfigKey, ConfigType, shortened

_INTEGER_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DOUBLE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def parse_value(key: ConfigKey, text: str) -> Any:
    """Parse a value of a key; ConfigError names key, text and reason."""
    value = _parse_type(key, text)
    reason = key.check(value) if key.check is not None else None
    if reason is not None:
        raise _invalid(key, text, reason)
    return value


def format_value(value: Any) -> str | None:
    """Return Kafka's text of a value: `true`, `1,2`, `0.5`; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def split_list(text: str) -> tuple[str, ...]:
    """Return the elements of a LIST, which are separated by commas, without blanks around them."""
    text = text.strip()
    return tuple(element.strip() for element in text.split(",")) if text else ()


def _invalid(key: ConfigKey, text: str, reason: str) -> ConfigError:
    shown = "[hidden]" if key.is_sensitive else shortened(text)
    return ConfigError(f"Invalid value {shown} for configuration {key.name}: {reason}")


def _parse_type(key: ConfigKey, text: str) -> Any:
    trimmed = text.strip()
    match key.config_type:
        case ConfigType.BOOLEAN:
            if trimmed.lower() not in {"true", "false"}:
                raise _invalid(key, text, "must be true or false")
            return trimmed.lower() == "true"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            return _parse_integer(key, trimmed)
        case ConfigType.DOUBLE:
            number = float(trimmed) if _DOUBLE.fullmatch(trimmed) else math.inf
            if math.isinf(number):
                raise _invalid(key, text, "not a number of type DOUBLE")
            return number
        case ConfigType.LIST:
            return split_list(text)
        case ConfigType.PASSWORD:
            return text
        case ConfigType.STRING | ConfigType.CLASS:
            return trimmed


def _parse_integer(key: ConfigKey, text: str) -> int:
    limit = 1 << (_INTEGER_BITS[key.config_type] - 1)
    # Check the length first: Python refuses to convert thousands of digits.
    if len(text) > 64 or not _INTEGER.fullmatch(text) or not -limit <= int(text) < limit:
        raise _invalid(key, text, f"not a number of type {key.config_type.name}")
    return int(text)


def at_least(low: float) -> Check:
    """Return a check that the value is `low` or more."""

    def check(value: Any) -> str | None:
        return None if value >= low else f"must be at least {low}"

    return check


def more_than(low: float) -> Check:
    """Return a check that the value is above `low`."""

    def check(value: Any) -> str | None:
        return None if value > low else f"must be more than {low}"

    return check


def between(low: float, high: float) -> Check:
    """Return a check that the value is between `low` and `high`, both included."""

    def check(value: Any) -> str | None:
        return None if low <= value <= high else f"must be between {low} and {high}"

    return check


def one_of(*allowed: str) -> Check:
    """Return a check that the value is one of these words."""

    def check(value: Any) -> str | None:
        return None if value in allowed else f"must be one of: {', '.join(allowed)}"

    return check


def one_of_numbers(*allowed: int) -> Check:
    """Return a check that the value is one of these numbers."""

    def check(value: Any) -> str | None:
        if value in allowed:
            return None
        return f"must be one of: {', '.join(str(number) for number in allowed)}"

    return check


def each_of(*allowed: str) -> Check:
    """Return a check that every element of a list is one of these words."""

    def check(value: Any) -> str | None:
        for element in value:
            if element not in allowed:
                return f"every element must be one of: {', '.join(allowed)}"
        return None

    return check


def unlimited_or_positive(value: Any) -> str | None:
    """Refuse 0; a negative value is unlimited."""
    return None if value != 0 else "must be -1 for unlimited, or at least 1"


def throttled_replicas(value: Any) -> str | None:
    """Require a list of `partition:broker`, or `*` alone for all (KIP-73)."""
    if value in {(), ("*",)}:
        return None
    if all(re.fullmatch(r"[0-9]+:[0-9]+", element, re.ASCII) for element in value):
        return None
    return "must be * or a list of partition:broker, such as 0:1,1:2"
