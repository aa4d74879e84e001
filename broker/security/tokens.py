"""Bearer tokens of OAUTHBEARER (RFC 6750): their parts, their claims, and what checks them."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from typing import Any, Protocol

INVALID_TOKEN = "invalid_token"  # noqa: S105 - a status of RFC 6750
INSUFFICIENT_SCOPE = "insufficient_scope"
TIME_MS_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Token:
    """What a valid token says: its principal, and its end in milliseconds since 1970."""

    subject: str
    expires_at_ms: int


class TokenError(ValueError):
    """A token is invalid; the message is one line, for the log. `scope` is one that it lacks."""

    def __init__(self, message: str, scope: str | None = None) -> None:
        super().__init__(message)
        self.scope = scope


class TokenValidator(Protocol):
    """Checks the tokens of a listener: Kafka's `JwtValidator`."""

    def validate(self, text: str, now_ms: int) -> Token:
        """Return what a token says.

        Raises:
            TokenError: it is malformed, or not valid at this time.
        """
        ...


def decoded_object(part: str) -> dict[str, Any]:
    """Return the JSON object of a part of a token.

    Raises:
        TokenError: it is not an object in JSON in base64url.
    """
    try:
        padded = part + "=" * (-len(part) % 4)
        value = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise TokenError("the token is not base64url of JSON") from None
    if not isinstance(value, dict):
        raise TokenError("the token is not a JSON object")
    return value


def text_claim(claims: Mapping[str, Any], name: str) -> str:
    """Return the text of a claim that names the principal.

    Raises:
        TokenError: it is missing, blank, or not a text that UTF-8 has.
    """
    text = claims.get(name)
    if not isinstance(text, str) or not text.strip():
        raise TokenError(f"the claim {name} is missing or not a text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TokenError(f"the claim {name} has a surrogate without its pair") from None
    return text


def time_claim_ms(claims: Mapping[str, Any], name: str) -> int | None:
    """Return a time in milliseconds since 1970, or None; the claim is in seconds.

    Raises:
        TokenError: it is not a time.
    """
    seconds = claims.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TokenError(f"the claim {name} is not a number")
    try:
        time_ms = floor(seconds * 1000 + 0.5)  # as Java's Math.round
    except (OverflowError, ValueError):
        raise TokenError(f"the claim {name} is not a time") from None
    return max(-TIME_MS_MAX, min(time_ms, TIME_MS_MAX))  # as Java rounds a double to a long


def scopes_of(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the scopes of a claim: one text, or a list of them."""
    value = claims.get(name)
    scopes = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(str(scope).strip() for scope in scopes if str(scope).strip())
