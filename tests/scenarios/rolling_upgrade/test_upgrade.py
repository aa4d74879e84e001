"""What counts as lost, duplicated, out of order and sent again, and what breaks the promise."""

from dataclasses import replace

from scenarios.rolling_upgrade.upgrade import (
    Upgrade,
    Written,
    broken_promises,
)
from tests.scenarios.rolling_upgrade.examples import GOOD, STAGES


def problems(written: Written) -> list[str]:
    return broken_promises(Upgrade(STAGES, [], [written]))


def test_a_good_run_breaks_no_promise() -> None:
    assert problems(GOOD) == []
    assert (GOOD.lost, GOOD.duplicated, GOOD.out_of_order, GOOD.retries) == (0, 0, 0, 1)
    assert [GOOD.in_flight_max(stage) for stage in STAGES] == [5, 4, 9]


def test_an_acknowledged_record_that_is_not_stored_is_lost() -> None:
    assert problems(replace(GOOD, stored=[0, 2])) == ["ours: 1 records acknowledged and not stored"]


def test_a_record_that_is_stored_twice_is_a_duplicate() -> None:
    assert problems(replace(GOOD, stored=[0, 1, 2, 2])) == ["ours: 1 records stored twice"]


def test_a_record_behind_a_later_one_is_out_of_order() -> None:
    assert problems(replace(GOOD, stored=[1, 0, 2])) == ["ours: 1 records out of order"]


def test_a_record_without_an_acknowledgement_breaks_the_promise() -> None:
    assert problems(replace(GOOD, sent=4, requests=5)) == ["ours: 1 records not acknowledged"]


def test_a_run_in_which_nothing_was_sent_again_shows_nothing() -> None:
    [problem] = problems(replace(GOOD, requests=3))
    assert problem == "ours: nothing was sent again, so this run shows nothing"


def test_our_producer_keeps_to_five_requests_until_the_broker_advertises_a_window() -> None:
    assert problems(replace(GOOD, in_flight=[(50, 6), (250, 9)])) == [
        "ours: more than 5 requests in flight without a window"
    ]
    assert problems(replace(GOOD, in_flight=[(50, 5), (250, 5)])) == [
        "ours: the window lifted no limit in phase 2"
    ]
    assert problems(replace(GOOD, name="another", in_flight=[(50, 6), (250, 5)])) == []
