"""The leader of share partitions: locks, sessions, connections."""

from broker.cluster.failover import stop_broker
from protocol.errors import ErrorCode
from tests.broker.share_driver import LOCK_MS, RELEASE, ShareDriver


def test_the_records_of_a_member_are_free_when_its_connection_ends() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    assert driver.acquire(1) == [(0, 1, 1)]
    assert driver.acquire(2) == []

    driver.cluster.share.leaders[1].disconnect(1, driver.now_ms)

    assert driver.acquire(2) == [(0, 1, 2)]
    (response,) = driver.fetch(1, epoch=1)
    assert response.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_records_in_flight_are_forgotten_with_the_last_connection() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.acquire(1)
    leader = driver.cluster.share.leaders[1]
    assert len(leader.partitions) == 1

    leader.disconnect(1, driver.now_ms)
    leader.disconnect(1, driver.now_ms)

    assert leader.partitions == {}


def test_a_session_that_was_opened_again_outlives_its_first_connection() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.acquire(1, connection_id=1)
    driver.acquire(1, epoch=0, connection_id=2)

    driver.cluster.share.leaders[1].disconnect(1, driver.now_ms)

    (response,) = driver.fetch(1, epoch=1)
    assert response.error_code == ErrorCode.NONE


def test_locks_expire_in_their_order_and_not_after_the_partition_was_dropped() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.acquire(1)
    driver.advance(LOCK_MS // 2)
    driver.produce(b"b")
    driver.acquire(1)
    driver.advance(LOCK_MS // 2)
    assert driver.acquire(2) == [(0, 0, 2)]
    driver.advance(LOCK_MS // 2)
    assert driver.acquire(2) == [(1, 1, 2)]
    driver.acknowledge(2, (0, 0, [RELEASE]))

    stop_broker(driver.cluster, 1, driver.now_ms)

    assert driver.cluster.share.leaders[1].partitions == {}
    driver.advance(LOCK_MS)
