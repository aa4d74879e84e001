"""ExpireDelegationToken without tokens."""

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.handlers.token_requests import ERRORS, ask_for_tokens


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("principal", "expected"), ERRORS)
def test_there_are_no_tokens(version: int, principal: str | None, expected: ErrorCode) -> None:
    request = messages.ExpireDelegationTokenRequest(
        version=version, hmac=b"x", expiry_time_period_ms=1
    )
    response = ask_for_tokens(request, version, principal)
    assert response.error_code == expected
    assert response.expiry_timestamp_ms == (0 if principal else -1)
