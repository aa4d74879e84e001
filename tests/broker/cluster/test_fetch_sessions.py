"""The cache of fetch sessions: ids, epochs, and who makes room for whom."""

from itertools import count
from typing import Any

import pytest

from broker.cluster import fetch_sessions
from broker.cluster.fetch_sessions import (
    CHANGING_EPOCH,
    EPOCH_MAX,
    EVICTION_MS,
    NO_SESSION_ID,
    SHARD_COUNT,
    SHARD_ID_RANGE,
    CachedPartition,
    FetchPartitionData,
    FetchSession,
    FetchSessionCache,
    PartitionKey,
    SentPartition,
    must_send,
    next_epoch,
)
from protocol.errors import ErrorCode
from tests.broker.interleaving import at_pause, once, run_with_pauses


def make_cache(slot_count: int = SHARD_COUNT) -> FetchSessionCache:
    numbers = count(1)
    return FetchSessionCache(slot_count, lambda: next(numbers))


def sent(partition_count: int = 1) -> list[SentPartition]:
    return [
        (CachedPartition("t", None, index, 0, 100), FetchPartitionData(high_watermark=0))
        for index in range(partition_count)
    ]


def requested(partition_count: int) -> dict[PartitionKey, CachedPartition]:
    return {cached.key: cached for cached, _data in sent(partition_count)}


def create(
    cache: FetchSessionCache, now_ms: int, size: int = 1, *, is_privileged: bool = False
) -> int:
    return cache.create(sent(size), now_ms, is_privileged=is_privileged, uses_topic_ids=False)


def fill(cache: FetchSessionCache, now_ms: int, size: int = 1, **kind: bool) -> list[int]:
    """Give every shard of a cache of eight slots its one session."""
    return [create(cache, now_ms, size, **kind) for _ in range(SHARD_COUNT)]


def use(cache: FetchSessionCache, session_id: int, now_ms: int) -> None:
    session = cache.get(session_id)
    assert session is not None
    result = cache.resume(session_id, session.epoch, {}, [], now_ms, uses_topic_ids=False)
    assert result is session


def measured(cache: FetchSessionCache) -> list[float]:
    return [measurement.value for measurement in cache.measurements(0)]


def test_the_epoch_after_the_largest_is_one() -> None:
    assert [next_epoch(epoch) for epoch in (0, 1, EPOCH_MAX)] == [1, 2, 1]


def test_sessions_go_to_the_shards_in_turn_and_each_has_its_range_of_ids() -> None:
    ids = fill(make_cache(), 0)
    assert [session_id // SHARD_ID_RANGE for session_id in ids] == list(range(SHARD_COUNT))
    assert all(0 < session_id < 1 << 31 for session_id in ids)


def test_an_id_that_is_taken_is_not_given_again() -> None:
    numbers = iter([5] * SHARD_COUNT + [5, 6])
    cache = FetchSessionCache(2 * SHARD_COUNT, lambda: next(numbers))
    fill(cache, 0)
    first, second = create(cache, 0), 1 + 5
    assert (first, second) == (7, 6)


@pytest.mark.parametrize("session_id", [1, -1, (1 << 31) - 1, -(1 << 31)])
def test_any_id_can_be_looked_up(session_id: int) -> None:
    assert make_cache().get(session_id) is None


@pytest.mark.parametrize("slot_count", [0, SHARD_COUNT - 1])
def test_a_shard_without_slots_has_no_session(slot_count: int) -> None:
    assert create(make_cache(slot_count), 0) == NO_SESSION_ID


@pytest.mark.parametrize(
    ("passed_ms", "is_evicted"), [(EVICTION_MS, False), (EVICTION_MS + 1, True)]
)
def test_an_unused_session_makes_room(passed_ms: int, is_evicted: bool) -> None:
    cache = make_cache()
    first, *_ = fill(cache, 0)
    assert (create(cache, passed_ms) != NO_SESSION_ID) is is_evicted
    assert (cache.get(first) is None) is is_evicted
    assert measured(cache) == [SHARD_COUNT, SHARD_COUNT, int(is_evicted)]


@pytest.mark.parametrize(("size", "is_evicted"), [(1, False), (2, False), (3, True)])
def test_an_old_session_makes_room_for_a_larger_one(size: int, is_evicted: bool) -> None:
    cache = make_cache()
    first, *_ = fill(cache, 0, 2)
    use(cache, first, EVICTION_MS)
    use(cache, first, EVICTION_MS + 1)
    assert (create(cache, EVICTION_MS + 1, size) != NO_SESSION_ID) is is_evicted
    assert (cache.get(first) is None) is is_evicted


def test_a_young_session_makes_no_room_for_a_larger_one() -> None:
    cache = make_cache()
    first, *_ = fill(cache, 0)
    use(cache, first, EVICTION_MS)
    assert create(cache, EVICTION_MS + 1, 100) == NO_SESSION_ID


def test_a_follower_evicts_any_consumer_and_no_consumer_evicts_a_follower() -> None:
    cache = make_cache()
    first, *_ = fill(cache, 0, 5)
    follower = create(cache, 1, 1, is_privileged=True)
    assert follower != NO_SESSION_ID
    assert cache.get(first) is None
    for _ in range(SHARD_COUNT - 1):
        create(cache, 1, 1, is_privileged=True)

    use(cache, follower, EVICTION_MS + 2)
    assert create(cache, EVICTION_MS + 2, 9) == NO_SESSION_ID
    assert cache.get(follower) is not None


def test_sessions_and_partitions_are_counted() -> None:
    cache = make_cache(100)
    first, second = create(cache, 0, 2), create(cache, 0, 3)
    assert measured(cache) == [2, 5, 0]
    added = CachedPartition("u", None, 0, 0, 100)
    cache.resume(first, 1, {added.key: added}, [("t", 0), ("t", 9)], 0, uses_topic_ids=False)
    cache.remove(second)
    cache.remove(second)
    assert measured(cache) == [1, 2, 0]
    cache.clear()
    assert measured(cache) == [0, 0, 0]


def test_the_partitions_of_all_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "PARTITIONS_MAX", 3)
    cache = make_cache(100)
    first = create(cache, 0, 2)
    assert create(cache, 0, 2) == NO_SESSION_ID
    new = [CachedPartition("u", None, index, 0, 100) for index in range(2)]
    result = cache.resume(
        first, 1, {partition.key: partition for partition in new}, [], 0, uses_topic_ids=False
    )
    assert result is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert measured(cache) == [0, 0, 0]


def test_a_request_changes_what_is_asked_and_keeps_the_place() -> None:
    session = FetchSession(1, is_privileged=False, uses_topic_ids=False, created_ms=0)
    first, second = (CachedPartition("t", None, index, 0, 100) for index in (0, 1))
    session.update({first.key: first, second.key: second}, [])
    session.update({first.key: CachedPartition("t", None, 0, 7, 50, 3, 2)}, [])
    assert list(session.partitions.values()) == [first, second]
    assert (first.fetch_offset, first.max_bytes) == (7, 50)
    assert (first.current_leader_epoch, first.last_fetched_epoch) == (3, 2)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (FetchPartitionData(ErrorCode.NONE, 5, 5, 1), False),
        (FetchPartitionData(ErrorCode.NONE, 5, 4, 1), False),
        (FetchPartitionData(ErrorCode.NONE, 6, 5, 1), True),
        (FetchPartitionData(ErrorCode.NONE, 5, 5, 2), True),
        (FetchPartitionData(ErrorCode.NONE, 5, 5, 1, [b"x"]), True),
        (FetchPartitionData(ErrorCode.NONE, 5, 5, 1, (), 2), True),
        (FetchPartitionData(ErrorCode.NONE, 5, 5, 1, (), -1, (0, 3)), True),
        (FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE, 5, 5, 1), True),
    ],
)
def test_what_an_incremental_response_includes(data: FetchPartitionData, expected: bool) -> None:
    partition = CachedPartition("t", None, 0, 5, 100)
    partition.high_watermark, partition.log_start_offset = 5, 1
    assert must_send(partition, data) is expected


def test_a_request_with_the_next_epoch_waits_for_no_change_of_the_session_and_is_refused() -> None:
    """Else the offsets of the older request would replace those of the newer one."""
    cache = make_cache()
    session_id = create(cache, 0)
    newer = requested(100)
    for partition in newer.values():
        partition.fetch_offset = 9
    others: list[object] = []

    def resume(epoch: int, partitions: Any) -> object:
        return cache.resume(session_id, epoch, partitions, [], 0, uses_topic_ids=False)

    session = run_with_pauses(
        lambda: resume(1, requested(100)),
        at_pause(2, lambda: others.extend(resume(epoch, newer) for epoch in (2, CHANGING_EPOCH))),
    )

    assert isinstance(session, FetchSession)
    assert others == [ErrorCode.INVALID_FETCH_SESSION_EPOCH] * 2
    assert session.epoch == 2
    assert {partition.fetch_offset for partition in session.partitions.values()} == {0}


def test_two_requests_with_one_epoch_are_not_both_taken_into_the_session() -> None:
    cache = make_cache()
    session_id = create(cache, 0)
    many = requested(100)
    others: list[object] = []

    def resume() -> object:
        return cache.resume(session_id, 1, many, [], 0, uses_topic_ids=False)

    result = run_with_pauses(resume, once(lambda: others.append(resume())))

    assert result is cache.get(session_id)
    assert others == [ErrorCode.INVALID_FETCH_SESSION_EPOCH]


def test_sessions_that_are_created_during_a_pause_take_their_slots() -> None:
    cache = make_cache()
    others = [[create(cache, 0) for _ in range(SHARD_COUNT)]]

    def create_others() -> None:
        others.append([create(cache, EVICTION_MS + 1) for _ in range(SHARD_COUNT)])

    late = run_with_pauses(lambda: create(cache, EVICTION_MS + 1, 100), once(create_others))

    assert [cache.get(session_id) for session_id in others[0]] == [None] * SHARD_COUNT
    assert late == NO_SESSION_ID
    assert measured(cache)[:2] == [SHARD_COUNT, SHARD_COUNT]


def test_a_session_that_is_removed_during_a_pause_is_not_counted() -> None:
    cache = make_cache()
    session_id = create(cache, 0)
    many = requested(100)

    result = run_with_pauses(
        lambda: cache.resume(session_id, 1, many, [], 0, uses_topic_ids=False),
        lambda: cache.remove(session_id),
    )

    assert result is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert measured(cache)[:2] == [0, 0]


def test_a_partition_that_is_forgotten_during_a_pause_stays_forgotten() -> None:
    session = FetchSession(1, is_privileged=False, uses_topic_ids=False, created_ms=0)
    partitions = [CachedPartition("t", None, index, 0, 100) for index in range(100)]
    session.update({partition.key: partition for partition in partitions}, [])
    data = FetchPartitionData(batches=[b"r"])

    run_with_pauses(
        lambda: session.note_sent([(partition, data) for partition in partitions]),
        lambda: session.update({}, [("t", 99)]),
    )

    assert list(session.partitions) == [("t", index) for index in range(99)]
