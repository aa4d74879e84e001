"""OAUTHBEARER: the claims and the expiry of an unsecured token."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.oauthbearer import OauthBearerExchange
from broker.security.sasl import Authenticated, Challenge, Refused
from broker.security.unsecured_tokens import UnsecuredTokens
from tests.broker.security.sasl_messages import initial

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000


def _exchange() -> OauthBearerExchange:
    return OauthBearerExchange(UnsecuredTokens())


def test_the_subject_of_a_token_is_the_principal_until_it_expires() -> None:
    claims = {"sub": "alice", "exp": NOW_S + 60, "iat": NOW_S}
    assert _exchange().step(initial(claims, authzid="alice"), NOW_MS) == Authenticated(
        "alice", expires_at_ms=NOW_MS + 60_000
    )


@pytest.mark.parametrize("expires_s", [2**63, 1e300])
def test_a_token_expires_in_the_range_of_the_protocol(expires_s: float) -> None:
    outcome = _exchange().step(initial({"sub": "alice", "exp": expires_s}), NOW_MS)
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
    exchange = _exchange()
    outcome = exchange.step(token, NOW_MS)
    if isinstance(outcome, Challenge):
        assert json.loads(outcome.token) == {"status": "invalid_token"}
        outcome = exchange.step(b"\x01", NOW_MS)
    assert isinstance(outcome, Refused)


def test_the_refusal_after_the_error_is_the_error() -> None:
    exchange = _exchange()
    assert isinstance(exchange.step(initial({"sub": "alice"}), NOW_MS), Challenge)
    assert exchange.step(b"\x01", NOW_MS) == Refused('{"status":"invalid_token"}')


def test_a_client_may_answer_an_error_with_a_better_token() -> None:
    exchange = _exchange()
    assert isinstance(exchange.step(initial({"sub": "alice"}), NOW_MS), Challenge)
    better = initial({"sub": "alice", "exp": NOW_S + 60})
    assert isinstance(exchange.step(better, NOW_MS), Authenticated)


def test_another_authorization_id_is_refused() -> None:
    token = initial({"sub": "alice", "exp": NOW_S + 60}, authzid="bob")
    assert _exchange().step(token, NOW_MS) == Refused(
        "Authentication failed: Client requested an authorization id (bob) that is different"
        " from the token's principal name (alice)"
    )


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic YQ==\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01empty=\x01\x01",
        b"y,,\x01auth=Bearer a.b.c\x01\x01",
    ],
)
def test_a_malformed_first_message_gets_no_reason(message: bytes) -> None:
    assert _exchange().step(message, NOW_MS) == Refused(None)


def test_extensions_may_come_before_the_token() -> None:
    message = initial({"sub": "alice", "exp": NOW_S + 60})
    auth = message.split(b"\x01")[1]
    reordered = b"n,,\x01traceId=1\x01" + auth + b"\x01\x01"
    assert isinstance(_exchange().step(reordered, NOW_MS), Authenticated)


@given(st.binary())
def test_any_bytes_raise_no_exception(token: bytes) -> None:
    assert isinstance(_exchange().step(token, NOW_MS), Refused)
