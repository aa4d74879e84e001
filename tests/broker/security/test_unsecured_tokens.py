"""Options of the login module for unsecured tokens."""

from typing import Any

import pytest

from broker.security.tokens import TokenError
from broker.security.unsecured_tokens import UnsecuredTokens
from tests.broker.security.sasl_messages import encoded

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000


def token(**claims: Any) -> str:
    all_claims = {"sub": "alice", "exp": NOW_S + 60, **claims}
    return f"{encoded({'alg': 'none'})}.{encoded(all_claims)}."


def test_another_claim_may_name_the_principal() -> None:
    tokens = UnsecuredTokens({"unsecuredValidatorPrincipalClaimName": "login"})
    assert tokens.validate(token(login="bob"), NOW_MS).subject == "bob"
    with pytest.raises(TokenError):
        tokens.validate(token(), NOW_MS)


@pytest.mark.parametrize("scopes", ["write", ["read"], [], 7])
def test_a_token_without_a_required_scope_is_refused_with_it(scopes: Any) -> None:
    options = {
        "unsecuredValidatorRequiredScope": " read write ",
        "unsecuredValidatorScopeClaimName": "scp",
    }
    tokens = UnsecuredTokens(options)
    assert tokens.validate(token(scp=["write", "read", "x"]), NOW_MS).subject == "alice"
    with pytest.raises(TokenError) as found:
        tokens.validate(token(scp=scopes), NOW_MS)
    assert found.value.scope == "[read, write]"


def test_the_clock_skew_concerns_both_times() -> None:
    tokens = UnsecuredTokens({"unsecuredValidatorAllowableClockSkewMs": "5000"})
    assert tokens.validate(token(exp=NOW_S - 4, iat=NOW_S - 9), NOW_MS).subject == "alice"
    assert tokens.validate(token(iat=NOW_S + 5), NOW_MS).subject == "alice"
    for claims in ({"exp": NOW_S - 5}, {"iat": NOW_S + 6}):
        with pytest.raises(TokenError):
            tokens.validate(token(**claims), NOW_MS)


def test_a_token_that_expired_before_it_was_issued_is_refused() -> None:
    tokens = UnsecuredTokens({"unsecuredValidatorAllowableClockSkewMs": "500000"})
    with pytest.raises(TokenError, match="before it was issued"):
        tokens.validate(token(exp=NOW_S + 1, iat=NOW_S + 2), NOW_MS)


@pytest.mark.parametrize(
    "options",
    [
        {"unsecuredValidatorAllowableClockSkewMs": "-1"},
        {"unsecuredValidatorAllowableClockSkewMs": "soon"},
        {"unsecuredValidatorRequiredScope": 'a"b'},
    ],
)
def test_a_malformed_option_is_an_error(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"unsecured|skew|scope"):
        UnsecuredTokens(options)
