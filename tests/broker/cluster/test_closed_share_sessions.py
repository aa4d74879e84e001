"""The end of a share session with many partitions, in steps."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from broker.cluster.closed_share_sessions import WORK_PER_STEP
from broker.cluster.failover import stop_broker
from broker.cluster.share_leaders import WRITE_WORK
from broker.share_groups.sessions import ShareSessionKey
from protocol.errors import ErrorCode
from tests.broker.share_driver import ACCEPT, GROUP, ShareDriver, acquired, member_id

PARTITIONS = 300
ALL = list(range(PARTITIONS))
WRITES_PER_STEP = 1 + WORK_PER_STEP // WRITE_WORK


class LongSession(ShareDriver):
    """Member 1 has a session of many partitions, and has acquired a record of each."""

    def __init__(self) -> None:
        super().__init__(partition_count=PARTITIONS)
        for number in (1, 2):
            self.join(number)
        for index in ALL:
            self.produce(b"a", partition_index=index)
        assert len(self.read(1, ALL)) == PARTITIONS
        self.leader = self.cluster.share.leaders[1]

    def read(self, number: int, partitions: list[int], **fields: Any) -> list[int]:
        """Open a session; return the delivery counts of what it acquires."""
        (response,) = self.fetch(
            number, epoch=0, partitions=partitions, max_records=PARTITIONS, **fields
        )
        return [count for _first, _last, count in acquired(response)]

    def close(self) -> None:
        """Close the session of member 1."""
        session = self.leader.sessions.get(ShareSessionKey(GROUP, member_id(1)))
        assert session is not None
        self.leader.close_session(session, self.now_ms)

    def disconnect(self) -> None:
        """End the connection of member 1."""
        self.leader.disconnect(1, self.now_ms)

    def count_writes(self, work: Callable[[], None]) -> int:
        """Return how many states of share partitions `work` writes."""
        states = self.cluster.share.states
        with patch.object(states, "write", wraps=states.write) as write:
            work()
        return write.call_count

    def step(self) -> int:
        """Run the timers of a millisecond; return how many states are written."""
        return self.count_writes(lambda: self.advance(1))

    def held(self, number: int = 1) -> int:
        """Return how many records a member has acquired."""
        return sum(
            state.member_id == member_id(number)
            for led in self.leader.partitions.values()
            for _batch, state in led.share_partition.records.acquired_states()
        )


@pytest.mark.parametrize("end", [LongSession.close, LongSession.disconnect])
def test_what_a_session_has_acquired_is_released_in_short_steps(
    end: Callable[[LongSession], None],
) -> None:
    driver = LongSession()
    driver.read(2, [0])  # another connection of the group stays

    writes = [driver.count_writes(lambda: end(driver))]
    while driver.held():
        writes.append(driver.step())

    assert max(writes) <= WRITES_PER_STEP
    assert sum(writes) == PARTITIONS
    assert driver.step() == 0
    assert driver.read(2, ALL) == [2] * PARTITIONS


@pytest.mark.parametrize("end", [LongSession.close, LongSession.disconnect])
def test_a_session_that_is_opened_again_keeps_what_it_acquires(
    end: Callable[[LongSession], None],
) -> None:
    driver = LongSession()
    end(driver)
    assert driver.held() > 0

    assert driver.read(1, ALL) == [2] * PARTITIONS
    for _ in range(PARTITIONS):
        driver.step()

    assert driver.held() == PARTITIONS
    assert driver.acknowledge_code(1, (0, 0, [ACCEPT])) == ErrorCode.NONE


def test_a_session_that_is_closed_twice_in_between_releases_both_times() -> None:
    driver = LongSession()
    driver.close()
    driver.read(1, ALL[: PARTITIONS // 2])
    driver.close()
    driver.read(1, [7])
    for _ in range(PARTITIONS):
        driver.step()

    assert driver.held() == 1
    half = PARTITIONS // 2
    assert sorted(driver.read(2, ALL)) == [2] * half + [3] * (half - 1)


def test_a_new_session_cannot_acknowledge_what_the_old_one_had_acquired() -> None:
    driver = LongSession()
    driver.close()
    driver.read(1, [PARTITIONS - 1])

    assert driver.acknowledge_code(1, (0, 0, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE


def test_a_fetch_that_waits_is_woken_by_the_step_that_releases_its_partition() -> None:
    driver = LongSession()
    waiting = driver.fetch(2, epoch=0, partitions=[0], max_wait_ms=60_000)
    assert waiting == []
    driver.close()
    for _ in range(PARTITIONS):
        driver.step()

    assert [acquired(response) for response in waiting] == [[(0, 0, 2)]]


def test_the_partitions_of_a_group_are_forgotten_in_short_steps_with_its_last_connection() -> None:
    driver = LongSession()

    writes = [driver.count_writes(driver.disconnect)]
    assert len(driver.leader.partitions) > PARTITIONS // 2
    while driver.leader.partitions:
        writes.append(driver.step())

    # The connection's end takes a step for the session, and one for the group.
    assert max(writes[1:]) <= WRITES_PER_STEP >= writes[0] // 2
    assert sum(writes) == PARTITIONS


def test_a_group_that_comes_back_in_between_loses_nothing() -> None:
    driver = LongSession()
    driver.disconnect()
    assert driver.leader.partitions

    assert driver.read(2, ALL) == [2] * PARTITIONS
    for _ in range(PARTITIONS):
        driver.step()

    assert driver.held(2) == PARTITIONS == len(driver.leader.partitions)


def test_nothing_is_left_to_release_when_the_broker_stops() -> None:
    driver = LongSession()
    driver.close()

    stop_broker(driver.cluster, 1, driver.now_ms)

    assert driver.leader.partitions == {}
    assert driver.step() == 0
