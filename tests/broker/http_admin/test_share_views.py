"""Share partitions with their records in flight, as the admin port shows them."""

from broker.http_admin.share_views import (
    InFlightView,
    SharePartitionView,
    share_partition_views,
    share_session_views,
)
from tests.broker.share_driver import ACCEPT, LOCK_MS, RELEASE, ShareDriver, member_id


def shown(driver: ShareDriver) -> SharePartitionView:
    group = driver.cluster.share.groups.get("g")
    assert group is not None
    (view,) = share_partition_views(driver.cluster, group)
    return view


def test_records_in_flight_are_shown_with_holder_lock_and_delivery_count() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(*[b"v"] * 6)
    assert (shown(driver).start_offset, shown(driver).in_flight) == (None, [])
    driver.acquire(1)
    driver.acknowledge(1, (0, 1, [ACCEPT]), (3, 3, [RELEASE]), (4, 4, [ACCEPT]))

    view = shown(driver)

    lock = (member_id(1), driver.now_ms + LOCK_MS)
    assert (view.topic, view.partition, view.start_offset) == ("t", 0, 2)
    assert view.in_flight == [
        InFlightView(2, 2, "acquired", 1, *lock),
        InFlightView(3, 3, "available", 1),
        InFlightView(4, 4, "acknowledged", 1),
        InFlightView(5, 5, "acquired", 1, *lock),
    ]
    assert (view.in_flight_records, view.acquired_records) == (4, 2)


def test_neighbours_with_the_same_state_are_one_range() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(*[b"v"] * 6)
    driver.acquire(1)
    driver.acknowledge(1, (1, 3, [RELEASE, RELEASE, RELEASE]))

    assert [(found.first_offset, found.last_offset) for found in shown(driver).in_flight] == [
        (0, 0),
        (1, 3),
        (4, 5),
    ]


def test_an_expired_lock_releases_the_records() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"v", b"w")
    driver.acquire(1)
    driver.advance(LOCK_MS)
    view = shown(driver)
    assert view.in_flight == [InFlightView(0, 1, "available", 1)]
    assert (view.in_flight_records, view.acquired_records) == (2, 0)


def test_without_a_session_the_state_of_the_share_coordinator_is_shown() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(*[b"v"] * 4)
    driver.acquire(1)
    driver.acknowledge(1, (0, 0, [ACCEPT]), (2, 2, [ACCEPT]))
    driver.cluster.share.leaders[1].clear(driver.now_ms)

    view = shown(driver)

    assert share_session_views(driver.cluster, "g", member_id(1)) == []
    assert (view.start_offset, view.acquired_records) == (0, 0)
    assert view.in_flight == [
        InFlightView(0, 0, "acknowledged", 1),
        InFlightView(2, 2, "acknowledged", 1),
    ]


def test_the_lag_counts_records_that_are_not_done() -> None:
    for release in ("4.1", "4.2"):
        driver = ShareDriver(broker_api_versions=release)
        driver.join(1)
        driver.produce(*[b"v"] * 6)
        assert shown(driver).lag is None
        driver.acquire(1)
        driver.acknowledge(1, (0, 0, [ACCEPT]), (3, 4, [ACCEPT]))
        assert shown(driver).lag == 3
        driver.cluster.share.leaders[1].clear(driver.now_ms)
        assert shown(driver).lag == 3
