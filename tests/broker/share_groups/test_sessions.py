"""Share sessions: epochs, partitions, the limit."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from broker.errors import Refusal
from broker.share_groups.sessions import (
    CHANGING_EPOCH,
    EPOCH_MAX,
    ShareSession,
    ShareSessionCache,
    ShareSessionKey,
    TopicIdPartition,
    next_epoch,
)
from protocol.errors import ErrorCode

KEY = ShareSessionKey("g", "m")
ONE, TWO = (TopicIdPartition(UUID(int=1), index) for index in range(2))


def opened(
    cache: ShareSessionCache, key: ShareSessionKey = KEY, connection: int = 1
) -> ShareSession:
    session = cache.open(key, [ONE], connection)
    assert isinstance(session, ShareSession)
    return session


def test_each_request_has_the_next_epoch() -> None:
    cache = ShareSessionCache(10)
    opened(cache)

    assert isinstance(cache.resume(KEY, 1), ShareSession)
    assert isinstance(cache.resume(KEY, 2), ShareSession)
    refused = cache.resume(KEY, 2)
    assert isinstance(refused, Refusal)
    assert refused.error_code is ErrorCode.INVALID_SHARE_SESSION_EPOCH


@pytest.mark.parametrize("epoch", [1, 2, CHANGING_EPOCH])
def test_no_request_comes_in_while_another_one_changes_the_session(epoch: int) -> None:
    cache = ShareSessionCache(10)
    opened(cache)
    found: list[object] = []

    def forgotten() -> Iterator[TopicIdPartition]:
        found.append(cache.resume(KEY, epoch))  # during a pause
        yield ONE

    session = cache.resume(KEY, 1, (), forgotten())

    assert isinstance(session, ShareSession)
    assert (session.epoch, session.partitions) == (2, {})
    (refused,) = found
    assert isinstance(refused, Refusal)
    assert refused.error_code is ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_the_end_of_an_old_session_leaves_the_new_one_of_the_member() -> None:
    cache = ShareSessionCache(10)
    old = opened(cache)
    new = opened(cache)

    assert not cache.close(old)
    assert cache.get(KEY) is new
    assert cache.close(new)


def test_the_epoch_after_the_largest_is_1() -> None:
    assert (next_epoch(0), next_epoch(EPOCH_MAX)) == (1, 1)


def test_a_request_without_a_session_is_refused() -> None:
    refused = ShareSessionCache(10).resume(KEY, 1)

    assert isinstance(refused, Refusal)
    assert refused.error_code is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_a_member_that_opens_again_gets_a_new_session() -> None:
    cache = ShareSessionCache(1)
    opened(cache)
    cache.resume(KEY, 1)

    assert opened(cache).epoch == 1
    assert len(cache) == 1


def test_the_number_of_sessions_is_limited() -> None:
    cache = ShareSessionCache(1)
    opened(cache)

    refused = cache.open(ShareSessionKey("g", "other"), [], 2)

    assert isinstance(refused, Refusal)
    assert refused.error_code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    first = cache.get(KEY)
    assert first is not None
    assert cache.close(first)
    assert isinstance(cache.open(ShareSessionKey("g", "other"), [], 2), ShareSession)


def test_a_response_has_partitions_that_are_new_or_have_records_or_an_error() -> None:
    session = opened(ShareSessionCache(10))
    session.update([TWO], [])

    def is_sent(partition: TopicIdPartition, error: int = 0, *, has_records: bool = False) -> bool:
        return session.take_into_response(partition, ErrorCode(error), has_records=has_records)

    assert [is_sent(ONE), is_sent(TWO), is_sent(TWO)] == [False, True, False]
    assert is_sent(ONE, has_records=True)
    assert list(session.partitions) == [TWO, ONE]
    assert is_sent(TWO, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    # After an error the partition is sent once more without one.
    assert is_sent(TWO)
    assert not is_sent(TWO)


def test_forgotten_partitions_leave_the_session() -> None:
    session = opened(ShareSessionCache(10))

    session.update([TWO], [ONE])

    assert list(session.partitions) == [TWO]


@pytest.mark.parametrize("connection_id", [1, 2])
def test_the_member_of_a_connection_is_known_once(connection_id: int) -> None:
    cache = ShareSessionCache(10)
    opened(cache, connection=1)

    assert cache.disconnect(connection_id) == (KEY if connection_id == 1 else None)
    assert cache.disconnect(connection_id) is None
    assert cache.member_count("g") == 1
    cache.clear()
    assert cache.member_count("g") == 0
