"""ShareFetch on the wire: sessions and acknowledgements; `test_share_fetch` has the reads."""

import gc
from typing import Any
from uuid import UUID

import pytest

from protocol.errors import ErrorCode
from tests.broker.cluster.synthetic_topic import synthetic_log
from tests.broker.share_driver import (
    ACCEPT,
    GROUP,
    LOCK_MS,
    REJECT,
    RELEASE,
    RENEW,
    ShareDriver,
    acquired,
    part,
)


def joined(**overrides: str) -> ShareDriver:
    driver = ShareDriver(**overrides)  # type: ignore[arg-type]
    driver.join(1)
    return driver


def test_acknowledgements_come_with_the_next_fetch() -> None:
    driver = joined()
    driver.produce(b"a", b"b", b"c")
    driver.acquire(1)

    (response,) = driver.fetch(1, acknowledge=[(0, 2, [ACCEPT, RELEASE, REJECT])])

    assert part(response).acknowledge_error_code == ErrorCode.NONE
    assert acquired(response) == [(1, 1, 2)]
    assert response.acquisition_lock_timeout_ms == 30_000


@pytest.mark.parametrize(
    ("release", "message"), [("4.1", None), ("4.2", "Member is not the owner of batch record")]
)
def test_a_refused_acknowledgement_does_not_end_the_fetch(
    release: str, message: str | None
) -> None:
    driver = joined(broker_api_versions=release)
    driver.produce(b"a")
    driver.acquire(1)
    driver.produce(b"b")
    driver.acquire(2, max_records=1)

    (response,) = driver.fetch(1, acknowledge=[(1, 1, [ACCEPT])])

    assert part(response).acknowledge_error_code == ErrorCode.INVALID_RECORD_STATE
    assert part(response).acknowledge_error_message == message
    assert part(response).error_code == ErrorCode.NONE


def test_a_first_request_has_no_acknowledgements() -> None:
    (response,) = joined().fetch(1, acknowledge=[(0, 0, [ACCEPT])], epoch=0)

    assert response.error_code == ErrorCode.INVALID_REQUEST


def test_epochs_follow_each_other() -> None:
    driver = joined()
    assert driver.fetch(1, epoch=1)[0].error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert driver.fetch(1, epoch=-1)[0].error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    driver.acquire(1, epoch=0)
    driver.acquire(1)
    for epoch in (1, 5):
        (response,) = driver.fetch(1, epoch=epoch)
        assert response.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    driver.acquire(1, epoch=2)


def test_the_last_request_acknowledges_and_releases_the_rest() -> None:
    driver = joined()
    driver.produce(b"a", b"b")
    driver.acquire(1)

    (response,) = driver.fetch(1, epoch=-1, acknowledge=[(0, 0, [ACCEPT])])

    assert part(response).acknowledge_error_code == ErrorCode.NONE
    assert driver.acquire(2) == [(1, 1, 2)]


def test_partitions_are_added_to_a_session_and_forgotten() -> None:
    driver = ShareDriver(partition_count=2)
    driver.join(1)
    driver.acquire(1)
    (added,) = driver.fetch(1, partitions=[1])
    assert part(added, 1).error_code == ErrorCode.NONE
    driver.produce(b"a", partition_index=1)

    (response,) = driver.fetch(1, forget=[1])

    assert response.responses == []


def test_an_incremental_response_leaves_out_partitions_without_records() -> None:
    driver = joined()
    (full,) = driver.fetch(1)
    assert acquired(full) == []
    assert part(full).error_code == ErrorCode.NONE

    (incremental,) = driver.fetch(1)

    assert incremental.responses == []


def test_the_limit_of_sessions_is_returned_after_the_wait() -> None:
    driver = ShareDriver(group_share_max_share_sessions="1", group_share_max_size="1")
    driver.join(1)
    driver.acquire(1)

    received = driver.fetch(2, max_wait_ms=500)

    assert received == []
    driver.advance(500)
    assert received[0].error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED


def test_unknown_topics_and_partitions_have_their_errors() -> None:
    driver = joined()
    (unknown,) = driver.fetch(1, topic_id=UUID(int=99))
    assert part(unknown).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    (response,) = driver.fetch(1, epoch=0, partitions=[7])
    assert part(response, 7).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (before_4_2,) = joined(broker_api_versions="4.1").fetch(1, topic_id=UUID(int=99))
    assert before_4_2.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_later_request_makes_a_waiting_response_invalid() -> None:
    driver = joined()
    waiting = driver.fetch(1, max_wait_ms=500)
    driver.acquire(1, epoch=1)

    driver.produce(b"a")

    assert waiting[0].error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_a_client_beyond_its_quota_gets_nothing_and_its_session_continues() -> None:
    driver = joined(client_quotas="user=ANONYMOUS,consumer_byte_rate=100")
    driver.produce(b"x" * 20_000)

    assert driver.acquire(1, epoch=0) == []

    driver.acquire(1, epoch=1)


def test_a_broker_that_stops_ends_the_wait() -> None:
    driver = joined()
    received = driver.fetch(1, max_wait_ms=500)
    driver.cluster.share.leaders[1].clear(driver.now_ms)
    driver.advance(0)

    assert len(received) == 1


def test_share_groups_may_be_off() -> None:
    driver = ShareDriver(cluster_features="share.version=0")

    (response,) = driver.fetch(1, group_id=GROUP)

    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.slow
def test_a_fetch_that_waited_leaves_no_work_for_the_garbage_collector() -> None:
    driver = joined()
    driver.acquire(1)

    def wait(epoch: int) -> None:
        driver.fetch(1, epoch=epoch, max_wait_ms=500)
        driver.advance(500)

    wait(1)
    gc.collect()
    gc.disable()
    try:
        wait(2)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_record_limit_is_never_exceeded() -> None:
    driver = joined()
    driver.version = 2
    driver.produce(*[b"v"] * 5)

    assert driver.acquire(1, max_records=2, share_acquire_mode=1) == [(0, 1, 1)]
    assert driver.acquire(2, max_records=2) == [(2, 4, 1)]


def test_a_synthetic_log_is_read_as_any_other() -> None:
    end = 1 << 62
    driver = ShareDriver()
    driver.topic.partitions[0].log = synthetic_log(log_start_offset=end - 25, batch_records=10)
    driver.join(1)

    ranges = driver.acquire(1)

    offsets = [offset for first, last, _ in ranges for offset in range(first, last + 1)]
    assert offsets == list(range(end - 25, end))
    assert {count for _, _, count in ranges} == {1}
    driver.log.advance_start(end)
    driver.advance(40_000)
    assert driver.acquire(1) == []


def test_an_unknown_acquire_mode_is_an_error() -> None:
    driver = joined()
    driver.version = 2

    (response,) = driver.fetch(1, share_acquire_mode=2)

    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_fetch_that_renews_locks_fetches_nothing() -> None:
    driver = joined()
    driver.version = 2
    driver.produce(b"a", b"b")
    driver.acquire(1)
    driver.produce(b"c")
    driver.advance(LOCK_MS - 1)
    zeros: dict[str, Any] = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "is_renew_ack": True}

    (response,) = driver.fetch(1, acknowledge=[(0, 0, [RENEW])], **zeros)

    assert (acquired(response), part(response).acknowledge_error_code) == ([], ErrorCode.NONE)
    driver.advance(1)
    assert driver.acquire(2) == [(1, 1, 2), (2, 2, 1)]
    driver.advance(LOCK_MS)
    assert driver.acquire(2)[0] == (0, 0, 2)


@pytest.mark.parametrize("name", ["max_bytes", "min_bytes", "max_records", "max_wait_ms"])
def test_a_fetch_that_renews_locks_must_not_ask_for_records(name: str) -> None:
    driver = joined()
    driver.version = 2
    driver.fetch(1)
    zeros: dict[str, Any] = dict.fromkeys(("max_bytes", "min_bytes", "max_records"), 0)

    (response,) = driver.fetch(1, is_renew_ack=True, **(zeros | {name: 5}))

    assert response.error_code == ErrorCode.INVALID_REQUEST


def test_records_that_were_delivered_often_come_alone_since_kafka_4_2() -> None:
    driver = joined(broker_api_versions="4.2")
    driver.produce(*[b"v"] * 8)
    found = []
    while acquired_now := driver.acquire(1, max_records=500):
        found.append(acquired_now)
        for first, last, _count in acquired_now:
            driver.acknowledge(1, (first, last, [RELEASE]))
        if len(found) > 6:
            break

    assert found[:5] == [[(0, 7, 1)], [(0, 7, 2)], [(0, 7, 3)], [(0, 3, 4)], [(0, 0, 5)]]


def test_since_kafka_4_2_an_unknown_topic_is_the_error_of_its_partitions() -> None:
    driver = joined(broker_api_versions="4.2")

    (response,) = driver.fetch(1, topic_id=UUID(int=99))

    assert (response.error_code, part(response).error_code) == (
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_ID,
    )


def test_an_acquire_mode_is_read_only_for_partitions_that_exist() -> None:
    driver = joined()
    driver.version = 2

    (response,) = driver.fetch(1, topic_id=UUID(int=99), share_acquire_mode=2)

    assert response.error_code == ErrorCode.NONE
    assert part(response).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_partition_that_a_first_request_names_twice_ends_the_session() -> None:
    driver = joined()
    driver.acquire(1)

    (response,) = driver.fetch(1, epoch=0, partitions=[0, 0])

    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    (response,) = driver.fetch(1, epoch=1)
    assert response.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_partitions_of_a_response_have_the_order_of_kafkas_map() -> None:
    driver = joined()

    (response,) = driver.fetch(1, epoch=0, partitions=[0, 1], topic_id=UUID(int=0))

    # As from a running Kafka 4.4.0.
    (topic,) = response.responses
    assert [found.partition_index for found in topic.partitions] == [1, 0]


def test_acknowledged_partitions_have_the_order_of_their_numbers() -> None:
    driver = ShareDriver(partition_count=3)
    driver.join(1)
    driver.fetch(1, partitions=[0])

    (response,) = driver.fetch(1, epoch=-1, partitions=[2, 0, 1], acknowledge=[(1, 0, [ACCEPT])])

    (topic,) = response.responses
    assert [found.partition_index for found in topic.partitions] == [0, 1, 2]


@pytest.mark.parametrize(
    ("release", "limits", "error_code"),
    [
        ("4.1", {"max_bytes": 0}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ("4.2", {"max_bytes": 0}, None),
        ("4.1", {"max_records": 0}, ErrorCode.NONE),
        ("4.2", {"max_records": 0}, None),
        ("4.2", {"max_bytes": -1}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ("4.2", {"max_bytes": -1, "max_records": 0}, None),
    ],
)
def test_a_fetch_without_records_or_bytes(
    release: str, limits: dict[str, int], error_code: ErrorCode | None
) -> None:
    driver = joined(broker_api_versions=release)
    driver.produce(b"a")

    (response,) = driver.fetch(1, max_wait_ms=1000, **limits)  # type: ignore[arg-type]

    found = {entry.error_code for topic in response.responses for entry in topic.partitions}
    assert found == (set() if error_code is None else {error_code})
    assert driver.acquire(1) == [(0, 0, 1)]
