"""Unsecured tokens: Kafka's own mode of OAUTHBEARER for development.

Such a token is not signed, so a client may claim any name. Sources: Kafka's
`OAuthBearerUnsecuredJws` and `OAuthBearerUnsecuredValidatorCallbackHandler`.
"""

import re
from collections.abc import Mapping

from broker.security.tokens import (
    Token,
    TokenError,
    decoded_object,
    scopes_of,
    text_claim,
    time_claim_ms,
)

_PREFIX = "unsecuredValidator"
_SCOPE = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")


class UnsecuredTokens:
    """Checks the form, `alg` none, the principal's claim, `exp`, `iat`, and scopes."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        """`options` are those of the login module, such as `unsecuredValidatorRequiredScope`.

        Raises:
            ValueError: an option is malformed.
        """
        texts = {name: text.strip() for name, text in (options or {}).items()}
        self._subject_claim = texts.get(f"{_PREFIX}PrincipalClaimName") or "sub"
        self._scope_claim = texts.get(f"{_PREFIX}ScopeClaimName") or "scope"
        self._required_scopes = texts.get(f"{_PREFIX}RequiredScope", "").split()
        for scope in self._required_scopes:
            if not _SCOPE.fullmatch(scope):
                raise ValueError(f"Invalid scope value: {scope}")
        skew = texts.get(f"{_PREFIX}AllowableClockSkewMs") or "0"
        if not re.fullmatch(r"[+-]?[0-9]{1,10}", skew):
            raise ValueError(f"{_PREFIX}AllowableClockSkewMs is not a number")
        self._clock_skew_ms = int(skew)
        if self._clock_skew_ms < 0:
            raise ValueError(f"Allowable clock skew millis must not be negative: {skew}")

    def validate(self, text: str, now_ms: int) -> Token:
        """Return what an unsecured token says, or raise TokenError."""
        parts = text.split(".")
        if len(parts) != 3:
            raise TokenError("the token is not header.claims.signature")
        header, claims = decoded_object(parts[0]), decoded_object(parts[1])
        if header.get("alg") != "none" or parts[2]:
            raise TokenError("only unsecured tokens are supported: alg must be none")
        subject = text_claim(claims, self._subject_claim)
        expires_at_ms = time_claim_ms(claims, "exp")
        if expires_at_ms is None:
            raise TokenError("the claim exp is missing")
        if expires_at_ms <= now_ms - self._clock_skew_ms:
            raise TokenError("the token has expired")
        issued_at_ms = time_claim_ms(claims, "iat")
        if issued_at_ms is not None:
            if issued_at_ms > now_ms + self._clock_skew_ms:
                raise TokenError("the token was issued in the future")
            if expires_at_ms <= issued_at_ms:
                raise TokenError("the token expired before it was issued")
        scopes = scopes_of(claims, self._scope_claim)
        for scope in self._required_scopes:
            if scope not in scopes:
                required = f"[{', '.join(self._required_scopes)}]"
                raise TokenError(f"the token lacks the scope {scope}", scope=required)
        return Token(subject, expires_at_ms)
