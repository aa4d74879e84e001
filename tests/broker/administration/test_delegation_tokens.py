"""Connections that may ask for delegation tokens."""

import pytest

from broker.administration.delegation_tokens import may_ask, refusal_of, requester_of
from broker.request.session import Session
from broker.security.delegation_tokens import DelegationTokens, Principal
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import make_context


def make_tokens(secret_key: str | None) -> DelegationTokens:
    return DelegationTokens(
        secret_key=secret_key, lifetime_ms=1, renew_period_ms=1, new_token_id=lambda: "token"
    )


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (Session(), False),
        (Session("SSL", principal="CN=client"), True),
        (Session("SASL", is_sasl=True, principal="alice"), True),
    ],
)
def test_only_authenticated_connections_may_ask(session: Session, *, expected: bool) -> None:
    context = make_context(
        ApiKey.RENEW_DELEGATION_TOKEN, 1, session=session, principal=session.principal
    )
    assert may_ask(context) == expected
    not_allowed = (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
    disabled = (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0)
    assert refusal_of(context, make_tokens(None)) == (disabled if expected else not_allowed)
    assert refusal_of(context, make_tokens("key")) == (None if expected else not_allowed)


def test_a_connection_that_used_a_token_may_not_ask_for_tokens() -> None:
    session = Session("SASL", is_sasl=True)
    session.authenticate("alice", None, by_delegation_token=True)
    context = make_context(
        ApiKey.RENEW_DELEGATION_TOKEN, 1, session=session, principal=session.principal
    )
    assert requester_of(context) == Principal("User", "alice")
    assert not may_ask(context)
    session.authenticate("alice", None)
    assert may_ask(context)
