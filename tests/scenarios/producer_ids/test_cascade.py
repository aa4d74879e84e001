"""The example's own numbers, over TCP."""

import pytest

from scenarios.producer_ids.cascade import (
    IDS_MAX,
    PARTITIONS,
    QUOTA,
    USERS,
    CascadeResult,
    broken_promises,
    let_go,
    rows,
    stages_of,
)

WANTED = {index: placed.ids for index, placed in enumerate(PARTITIONS)}


@pytest.mark.slow
def test_without_the_quota_one_after_the_other_dies() -> None:
    off = let_go(None)
    assert (off.refused, off.deaths, off.moved) == (0, [2, 3, 4, 5, 6], 0)
    table = rows(off.stages)
    assert table[0] == ("before", "100", "150", "100", "120", "100", "90")
    assert table[1] == ("broker 1 fails", "-", "210 !", "140", "120", "100", "90")
    assert table[-1] == ("broker 6 fails", *("-" * 6))


@pytest.mark.slow
def test_with_the_quota_nobody_does_and_who_moved_goes_on() -> None:
    on = let_go(QUOTA)
    assert on.deaths == []
    assert on.stages[0].ids == dict.fromkeys(range(1, 7), QUOTA * len(USERS))
    assert on.refused == sum(WANTED.values()) - 6 * QUOTA * len(USERS)
    assert max(id_count or 0 for id_count in on.stages[1].ids.values()) <= IDS_MAX
    # A new leader knows none of them: each user brings one more every quarter of an hour.
    assert (on.moved, on.resumed) == (80, [0, 40, 60, 80])


def test_ids_go_to_the_next_broker_that_is_there() -> None:
    stages = stages_of(WANTED, [2, 3])
    assert [stage.name for stage in stages] == [
        "before",
        "broker 1 fails",
        "broker 2 fails",
        "broker 3 fails",
    ]
    assert [stage.ids[4] for stage in stages] == [120, 120, 195, 420]
    assert stages[-1].ids[3] is None


@pytest.mark.parametrize(
    ("off_deaths", "on", "reason"),
    [
        ([2, 3], CascadeResult(0, [], [], 5, [5]), "not all"),
        ([2, 3, 4, 5, 6], CascadeResult(0, [2], [], 5, [5]), "with the quota brokers [2] died"),
        ([2, 3, 4, 5, 6], CascadeResult(0, [], [], 5, [2, 4]), "of 5 moved producers"),
    ],
)
def test_a_broken_promise_is_reported(
    off_deaths: list[int], on: CascadeResult, reason: str
) -> None:
    (broken,) = broken_promises(CascadeResult(0, off_deaths, []), on)
    assert reason in broken
