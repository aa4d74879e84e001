"""DescribeUserScramCredentials: mechanisms of users, without secrets."""

from typing import Any

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster

_Request = messages.DescribeUserScramCredentialsRequest


def describe(names: list[str] | None) -> list[tuple[Any, ...]]:
    cluster = make_cluster(3, **{"sasl.users": "carol:x,alice:y"})
    users = None if names is None else [_Request.UserName(name=name) for name in names]
    response = call(cluster, _Request(users=users), 0, broker_id=2)
    assert response.error_code == ErrorCode.NONE
    return [
        (
            result.user,
            result.error_code,
            [(info.mechanism, info.iterations) for info in result.credential_infos],
        )
        for result in response.results
    ]


BOTH = [(1, 4096), (2, 4096)]


@pytest.mark.parametrize("names", [None, []])
def test_without_names_all_users_are_described(names: list[str] | None) -> None:
    assert describe(names) == [
        ("carol", ErrorCode.NONE, BOTH),
        ("alice", ErrorCode.NONE, BOTH),
    ]


def test_each_user_has_its_own_result() -> None:
    assert describe(["carol", "bob", "alice", "alice"]) == [
        ("carol", ErrorCode.NONE, BOTH),
        ("bob", ErrorCode.RESOURCE_NOT_FOUND, []),
        ("alice", ErrorCode.DUPLICATE_RESOURCE, []),
    ]
