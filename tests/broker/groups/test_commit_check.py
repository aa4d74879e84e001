"""Members of the current generation commit offsets; others do so for groups without members."""

from typing import Any

import pytest

from protocol.errors import ErrorCode
from tests.broker.groups.driver import Driver


@pytest.mark.parametrize(
    ("changes", "error_code"),
    [
        ({}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "made-up", "generation_id": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "client-id9", "generation_id": -1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "a-id1", "generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "a-id1", "generation_id": -1}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "a-id1", "generation_id": 1}, ErrorCode.NONE),
    ],
)
def test_only_members_of_this_generation_commit_to_a_group_with_members(
    changes: dict[str, Any], error_code: ErrorCode
) -> None:
    driver = Driver()
    driver.stable("a")

    assert driver.commit(**changes) is error_code
    assert driver.committed() == (7 if error_code is ErrorCode.NONE else None)


def test_commits_get_rebalance_in_progress_only_before_the_assignment() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    driver.join(client_id="b")
    assert driver.commit(member_id=leader_id, generation_id=1) is ErrorCode.NONE
    driver.join(leader_id)

    error_code = driver.commit(member_id=leader_id, generation_id=2)

    assert error_code is ErrorCode.REBALANCE_IN_PROGRESS
