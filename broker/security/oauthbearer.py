"""OAUTHBEARER (RFC 7628): one token from the client, which a `TokenValidator` checks."""

import re

from broker.log import log
from broker.security.sasl import (
    INVALID_CREDENTIALS,
    Authenticated,
    Challenge,
    Refused,
    SaslResult,
)
from broker.security.tokens import INSUFFICIENT_SCOPE, INVALID_TOKEN, TokenError, TokenValidator

_INITIAL = re.compile(
    r"n,(?:a=(?P<authzid>(?:[\x01-\x2b\x2d-\x3c\x3e-\x7e]|=2C|=3D)+))?,\x01"
    r"(?P<pairs>(?:[A-Za-z]+=[\x21-\x7E \t\r\n]+\x01)*)\x01"
)
_AUTH = re.compile(r"(?i:bearer) +(?P<token>[-A-Za-z0-9._~+/]+=*)")
_ACKNOWLEDGED = b"\x01"
"""What a client answers to an error, so that the exchange ends."""


class OauthBearerExchange:
    """Kafka's `OAuthBearerSaslServer`: a bad token gets an error, which the client acknowledges."""

    def __init__(self, tokens: TokenValidator) -> None:
        self._tokens = tokens
        self._error: str | None = None

    def step(self, token: bytes, now_ms: int) -> SaslResult:
        """Check the client's token, or end a refused exchange."""
        if self._error is not None and token == _ACKNOWLEDGED:
            return Refused(self._error)
        self._error = None
        found = _INITIAL.fullmatch(token.decode("utf-8", "replace"))
        if found is None:
            return INVALID_CREDENTIALS
        pairs = dict(pair.split("=", 1) for pair in found["pairs"].split("\x01") if pair)
        auth = _AUTH.fullmatch(pairs.get("auth", ""))
        if auth is None:
            return INVALID_CREDENTIALS
        try:
            bearer = self._tokens.validate(auth["token"], now_ms)
        except TokenError as error:
            log.warning("a bearer token is invalid", reason=str(error))
            self._error = _error_response(error)
            return Challenge(self._error.encode())
        authorization_id = found["authzid"]
        if authorization_id and authorization_id != bearer.subject:
            return Refused(
                "Authentication failed: Client requested an authorization id"
                f" ({authorization_id}) that is different from the token's principal name"
                f" ({bearer.subject})"
            )
        return Authenticated(bearer.subject, expires_at_ms=bearer.expires_at_ms)


def _error_response(error: TokenError) -> str:
    """Return the error as Kafka's clients read it, in JSON."""
    if error.scope is None:
        return f'{{"status":"{INVALID_TOKEN}"}}'
    return f'{{"status":"{INSUFFICIENT_SCOPE}", "scope":"{error.scope}"}}'
