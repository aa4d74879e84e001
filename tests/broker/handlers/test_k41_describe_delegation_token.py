"""DescribeDelegationToken."""

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import AUTHORIZER, allow
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
    request = messages.DescribeDelegationTokenRequest(version=version, owners=None)
    response = ask_for_tokens(request, version, principal)
    assert response.error_code == expected
    assert response.tokens == []


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_token_is_described_with_its_hmac_and_renewers(version: int) -> None:
    cluster = cluster_with_tokens()
    created = create_token(cluster, "alice", owner="bob", renewers=("carol",))
    request = messages.DescribeDelegationTokenRequest(version=version, owners=None)
    (token,) = ask_for_tokens(request, version, "dave", cluster).tokens
    assert (token.principal_type, token.principal_name) == ("User", "bob")
    assert (token.token_id, token.hmac) == (created.token_id, created.hmac)
    assert token.issue_timestamp == NOW_MS
    assert token.expiry_timestamp == NOW_MS + 3000
    assert token.max_timestamp == NOW_MS + 10_000
    assert [renewer.principal_name for renewer in token.renewers] == ["carol"]
    if version == 3:
        assert token.token_requester_principal_name == "alice"


@pytest.mark.parametrize(
    ("owners", "expected"),
    [(["alice"], ["alice"]), (["bob", "carol"], ["bob"]), (["dave"], []), ([], [])],
)
def test_owners_select_tokens(owners: list[str], expected: list[str]) -> None:
    cluster = cluster_with_tokens()
    for name in ("alice", "bob"):
        create_token(cluster, name)
    owner = messages.DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
    request = messages.DescribeDelegationTokenRequest(
        version=3, owners=[owner(principal_type="User", principal_name=name) for name in owners]
    )
    tokens = ask_for_tokens(request, 3, "alice", cluster).tokens
    assert [token.principal_name for token in tokens] == expected


def owners_seen(cluster: Cluster, principal: str, owners: list[str] | None = None) -> list[str]:
    owner = messages.DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
    named = None
    if owners is not None:
        named = [owner(principal_type="User", principal_name=name) for name in owners]
    request = messages.DescribeDelegationTokenRequest(version=3, owners=named)
    response = ask_for_tokens(request, 3, principal, cluster)
    assert response.error_code == ErrorCode.NONE
    return [token.principal_name for token in response.tokens]


def test_tokens_of_others_need_describe_or_describe_tokens() -> None:
    cluster = cluster_with_tokens(**AUTHORIZER)
    allow(cluster, "CREATE_TOKENS USER *")
    create_token(cluster, "alice")
    create_token(cluster, "bob", renewers=("alice",))
    create_token(cluster, "alice", owner="carol")
    of_dave = create_token(cluster, "dave")
    create_token(cluster, "eve")
    assert owners_seen(cluster, "alice") == ["alice", "bob", "carol"]
    assert owners_seen(cluster, "alice", ["dave", "eve"]) == []
    allow(cluster, f"DESCRIBE DELEGATION_TOKEN {of_dave.token_id}")
    assert owners_seen(cluster, "alice") == ["alice", "bob", "carol", "dave"]
    allow(cluster, "DESCRIBE_TOKENS USER User:eve")
    assert owners_seen(cluster, "alice", ["dave", "eve"]) == ["dave", "eve"]
    assert owners_seen(cluster, "bob", ["bob"]) == ["bob"]
