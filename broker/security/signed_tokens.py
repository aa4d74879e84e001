"""Signed tokens of OAUTHBEARER, as an OAuth provider issues them (KIP-768).

PyJWT verifies the signatures; it is in the extra `oauth`, and imported with the first token.
Source: Kafka's `BrokerJwtValidator`, and the jose4j library that it uses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from broker.security.tokens import (
    Token,
    TokenError,
    decoded_object,
    scopes_of,
    text_claim,
    time_claim_ms,
)

KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "HS": "oct", "Ed": "OKP"}
"""The type of the key (`kty`) by the first letters of an algorithm."""
RSA_BITS_MIN = 2048

Key = Mapping[str, Any]
"""A JSON Web Key (RFC 7517)."""


class Keys(Protocol):
    """The keys of a provider."""

    def keys(self, now_ms: int) -> tuple[Key, ...]:
        """Return the keys that are known.

        Raises:
            TokenError: they cannot be read.
        """
        ...

    def miss(self, key_id: str, now_ms: int) -> None:
        """Note that a token was signed with a key that is not known."""
        ...


@dataclass(frozen=True, slots=True)
class SignedTokens:
    """Checks signature, issuer, audience and times of tokens.

    `audiences` and `issuer` are those that a token must have; an empty set and None allow any.
    """

    provider: Keys
    audiences: frozenset[str]
    issuer: str | None
    clock_skew_ms: int
    scope_claim: str
    subject_claim: str

    def validate(self, text: str, now_ms: int) -> Token:
        """Return what a signed token says, or raise TokenError."""
        parts = text.strip().split(".")
        if len(parts) != 3 or not all(parts):
            raise TokenError("the token is not header.claims.signature")
        header = decoded_object(parts[0])
        self._verify(text.strip(), header, now_ms)
        claims = decoded_object(parts[1])
        expires_at_ms = self._check_times(claims, now_ms)
        audience = claims.get("aud")
        named = {audience} if isinstance(audience, str) else audience
        if self.audiences and not (
            isinstance(named, set | list) and self.audiences.intersection(filter(_is_text, named))
        ):
            raise TokenError("the claim aud has no expected audience")
        if self.issuer is not None and claims.get("iss") != self.issuer:
            raise TokenError("the claim iss is not the expected issuer")
        scopes = scopes_of(claims, self.scope_claim)
        if len(set(scopes)) < len(scopes):
            raise TokenError(f"the claim {self.scope_claim} has a scope twice")
        return Token(text_claim(claims, self.subject_claim).strip(), expires_at_ms)

    def _verify(self, text: str, header: Mapping[str, Any], now_ms: int) -> None:
        """Raise TokenError unless one of the provider's keys has signed the token."""
        import jwt  # noqa: PLC0415 - see the module's docstring

        algorithm = header.get("alg")
        if (
            not isinstance(algorithm, str)
            or algorithm not in jwt.algorithms.get_default_algorithms()
        ):
            raise TokenError("the token's algorithm is not supported")
        if algorithm == "none":
            raise TokenError("the token is not signed")
        if "crit" in header:
            raise TokenError("the token has critical headers, which are not supported")
        key = self._key_of(header, algorithm, now_ms)
        try:
            jwk = jwt.PyJWK(dict(key), algorithm=algorithm)
        # Which errors of a malformed key PyJWT lets through depends on its release.
        except (jwt.PyJWTError, LookupError, TypeError, ValueError) as error:
            raise TokenError(f"the key is not valid: {type(error).__name__}") from None
        if _is_short(jwk.key, key["kty"], algorithm):
            raise TokenError("the key of the token is too short")
        try:
            jwt.api_jws.PyJWS().decode_complete(text, jwk.key, algorithms=[algorithm])
        except jwt.PyJWTError as error:
            raise TokenError(f"the signature is not valid: {type(error).__name__}") from None

    def _key_of(self, header: Mapping[str, Any], algorithm: str, now_ms: int) -> Key:
        """Return the first key that may have signed a token."""
        key_id, key_type = header.get("kid"), KEY_TYPES[algorithm[:2]]
        for key in self.provider.keys(now_ms):
            if (
                key.get("kty") == key_type
                and (key_id is None or key.get("kid") == key_id)
                and key.get("use", "sig") == "sig"
                and key.get("alg", algorithm) == algorithm
            ):
                return key
        if isinstance(key_id, str):
            self.provider.miss(key_id, now_ms)
        raise TokenError("the provider has no key of the token")

    def _check_times(self, claims: Mapping[str, Any], now_ms: int) -> int:
        """Return when a token ends, or raise TokenError if it is not valid now."""
        expires_at_ms, issued_at_ms = time_claim_ms(claims, "exp"), time_claim_ms(claims, "iat")
        if expires_at_ms is None or issued_at_ms is None:
            raise TokenError("the claim exp or iat is missing")
        if expires_at_ms < 0 or issued_at_ms < 0:
            raise TokenError("the claim exp or iat is negative")
        if now_ms - self.clock_skew_ms >= expires_at_ms:
            raise TokenError("the token has expired")
        not_before_ms = time_claim_ms(claims, "nbf")
        if not_before_ms is not None and now_ms + self.clock_skew_ms < not_before_ms:
            raise TokenError("the token is not valid yet")
        if expires_at_ms < issued_at_ms or expires_at_ms < (not_before_ms or 0):
            raise TokenError("the token expired before it was issued or valid")
        return expires_at_ms


def _is_short(key: Any, key_type: str, algorithm: str) -> bool:
    """Whether jose4j refuses a key for its length; a secret has at least the bits of the hash."""
    if key_type == "oct":
        return len(key) * 8 < int(algorithm[2:])
    return key_type == "RSA" and key.key_size < RSA_BITS_MIN


def _is_text(value: object) -> bool:
    return isinstance(value, str)
