"""CreateDelegationToken without tokens."""

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.handlers.token_requests import ERRORS, ask_for_tokens


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(("principal", "expected"), ERRORS)
def test_there_are_no_tokens(version: int, principal: str | None, expected: ErrorCode) -> None:
    request = messages.CreateDelegationTokenRequest(
        version=version,
        renewers=[],
        max_lifetime_ms=-1,
        owner_principal_type=None,
        owner_principal_name=None,
    )
    response = ask_for_tokens(request, version, principal)
    assert response.error_code == expected
    assert (response.principal_type, response.principal_name) == ("User", principal or "ANONYMOUS")
    assert (response.token_id, response.hmac) == ("", b"")
    assert response.expiry_timestamp_ms == (0 if principal else -1)


def test_the_owner_of_a_token_may_be_another_user() -> None:
    request = messages.CreateDelegationTokenRequest(
        version=3,
        renewers=[],
        max_lifetime_ms=-1,
        owner_principal_type="User",
        owner_principal_name="bob",
    )
    response = ask_for_tokens(request, 3, "alice")
    assert (response.principal_name, response.token_requester_principal_name) == ("bob", "alice")


def test_only_users_may_renew_tokens() -> None:
    renewer = messages.CreateDelegationTokenRequest.CreatableRenewers
    request = messages.CreateDelegationTokenRequest(
        version=2,
        renewers=[renewer(principal_type="Group", principal_name="g")],
        max_lifetime_ms=-1,
    )
    response = ask_for_tokens(request, 2, "alice")
    assert response.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
