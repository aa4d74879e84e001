"""ShareFetch: what is read, and how long it waits."""

import pytest

from broker.cluster import partition_log
from broker.cluster.transaction_index import AbortedTransaction
from broker.fetch import partition_read
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY
from tests.broker.interleaving import run_with_pauses
from tests.broker.share_driver import (
    ACCEPT,
    LOCK_MS,
    RELEASE,
    ShareDriver,
    acquired,
    part,
    values,
)


def test_a_fetch_waits_for_new_records() -> None:
    driver = ShareDriver()
    driver.join(1)
    received = driver.fetch(1, max_wait_ms=500)
    assert received == []

    driver.produce(b"a")

    assert acquired(received[0]) == [(0, 0, 1)]
    assert values(received[0]) == [b"a"]


def test_a_fetch_ends_without_records_after_its_time() -> None:
    driver = ShareDriver()
    driver.join(1)
    received = driver.fetch(1, max_wait_ms=500)
    driver.advance(499)
    assert received == []

    driver.advance(1)

    assert (received[0].error_code, acquired(received[0])) == (ErrorCode.NONE, [])


def test_of_two_members_that_wait_one_gets_the_record_and_the_other_waits_on() -> None:
    driver = ShareDriver()
    driver.join(1)
    first, second = driver.fetch(1, max_wait_ms=500), driver.fetch(2, max_wait_ms=500)

    driver.produce(b"a")

    assert acquired(first[0]) == [(0, 0, 1)]
    assert second == []
    driver.produce(b"b")
    assert acquired(second[0]) == [(1, 1, 1)]


def test_released_records_wake_a_fetch() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.acquire(1)
    received = driver.fetch(2, max_wait_ms=500)
    assert received == []

    driver.acknowledge(1, (0, 1, [ACCEPT, RELEASE]))

    assert acquired(received[0]) == [(1, 1, 2)]


def test_an_expired_lock_wakes_a_fetch() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.acquire(1)
    received = driver.fetch(2, max_wait_ms=LOCK_MS * 2)

    driver.advance(LOCK_MS)

    assert acquired(received[0]) == [(0, 0, 2)]


def test_a_moved_leader_ends_the_wait() -> None:
    driver = ShareDriver(broker_count=2)
    driver.join(1)
    received = driver.fetch(1, max_wait_ms=500)

    driver.cluster.move_leader(driver.topic.partitions[0], 2, driver.now_ms)
    driver.advance(0)

    assert part(received[0]).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_only_the_batches_with_acquired_records_are_sent() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.produce(b"c")
    driver.produce(b"d")

    (response,) = driver.fetch(1, max_records=3)

    assert (acquired(response), values(response)) == ([(0, 2, 1)], [b"a", b"b", b"c"])


def test_very_many_batches_are_acquired_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (partition_log, partition_read):
        monkeypatch.setattr(module, "SHORT_BATCHES_MAX", 1)
    monkeypatch.setattr(partition_log, "RUN_BATCHES", 1)
    driver = ShareDriver()
    driver.join(1)
    for value in (b"a", b"b", b"c"):
        driver.produce(value)

    (response,) = driver.fetch(1)

    assert acquired(response) == [(0, 2, 1)]
    assert values(response) == [b"a", b"b", b"c"]


def test_deleted_records_are_skipped() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.produce(b"b")
    driver.acquire(1, max_records=1)
    driver.acknowledge(1, (0, 0, [RELEASE]))
    driver.cluster.delete_records_before(driver.topic.partitions[0], 1, driver.now_ms)

    (response,) = driver.fetch(1)

    assert (part(response).error_code if response.responses else 0, acquired(response)) == (0, [])
    assert driver.acquire(1) == [(1, 1, 1)]


def test_records_of_aborted_transactions_are_not_delivered_to_read_committed_groups() -> None:
    driver = ShareDriver()
    driver.configure("share.isolation.level", "read_committed")
    driver.join(1)
    log = driver.log
    driver.produce(b"x", b"y")
    driver.produce(b"a")
    batches = list(log.rewind())
    log.transaction_index.append(AbortedTransaction(7, 0, 1, 3))
    aborted = bytearray(batches[0])
    aborted[43:51] = (7).to_bytes(8)
    aborted[22] |= 0x10
    log.replace_batches([bytes(aborted), batches[1]])

    assert driver.acquire(1) == [(2, 2, 1)]
    assert driver.acknowledge_code(1, (0, 1, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE


def test_partitions_are_read_in_an_order_that_rotates() -> None:
    driver = ShareDriver(partition_count=2)
    driver.join(1)
    for index in (0, 1):
        driver.produce(b"a", partition_index=index)
        driver.produce(b"b", partition_index=index)

    def indexes(**fields: object) -> list[int]:
        (response,) = driver.fetch(1, max_records=1, **fields)  # type: ignore[arg-type]
        return [
            entry.partition_index
            for topic in response.responses
            for entry in topic.partitions
            if entry.acquired_records
        ]

    assert indexes(partitions=[0, 1]) == [0]
    assert indexes() == [1]


def test_a_fetch_acquires_nothing_when_its_connection_is_lost_while_it_reads() -> None:
    """The group has no session then, so the leader reads the state again for the next fetch."""
    driver = ShareDriver(partition_count=LOOK_EVERY + 1)
    driver.join(1)
    driver.produce(b"a", b"b")
    leader = driver.cluster.share.leaders[1]

    def lose_when_loaded() -> None:
        if leader.partitions:
            leader.disconnect(1, driver.now_ms)

    indexes = list(range(LOOK_EVERY + 1))
    (response,) = run_with_pauses(lambda: driver.fetch(1, partitions=indexes), lose_when_loaded)
    assert acquired(response) == []
    assert driver.acquire(2) == [(0, 1, 1)]
    driver.fetch(2, acknowledge=[(0, 1, [ACCEPT])])

    driver.advance(LOCK_MS + 1)  # no lock of the first fetch expires, which would release records
    assert driver.acquire(2) == []
