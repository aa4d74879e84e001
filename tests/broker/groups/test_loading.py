"""Groups of each type are loaded from their records, and keep what they have committed."""

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.group import Group
from broker.groups.loaded_records import LoadedRecords
from broker.groups.loading import load_group
from broker.groups.modern_rules import default_rules
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import GROUP, SESSION_MS, ConsumerDriver
from tests.broker.groups.loaded import loaded_records


def load(driver: ConsumerDriver, records: LoadedRecords) -> None:
    load_group(driver.groups.table, GROUP, records, default_rules, driver.timers, driver.now_ms)


def test_the_type_follows_from_the_records_and_offsets_stay() -> None:
    driver = ConsumerDriver()
    epoch = driver.join("a").member_epoch
    records = loaded_records(driver.records)
    assert driver.commit("a", epoch, 0) is ErrorCode.NONE
    load(driver, records)
    assert isinstance(driver.groups.table.get(GROUP), ConsumerGroup)
    assert driver.groups.table.committed(GROUP, "t", 0) is not None


def test_without_a_record_a_group_is_there_for_its_offsets() -> None:
    driver = ConsumerDriver()
    epoch = driver.join("a").member_epoch
    driver.commit("a", epoch, 0)
    load(driver, LoadedRecords([]))
    assert isinstance(driver.groups.table.get(GROUP), Group)
    assert driver.groups.table.committed(GROUP, "t", 0) is not None


def test_without_records_and_offsets_there_is_no_group_and_no_timer_of_it() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    load(driver, LoadedRecords([]))
    assert driver.groups.table.get(GROUP) is None
    driver.advance(2 * SESSION_MS)
    assert driver.groups.table.get(GROUP) is None


def test_sessions_begin_with_the_load() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    records = loaded_records(driver.records)
    driver.advance(SESSION_MS - 1)
    load(driver, records)
    driver.advance(SESSION_MS - 1)
    assert list(driver.group.members) == ["a"]
    driver.advance(1)
    assert driver.group.is_empty


def test_expressions_that_were_about_to_be_resolved_are_not_after_the_load() -> None:
    driver = ConsumerDriver()
    driver.join("a", subscribed_topic_names=(), subscribed_topic_regex="t.*")
    records = loaded_records(driver.records)
    load(driver, records)
    written_count = len(driver.records)
    driver.timers.run_due(driver.now_ms)
    assert len(driver.records) == written_count
