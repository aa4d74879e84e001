"""Connections that may ask for delegation tokens."""

import pytest

from broker.administration.delegation_tokens import is_allowed, refusal_of
from broker.request.session import Session
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import make_context


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
    assert is_allowed(context) == expected
    not_allowed = (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
    disabled = (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0)
    assert refusal_of(context) == (disabled if expected else not_allowed)
