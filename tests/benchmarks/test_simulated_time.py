"""The benchmark of virtual time runs its programs; fast ones make more virtual seconds."""

import pytest

from benchmarks.simulated_time import CASES, Case, seconds_per_minute


@pytest.mark.slow
def test_a_member_that_fetches_lives_more_slowly_than_a_program_that_sleeps() -> None:
    member = CASES["a member of a group"].live
    asleep = CASES["a program that sleeps"].live
    figures = [seconds_per_minute(Case(live, 20.0), parts=2) for live in (member, asleep)]
    assert 0 < figures[0] < figures[1]
