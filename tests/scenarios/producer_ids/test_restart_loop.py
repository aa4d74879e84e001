"""Small: an hour, with the quota and without it, over TCP and with real clients."""

import pytest

from scenarios.producer_ids.growth import Size, World, broken_promises, live_through
from scenarios.producer_ids.restart_loop import STORY

SIZE = Size(hours=1, tries=5, quota=12, records=20)
TRIED = 13 * SIZE.tries + 2
"""A step every five minutes, the first at 0, and librdkafka twice."""


@pytest.fixture(scope="module")
def worlds() -> tuple[World, World]:
    return live_through(STORY, SIZE)


@pytest.mark.interop
def test_without_the_quota_every_restart_stays_in_memory(worlds: tuple[World, World]) -> None:
    off, _ = worlds
    assert (off.tried, off.refused, off.other_errors) == (TRIED, 0, 0)
    assert off.samples[-1].ids == TRIED
    assert off.samples[-1].state_ids == TRIED + 1
    assert off.samples[-1].promised is None


@pytest.mark.interop
def test_with_the_quota_there_are_as_many_as_promised_and_not_one_more(
    worlds: tuple[World, World],
) -> None:
    _, on = worlds
    assert [sample.promised for sample in on.samples] == [12 + step for step in range(13)]
    assert on.samples[-1].ids == on.samples[-1].promised == 24
    assert on.refused == TRIED - 24
    assert on.other_errors == 0
    # 12 an hour are one every 300 s.
    assert max(sample.throttle_max_s for sample in on.samples) == 300
    assert on.samples[-1].tokens == -1
    assert on.samples[-1].state_bytes > 0


@pytest.mark.interop
def test_the_careful_user_loses_nothing(worlds: tuple[World, World]) -> None:
    off, on = worlds
    for world in worlds:
        assert world.careful_by_step == [SIZE.records] * 14
        assert world.careful.errors == []
        assert (world.careful_failed, world.careful_throttle_max_ms) == (0, 0)
        assert world.journal_number > 0
    assert [
        broken_promise
        for broken_promise in broken_promises(off, on)
        if "slower" not in broken_promise
    ] == []
