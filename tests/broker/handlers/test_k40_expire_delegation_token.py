"""ExpireDelegationToken."""

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.handlers.token_requests import (
    ERRORS,
    ask_for_tokens,
    cluster_with_tokens,
    create_token,
)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("principal", "expected"), ERRORS)
def test_there_are_no_tokens_without_a_secret_key(
    version: int, principal: str | None, expected: ErrorCode
) -> None:
    request = messages.ExpireDelegationTokenRequest(
        version=version, hmac=b"x", expiry_time_period_ms=1
    )
    response = ask_for_tokens(request, version, principal)
    assert response.error_code == expected
    assert response.expiry_timestamp_ms == (0 if principal else -1)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("principal", "error_code", "expiry_timestamp_ms"),
    [
        ("alice", ErrorCode.NONE, NOW_MS + 1500),
        ("carol", ErrorCode.NONE, NOW_MS + 1500),
        ("bob", ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0),
    ],
)
def test_the_owner_and_a_renewer_expire_a_token(
    version: int, principal: str, error_code: ErrorCode, expiry_timestamp_ms: int
) -> None:
    cluster = cluster_with_tokens()
    created = create_token(cluster, renewers=("carol",))
    request = messages.ExpireDelegationTokenRequest(
        version=version, hmac=created.hmac, expiry_time_period_ms=500
    )
    response = ask_for_tokens(request, version, principal, cluster, NOW_MS + 1000)
    assert (response.error_code, response.expiry_timestamp_ms) == (error_code, expiry_timestamp_ms)
