"""Signed tokens: signature, keys, times, issuer, audience and principal."""

import base64
import warnings
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.signed_tokens import Key, SignedTokens
from broker.security.tokens import Token, TokenError
from tests.broker.security.provider import AUDIENCE, ISSUER, public_key, signed
from tests.broker.security.sasl_messages import encoded

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000
CLAIMS = {"sub": "alice", "exp": NOW_S + 60, "iat": NOW_S, "iss": ISSUER, "aud": AUDIENCE}


class FixedKeys:
    def __init__(self, *keys: Key) -> None:
        self._keys = keys
        self.missed: list[str] = []

    def keys(self, _now_ms: int) -> tuple[Key, ...]:
        return self._keys

    def miss(self, key_id: str, _now_ms: int) -> None:
        self.missed.append(key_id)


def validator(*keys: Key, **settings: Any) -> SignedTokens:
    fields: dict[str, Any] = {
        "provider": FixedKeys(*(keys or (public_key("one"), public_key("two", "EC")))),
        "audiences": frozenset({AUDIENCE, "other"}),
        "issuer": ISSUER,
        "clock_skew_ms": 0,
        "scope_claim": "scope",
        "subject_claim": "sub",
    }
    return SignedTokens(**(fields | settings))


@pytest.mark.parametrize(
    ("key_id", "algorithm"),
    [("one", "RS256"), ("one", "RS384"), ("one", "RS512"), ("one", "PS256"), ("two", "ES256")],
)
def test_a_token_that_the_provider_signed_names_the_principal(key_id: str, algorithm: str) -> None:
    token = signed(CLAIMS, key_id, algorithm)
    assert validator().validate(token, NOW_MS) == Token("alice", (NOW_S + 60) * 1000)


def test_a_token_without_a_key_id_is_checked_with_the_first_key_of_its_type() -> None:
    token = signed(CLAIMS, "two", "ES256", kid=None)
    assert validator().validate(token, NOW_MS).subject == "alice"


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": NOW_S},
        {"exp": None},
        {"exp": -1},
        {"exp": "soon"},
        {"iat": None},
        {"iat": NOW_S + 61},
        {"nbf": NOW_S + 1},
        {"nbf": NOW_S + 61},
        {"iss": "https://another.test"},
        {"iss": None},
        {"aud": "nobody"},
        {"aud": None},
        {"aud": [7]},
        {"aud": 7},
        {"sub": ""},
        {"sub": None},
        {"scope": ["read", "read"]},
    ],
)
def test_a_token_with_a_bad_claim_is_invalid(changed: Any) -> None:
    claims = {name: value for name, value in {**CLAIMS, **changed}.items() if value is not None}
    if "sub" in changed and changed["sub"] is not None:
        claims["sub"] = changed["sub"]
    with pytest.raises(TokenError):
        validator().validate(signed(claims), NOW_MS)


@pytest.mark.parametrize("changed", [{"aud": ["nobody", "other"]}, {"iat": NOW_S - 9}, {"nbf": 0}])
def test_a_token_with_other_good_claims_is_valid(changed: Any) -> None:
    assert validator().validate(signed({**CLAIMS, **changed}), NOW_MS).subject == "alice"


def test_the_clock_skew_delays_the_end_of_a_token() -> None:
    token = signed({**CLAIMS, "exp": NOW_S})
    lenient = validator(clock_skew_ms=30_000)
    assert lenient.validate(token, NOW_MS + 29_999).subject == "alice"
    with pytest.raises(TokenError):
        lenient.validate(token, NOW_MS + 30_000)


def test_any_issuer_and_audience_may_be_allowed() -> None:
    lenient = validator(audiences=frozenset(), issuer=None)
    token = signed({"sub": "alice", "exp": NOW_S + 1, "iat": 0})
    assert lenient.validate(token, NOW_MS).subject == "alice"


def test_another_claim_may_name_the_principal() -> None:
    token = signed({**CLAIMS, "preferred_username": " bob "})
    assert validator(subject_claim="preferred_username").validate(token, NOW_MS).subject == "bob"


def test_a_token_of_another_key_is_invalid() -> None:
    forged = signed(CLAIMS, "three", kid="one")
    with pytest.raises(TokenError):
        validator().validate(forged, NOW_MS)


def test_a_changed_token_is_invalid() -> None:
    header, _claims, signature = signed(CLAIMS).split(".")
    with pytest.raises(TokenError):
        validator().validate(f"{header}.{encoded({**CLAIMS, 'sub': 'root'})}.{signature}", NOW_MS)


def test_a_token_is_not_verified_with_a_public_key_as_a_secret() -> None:
    with pytest.raises(TokenError):
        validator().validate(jwt.encode(CLAIMS, b"x" * 32, "HS256", {"kid": "one"}), NOW_MS)


def test_an_unsecured_token_is_invalid() -> None:
    token = f"{encoded({'alg': 'none', 'kid': 'one'})}.{encoded(CLAIMS)}.c2ln"
    with pytest.raises(TokenError, match="not signed"):
        validator().validate(token, NOW_MS)


def test_a_token_with_critical_headers_is_invalid() -> None:
    with pytest.raises(TokenError, match="critical"):
        validator().validate(signed(CLAIMS, crit=["exp"]), NOW_MS)


def test_a_short_key_is_refused() -> None:
    short = public_key("short", bits=1024)
    with pytest.raises(TokenError, match="too short"):
        validator(short).validate(signed(CLAIMS, "short", bits=1024), NOW_MS)


@pytest.mark.parametrize(("algorithm", "byte_count"), [("HS256", 31), ("HS512", 63)])
def test_a_short_secret_is_refused(algorithm: str, byte_count: int) -> None:
    text = base64.urlsafe_b64encode(b"x" * byte_count).decode().rstrip("=")
    key = {"kty": "oct", "kid": "one", "k": text}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of short keys
        token = jwt.encode(CLAIMS, b"x" * byte_count, algorithm, {"kid": "one"})
    with pytest.raises(TokenError, match="too short"):
        validator(key).validate(token, NOW_MS)


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        ({"kty": "oct"}, "HS256"),
        ({"kty": "oct", "k": 7}, "HS256"),
        ({"kty": "RSA"}, "RS256"),
        ({"kty": "RSA", "n": 7, "e": "AQAB"}, "RS256"),
        ({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}, "ES256"),
        ({"kty": "OKP", "crv": "Ed25519", "x": 7}, "EdDSA"),
    ],
)
def test_a_token_with_a_malformed_key_of_the_provider_is_invalid(key: Key, algorithm: str) -> None:
    token = f"{encoded({'alg': algorithm})}.{encoded(CLAIMS)}.c2ln"
    with pytest.raises(TokenError, match="not valid"):
        validator(key).validate(token, NOW_MS)


@pytest.mark.parametrize("fields", [{"use": "enc"}, {"alg": "RS512"}, {"kty": "EC"}])
def test_a_key_for_something_else_is_not_used(fields: Any) -> None:
    key = {**public_key("one"), **fields}
    with pytest.raises(TokenError, match="no key"):
        validator(key).validate(signed(CLAIMS), NOW_MS)


def test_an_unknown_key_is_asked_for() -> None:
    tokens = validator()
    with pytest.raises(TokenError, match="no key"):
        tokens.validate(signed(CLAIMS, "three"), NOW_MS)
    assert isinstance(tokens.provider, FixedKeys)
    assert tokens.provider.missed == ["three"]


@given(st.text(alphabet="ab.-_=e0yJ", max_size=40) | st.text(max_size=20))
def test_any_text_raises_no_other_error(text: str) -> None:
    with pytest.raises(TokenError):
        validator().validate(text, NOW_MS)


@given(st.dictionaries(st.sampled_from(["alg", "kid", "crit"]), st.text() | st.integers()))
def test_any_header_raises_no_other_error(header: Any) -> None:
    with pytest.raises(TokenError):
        validator().validate(f"{encoded(header)}.{encoded(CLAIMS)}.c2ln", NOW_MS)
