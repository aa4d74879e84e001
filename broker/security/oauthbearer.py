"""OAUTHBEARER (RFC 7628) with unsecured tokens: Kafka's own mode for development.

Such a token is not signed, so a client may claim any name. The checks are those of Kafka's
`OAuthBearerUnsecuredJws`: the form, `alg` none, `sub`, `exp` and `iat`.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from broker.security.sasl import Authenticated, Challenge, Refused, SaslResult

_INITIAL = re.compile(
    r"n,(?:a=(?P<authzid>[^,\x01]*))?,\x01auth=(?i:bearer) +(?P<token>[-A-Za-z0-9._~+/]+=*)\x01"
    r"(?:[A-Za-z]+=[^\x01]*\x01)*\x01"
)
_INVALID_TOKEN = b'{"status":"invalid_token"}'


@dataclass(frozen=True, slots=True)
class Token:
    """The claims of an unsecured token; times are milliseconds since 1970."""

    subject: str
    expires_at_ms: int


_TIME_MS_MAX = 2**63 - 1


class TokenError(ValueError):
    """A token is invalid; the message is one line."""


class OauthBearerExchange:
    """Kafka's `OAuthBearerSaslServer`: a bad token gets an error, which the client acknowledges."""

    def __init__(self) -> None:
        self._refusal: str | None = None

    def step(self, token: bytes, now_ms: int) -> SaslResult:
        """Check the client's token, or end a refused exchange."""
        if self._refusal is not None:
            return Refused(self._refusal)
        found = _INITIAL.fullmatch(token.decode("utf-8", "replace"))
        if found is None:
            return Refused("Invalid OAUTHBEARER client first message")
        try:
            bearer = read_token(found["token"], now_ms)
        except TokenError as error:
            self._refusal = str(error)
            return Challenge(_INVALID_TOKEN)
        if found["authzid"] and found["authzid"] != bearer.subject:
            return Refused(
                "Authentication failed: Client requested an authorization id that is different"
                " from the token's principal name"
            )
        return Authenticated(bearer.subject, expires_at_ms=bearer.expires_at_ms)


def read_token(text: str, now_ms: int) -> Token:
    """Return the claims of an unsecured JWS."""
    parts = text.split(".")
    if len(parts) != 3:
        raise TokenError("the token is not header.claims.signature")
    header, claims = _object(parts[0]), _object(parts[1])
    if header.get("alg") != "none" or parts[2]:
        raise TokenError("only unsecured tokens are supported: alg must be none")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise TokenError("the claim sub is missing or not a text")
    if not _is_unicode(subject):
        raise TokenError("the claim sub has a surrogate without its pair")
    expires_at_ms = _time_ms(claims, "exp")
    if expires_at_ms is None:
        raise TokenError("the claim exp is missing")
    if expires_at_ms <= now_ms:
        raise TokenError("the token has expired")
    issued_at_ms = _time_ms(claims, "iat")
    if issued_at_ms is not None and issued_at_ms > now_ms:
        raise TokenError("the token was issued in the future")
    return Token(subject, expires_at_ms)


def _object(part: str) -> dict[str, Any]:
    try:
        padded = part + "=" * (-len(part) % 4)
        value = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise TokenError("the token is not base64url of JSON") from None
    if not isinstance(value, dict):
        raise TokenError("the token is not a JSON object")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _time_ms(claims: dict[str, Any], name: str) -> int | None:
    seconds = claims.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TokenError(f"the claim {name} is not a number")
    try:
        time_ms = int(seconds * 1000)
    except (OverflowError, ValueError):
        raise TokenError(f"the claim {name} is not a time") from None
    return max(-_TIME_MS_MAX, min(time_ms, _TIME_MS_MAX))  # as Java rounds a double to a long
