"""Parse, format and check values, with Kafka's error messages (`ConfigDef`, `ConfigException`).

A value is a bool, int, float, str, tuple of str, or None for "not set".
"""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from broker.config.keys import Check, ConfigError, ConfigKey, ConfigType, Invalid, ListRule

_INTEGER_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DOUBLE = re.compile(
    r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)", re.ASCII
)
SHOWN_CHARACTERS_MAX = 500
"""An error message repeats at most this much of a value; Kafka repeats all of it."""

_BLANKS = "".join(map(chr, range(33)))
"""The characters that Java's `String.trim` removes."""


def parse_value(key: ConfigKey, text: str) -> Any:
    """Parse a value of a key; ConfigError names key, text and reason."""
    value = _parse_type(key, text)
    if isinstance(key.check, ListRule):
        return _checked_list(key, key.check, value)
    invalid = key.check(value) if key.check is not None else None
    if invalid is not None:
        raise _invalid(key, invalid.value, invalid.reason)
    return value


def format_value(value: Any) -> str | None:
    """Return Kafka's text of a value: `true`, `1,2`, `0.5`; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return _format_double(value)
    return str(value)


def _format_double(value: float) -> str:
    """Return a DOUBLE as Java's `Double.toString` writes it: `0.5`, `1.0E10`, `NaN`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    shown = "".join(map(str, digits))
    return f"{'-' * sign}{shown[0]}.{shown[1:] or '0'}E{exponent + len(shown) - 1}"


def split_list(text: str) -> tuple[str, ...]:
    """Return the elements of a LIST, which are separated by commas, without blanks around them."""
    text = text.strip()
    return tuple(element.strip() for element in text.split(",")) if text else ()


def elements_of(value: tuple[str, ...] | str | None) -> tuple[str, ...]:
    """Return the elements of a value of a key that is a STRING in one release, a LIST in another.

    None is a key that is not set.
    """
    return value if isinstance(value, tuple) else split_list(value or "")


def _checked_list(key: ConfigKey, rule: ListRule, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the elements without repetitions; ConfigError as of Kafka's `ValidList`."""
    if not given and not rule.is_empty_allowed:
        valid = f"[{', '.join(rule.allowed)}]" if rule.allowed else "any non-empty value"
        raise ConfigError(
            f"Configuration '{key.name}' must not be empty. Valid values include: {valid}"
        )
    elements = tuple(dict.fromkeys(given))
    problem = one_of(*rule.allowed)
    for element in elements:
        if not element:
            raise ConfigError(f"Configuration '{key.name}' values must not be empty.")
        invalid = problem(element) if rule.allowed else None
        if invalid is not None:
            raise _invalid(key, invalid.value, invalid.reason)
    return elements


def _invalid(key: ConfigKey, value: Any, reason: str) -> ConfigError:
    if key.is_sensitive:
        shown = "[hidden]"
    elif isinstance(value, tuple):
        shown = f"[{', '.join(value)}]"
    else:
        shown = str(format_value(value))
    if len(shown) > SHOWN_CHARACTERS_MAX:
        shown = f"{shown[:SHOWN_CHARACTERS_MAX]}..."
    return ConfigError(f"Invalid value {shown} for configuration {key.name}: {reason}")


def _parse_type(key: ConfigKey, text: str) -> Any:
    trimmed = text.strip(_BLANKS)
    match key.config_type:
        case ConfigType.BOOLEAN:
            if trimmed.lower() not in {"true", "false"}:
                raise _invalid(key, text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            return _parse_integer(key, text, trimmed)
        case ConfigType.DOUBLE:
            if not _DOUBLE.fullmatch(trimmed):
                raise _invalid(key, text, "Not a number of type DOUBLE")
            return float(trimmed.rstrip("fFdD") or trimmed)
        case ConfigType.LIST:
            return split_list(text)
        case ConfigType.PASSWORD | ConfigType.UNKNOWN:
            return text
        case ConfigType.STRING | ConfigType.CLASS:
            return trimmed


def _parse_integer(key: ConfigKey, text: str, trimmed: str) -> int:
    limit = 1 << (_INTEGER_BITS[key.config_type] - 1)
    # Check the length first: Python refuses to convert thousands of digits.
    if len(trimmed) > 64 or not _INTEGER.fullmatch(trimmed) or not -limit <= int(trimmed) < limit:
        raise _invalid(key, text, f"Not a number of type {key.config_type.name}")
    return int(trimmed)


def at_least(low: float) -> Check:
    """Return a check that the value is `low` or more."""

    def check(value: Any) -> Invalid | None:
        return Invalid(value, f"Value must be at least {low}") if value < low else None

    return check


def more_than(low: float) -> Check:
    """Return a check that the value is above `low`."""

    def check(value: Any) -> Invalid | None:
        return None if value > low else Invalid(value, f"Value must be more than {low}")

    return check


def between(low: float, high: float) -> Check:
    """Return a check that the value is between `low` and `high`, both included."""

    def check(value: Any) -> Invalid | None:
        if value > high:
            return Invalid(value, f"Value must be no more than {high}")
        return Invalid(value, f"Value must be at least {low}") if value < low else None

    return check


def one_of(*allowed: str) -> Check:
    """Return a check that the value is one of these words."""

    def check(value: Any) -> Invalid | None:
        if value in allowed:
            return None
        return Invalid(value, f"String must be one of: {', '.join(allowed)}")

    return check


def pem_store(value: Any) -> Invalid | None:
    """Check that a keystore or a truststore is PEM: Python has no reader of Java's stores."""
    if value == "PEM":
        return None
    return Invalid(
        value,
        "String must be one of: PEM. keytool -importkeystore -deststoretype PKCS12 and openssl"
        " pkcs12 -nodes make PEM of a JKS store, the second alone of a PKCS12 store",
    )


def one_of_ignoring_case(*allowed: str) -> Check:
    """Return a check that the value is one of these words, in capitals or not."""

    def check(value: Any) -> Invalid | None:
        if value.upper() in allowed:
            return None
        reason = f"String must be one of (case insensitive): {', '.join(allowed)}"
        return Invalid(value, reason)

    return check


def one_of_numbers(*allowed: int) -> Check:
    """Return a check that the value is one of these numbers."""

    def check(value: Any) -> Invalid | None:
        if value in allowed:
            return None
        return Invalid(value, f"Value must be one of: {', '.join(map(str, allowed))}")

    return check


def each_of(*allowed: str) -> Check:
    """Return a check that every element of a list is one of these words."""

    def check(value: Any) -> Invalid | None:
        for element in value:
            if element not in allowed:
                return Invalid(element, f"String must be one of: {', '.join(allowed)}")
        return None

    return check


def explained_by(problem: Callable[[Any], str | None]) -> Check:
    """Return a check by a function that returns why a value is invalid, or None."""

    def check(value: Any) -> Invalid | None:
        reason = problem(value)
        return None if reason is None else Invalid(value, reason)

    return check


def http_url(value: Any) -> Invalid | None:
    """Require an http or https URL with a host; a user's name would end up in error messages."""
    try:
        parts = urlsplit(value)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        return Invalid(value, f"it is no URL: {error}")
    has_more = parts.username is not None or parts.query or parts.fragment
    if parts.scheme not in {"http", "https"} or not has_host or has_more:
        return Invalid(value, "it must be such as http://HOST:PORT, without a user and a query")
    return None


def gzip_level(value: Any) -> Invalid | None:
    """Require a level of gzip, or -1 for its default (Kafka's `CompressionType.GZIP`)."""
    if value == -1 or 1 <= value <= 9:
        return None
    return Invalid(value, "Value must be between 1 and 9 or equal to -1")


def not_empty(value: Any) -> Invalid | None:
    """Refuse an empty text (Kafka's `ConfigDef.NonEmptyString`)."""
    return None if value else Invalid(value, "String must be non-empty")


def unlimited_or_positive(value: Any) -> Invalid | None:
    """Refuse 0; a negative value is unlimited."""
    return None if value else Invalid(value, "Value must be -1 for unlimited, or at least 1")


def throttled_replicas(name: str) -> Check:
    """Return a check for a list of `partition:broker`, or `*` alone for all (KIP-73)."""

    def check(value: Any) -> Invalid | None:
        if value == ("*",):
            return None
        if all(re.fullmatch(r"([0-9]+:[0-9]+)?", element, re.ASCII) for element in value):
            return None
        reason = (
            f"{name} must be the literal '*' or a list of replicas in the following format:"
            " [partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )
        return Invalid(value, reason)

    return check


def share_auto_offset_reset(value: Any) -> Invalid | None:
    """Require `earliest`, `latest` or `by_duration:` with an ISO 8601 duration (KIP-932)."""
    name = "share.auto.offset.reset"
    if value in {"earliest", "latest"} or _DURATION.fullmatch(value):
        return None
    reason = (
        f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest',"
        " 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )
    return Invalid(value, reason)


_DURATION = re.compile(
    r"by_duration:P(?=[0-9T])([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+([.,][0-9]{0,9})?S)?)?",
    re.ASCII | re.IGNORECASE,
)
