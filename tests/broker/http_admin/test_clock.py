"""The clock over the admin port: read it, change its mode, advance it."""

import pytest

from broker.http_admin.clock import AdvanceBody, ClockBody, advance_clock, get_clock, put_clock
from broker.http_admin.operation import Problem
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import make_admin, serving_site


def test_the_view_shows_the_mode_factor_and_time_of_the_clock() -> None:
    view = get_clock(make_admin())
    assert (view.mode, view.factor, view.now_ms) == ("standing", 0, NOW_MS)


async def test_the_clock_can_be_scaled_and_stopped() -> None:
    async with serving_site() as site:
        view = put_clock(site.admin, ClockBody("scaled", 10.0))
        assert (view.mode, view.factor) == ("scaled", 10)
        assert put_clock(site.admin, ClockBody("real")).factor == 1
        assert put_clock(site.admin, ClockBody("standing")).factor == 0


@pytest.mark.parametrize("body", [ClockBody("scaled"), ClockBody("real", 2.0)])
def test_a_factor_is_accepted_only_for_a_scaled_clock(body: ClockBody) -> None:
    with pytest.raises(Problem, match="factor"):
        put_clock(make_admin(), body)


async def test_advancing_the_clock_runs_due_timers_before_the_response() -> None:
    async with serving_site() as site:
        rang_ms: list[int] = []
        site.admin.cluster.timers.schedule(NOW_MS + 1500, rang_ms.append)
        view = advance_clock(site.admin, AdvanceBody(ms=1499))
        assert (view.now_ms, rang_ms) == (NOW_MS + 1499, [])
        view = advance_clock(site.admin, AdvanceBody(seconds=3600.001))
        assert (view.now_ms, rang_ms) == (NOW_MS + 3_601_500, [NOW_MS + 1500])


@pytest.mark.parametrize("body", [AdvanceBody(), AdvanceBody(ms=1, seconds=1)])
def test_advancing_the_clock_takes_one_unit(body: AdvanceBody) -> None:
    with pytest.raises(Problem, match="either"):
        advance_clock(make_admin(), body)
