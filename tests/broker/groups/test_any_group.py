"""Groups of both protocols are empty and idle under the same conditions."""

from broker.groups.any_group import is_empty, is_idle, tombstones_of
from broker.groups.requests import JoinRequest
from tests.broker.groups.consumer.driver import GROUP, ConsumerDriver


def test_a_group_with_members_is_neither_empty_nor_idle() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    assert not is_empty(driver.group)
    assert not is_idle(driver.group)
    driver.heartbeat("a", -1)
    assert is_empty(driver.group)
    assert is_idle(driver.group)
    assert all(value is None for _key, value in tombstones_of(driver.group))


def test_a_classic_group_that_somebody_is_about_to_join_is_empty_but_not_idle() -> None:
    driver = ConsumerDriver()
    request = JoinRequest(GROUP, "", 10_000, 10_000, "consumer", {"range": b""}, must_know_id=True)
    driver.groups.join(request, lambda _result: None, driver.now_ms)
    group = driver.groups.table._groups[GROUP]
    assert is_empty(group)
    assert not is_idle(group)
    assert len(tombstones_of(group)) == 1
