"""A classic group is what its record says, with its members."""

from broker.groups.loading import load_group
from broker.groups.modern_rules import default_rules
from broker.groups.results import GroupState
from protocol.errors import ErrorCode
from tests.broker.groups.driver import GROUP, SESSION_MS, Driver
from tests.broker.groups.loaded import loaded_records


def load(driver: Driver) -> None:
    records = [record for record in driver.records if record[0][:2] == b"\0\2"]
    load_group(
        driver.groups.table,
        GROUP,
        loaded_records(records),
        default_rules,
        driver.timers,
        driver.now_ms,
    )


def test_members_go_on_without_a_rebalance() -> None:
    driver = Driver()
    member_ids = driver.stable("a", "b")
    driver.commit(9, member_id=member_ids[0], generation_id=driver.generation_id)
    before, generation_id = driver.describe(), driver.generation_id
    known = driver.groups.table.get(GROUP)
    load(driver)
    assert driver.groups.table.get(GROUP) is not known
    assert driver.describe() == before
    assert driver.committed() == 9
    for member_id in member_ids:
        assert driver.heartbeat(member_id, generation_id) is ErrorCode.NONE
        (result,) = driver.sync(member_id, generation_id)
        assert result.assignment == f"for {member_id}".encode()


def test_the_sessions_of_members_begin_with_the_load() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")
    driver.advance(SESSION_MS - 1)
    load(driver)
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(member_id, driver.generation_id) is ErrorCode.NONE
    driver.advance(SESSION_MS)
    assert driver.is_empty


def test_who_joins_rebalances_a_group_that_was_loaded() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a", protocols={"range": b"meta"})
    load(driver)
    new = driver.join(client_id="b")
    assert driver.state is GroupState.PREPARING_REBALANCE
    again = driver.join(member_id)
    assert {new[0].error_code, again[0].error_code} == {ErrorCode.NONE}
    assert again[0].leader_id == member_id


def test_a_group_without_members_keeps_its_generation() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")
    driver.advance(2 * SESSION_MS)
    assert driver.is_empty
    generation_id = driver.generation_id
    load(driver)
    assert driver.is_empty
    assert driver.generation_id == generation_id
    assert driver.heartbeat(member_id, generation_id) is ErrorCode.UNKNOWN_MEMBER_ID
