"""CreateDelegationToken."""

import hmac

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import AUTHORIZER, allow, make_acl_cluster
from tests.broker.cluster_builder import NOW_MS
from tests.broker.handlers.token_requests import (
    ERRORS,
    ask_for_tokens,
    cluster_with_tokens,
    create_token,
)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(("principal", "expected"), ERRORS)
def test_there_are_no_tokens_without_a_secret_key(
    version: int, principal: str | None, expected: ErrorCode
) -> None:
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


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_token_has_its_times_and_its_hmac(version: int) -> None:
    cluster = cluster_with_tokens()
    created = create_token(cluster, version=version)
    assert created.error_code == ErrorCode.NONE
    assert created.principal_name == "alice"
    assert created.issue_timestamp_ms == NOW_MS
    assert created.expiry_timestamp_ms == NOW_MS + 3000
    assert created.max_timestamp_ms == NOW_MS + 10_000
    assert created.hmac == hmac.digest(b"key", created.token_id.encode(), "sha512")
    assert len(created.token_id) == 22
    assert cluster.delegation_tokens.find(created.token_id) is not None


def test_a_refused_request_creates_no_token() -> None:
    cluster = cluster_with_tokens()
    renewer = messages.CreateDelegationTokenRequest.CreatableRenewers
    request = messages.CreateDelegationTokenRequest(
        version=1,
        renewers=[renewer(principal_type="Group", principal_name="g")],
        max_lifetime_ms=-1,
    )
    response = ask_for_tokens(request, 1, "alice", cluster)
    assert response.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    assert len(cluster.delegation_tokens) == 0


@pytest.mark.parametrize("principal", [None, "alice"])
def test_an_owner_without_a_type_gets_the_error_of_an_exception(principal: str | None) -> None:
    cluster = cluster_with_tokens()
    request = messages.CreateDelegationTokenRequest(
        version=3,
        renewers=[],
        max_lifetime_ms=-1,
        owner_principal_type=None,
        owner_principal_name="bob",
    )
    response = ask_for_tokens(request, 3, principal, cluster)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (response.principal_type, response.principal_name) == ("User", "ANONYMOUS")
    assert response.token_requester_principal_name == "ANONYMOUS"
    assert len(cluster.delegation_tokens) == 0


def test_a_token_of_another_owner_needs_create_tokens_on_that_user() -> None:
    cluster = cluster_with_tokens(**AUTHORIZER)
    denied = create_token(cluster, "alice", owner="bob")
    assert denied.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (denied.principal_name, denied.token_requester_principal_name) == ("bob", "alice")
    assert (denied.issue_timestamp_ms, denied.token_id, denied.hmac) == (-1, "", b"")
    assert len(cluster.delegation_tokens) == 0
    assert create_token(cluster, "alice", owner="alice").error_code == ErrorCode.NONE
    assert create_token(cluster, "alice").error_code == ErrorCode.NONE
    allow(cluster, "CREATE_TOKENS USER User:bob")
    assert create_token(cluster, "alice", owner="bob").error_code == ErrorCode.NONE
    assert create_token(cluster, "alice", owner="carol").error_code == denied.error_code


def test_the_denial_comes_after_that_of_the_connection_and_before_all_other_errors() -> None:
    renewer = messages.CreateDelegationTokenRequest.CreatableRenewers
    request = messages.CreateDelegationTokenRequest(
        version=3,
        renewers=[renewer(principal_type="Group", principal_name="g")],
        max_lifetime_ms=-1,
        owner_principal_type="User",
        owner_principal_name="bob",
    )
    cluster = make_acl_cluster()
    anonymous = ask_for_tokens(request, 3, None, cluster)
    assert anonymous.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    denied = ask_for_tokens(request, 3, "alice", cluster)
    assert denied.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    allow(cluster, "CREATE_TOKENS USER User:bob")
    malformed = ask_for_tokens(request, 3, "alice", cluster)
    assert malformed.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
