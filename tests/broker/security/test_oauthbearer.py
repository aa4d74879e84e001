"""OAUTHBEARER: the claims and the expiry of an unsecured token."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.oauthbearer import OauthBearerExchange
from broker.security.sasl import Authenticated, Challenge, Refused
from tests.broker.security.sasl_messages import initial

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000


def test_the_subject_of_a_token_is_the_principal_until_it_expires() -> None:
    claims = {"sub": "alice", "exp": NOW_S + 60, "iat": NOW_S}
    assert OauthBearerExchange().step(initial(claims, authzid="alice"), NOW_MS) == Authenticated(
        "alice", expires_at_ms=NOW_MS + 60_000
    )


@pytest.mark.parametrize("expires_s", [2**63, 1e300])
def test_a_token_expires_in_the_range_of_the_protocol(expires_s: float) -> None:
    outcome = OauthBearerExchange().step(initial({"sub": "alice", "exp": expires_s}), NOW_MS)
    assert outcome == Authenticated("alice", expires_at_ms=2**63 - 1)


@pytest.mark.parametrize(
    "token",
    [
        initial({"sub": "alice", "exp": NOW_S}),
        initial({"sub": "alice"}),
        initial({"sub": "alice", "exp": "soon"}),
        initial({"sub": "alice", "exp": True}),
        initial({"sub": "alice", "exp": float("inf")}),
        initial({"sub": "", "exp": NOW_S + 1}),
        initial({"sub": 7, "exp": NOW_S + 1}),
        initial({"sub": "a\ud800", "exp": NOW_S + 1}),
        initial({"sub": "alice", "exp": -1e300}),
        initial({"exp": NOW_S + 1}),
        initial([]),
        initial({"sub": "alice", "exp": NOW_S + 60, "iat": NOW_S + 1}),
        initial({"sub": "alice", "exp": NOW_S + 60}, header={"alg": "HS256"}),
        initial({"sub": "alice", "exp": NOW_S + 60}, signature="c2ln"),
        b"n,,\x01auth=Bearer a.b\x01\x01",
        b"n,,\x01auth=Bearer !.~.\x01\x01".replace(b"!", b"%"),
    ],
)
def test_an_invalid_token_gets_an_error_status_and_is_then_refused(token: bytes) -> None:
    exchange = OauthBearerExchange()
    outcome = exchange.step(token, NOW_MS)
    if isinstance(outcome, Challenge):
        assert json.loads(outcome.token) == {"status": "invalid_token"}
        outcome = exchange.step(b"\x01", NOW_MS)
    assert isinstance(outcome, Refused)


def test_another_authorization_id_is_refused() -> None:
    token = initial({"sub": "alice", "exp": NOW_S + 60}, authzid="bob")
    assert isinstance(OauthBearerExchange().step(token, NOW_MS), Refused)


@given(st.binary())
def test_any_bytes_raise_no_exception(token: bytes) -> None:
    assert isinstance(OauthBearerExchange().step(token, NOW_MS), Refused)
