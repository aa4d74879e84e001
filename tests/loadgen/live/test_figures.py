"""The figures of a load so far, from hand-made batches."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from loadgen.live import quota_bounds
from loadgen.live.figures import AFTER_THE_RUN, SHOWN_S, TOO_MANY, Batch
from loadgen.plan.plan import Quota, Tenant
from tests.loadgen.live.made_batches import (
    PLAN,
    batch_of_second,
    events,
    figures_of,
    lateness,
    requests,
)


def shop(found: dict[str, Any]) -> dict[str, Any]:
    [row] = [row for row in found["tenants"] if row["tenant"] == "shop"]
    return dict(row)


def test_batches_add_up() -> None:
    refused = requests(1, 3, error_code=89, throttled=3, throttle_total_ms=60, throttle_max_ms=30)
    lost = requests(1, 2, status="lost", error_code=None)
    found = figures_of(batch_of_second(0), batch_of_second(1), Batch([refused, lost])).as_dict()
    assert found["totals"] == {
        "requests": 25,
        "responded": 23,
        "no_response": 0,
        "lost": 2,
        "not_sent": 0,
        "expired": 0,
        "errors": 3,
        "throttled": 3,
    }
    assert [(row["second"], row["requests"]) for row in found["series"]["seconds"]] == [
        (0, 10),
        (1, 15),
    ]
    [throttles] = found["throttles"]
    assert (throttles["throttled"], throttles["throttle_total_ms"]) == (3, 60)
    assert throttles["throttle_max_ms"] == 30
    assert shop(found)["events"] == shop(found)["completed"] == 20
    assert shop(found)["response_us"] == pytest.approx([2000] * 5, rel=0.01)


def test_what_has_been_read_is_what_the_slowest_worker_wrote() -> None:
    batch = Batch([requests(4)], [lateness(0, 4.9), lateness(1, 2.0)])
    found = figures_of(batch).as_dict()
    assert found["read_s"] == found["measured_s"] == 2.0
    assert found["responses_per_s"] == 5.0


def test_an_event_that_is_open_counts_once_when_it_completes() -> None:
    open_event = Batch([requests(0)], [lateness(0, 1)], [events(0, None, 1)])
    figures = figures_of(open_event)
    assert (shop(figures.as_dict())["events"], shop(figures.as_dict())["completed"]) == (1, 0)
    changes = [events(0, None, -1), events(0, 1_500_000, 1)]
    figures.take(Batch([requests(1)], [lateness(0, 2)], changes))
    found = shop(figures.as_dict())
    assert (found["events"], found["completed"]) == (1, 1)
    assert found["response_max_us"] == 1_500_000


def test_percentiles_of_a_second_change_with_its_events() -> None:
    figures = figures_of(batch_of_second(0), batch_of_second(1))

    def p50_us() -> list[float]:
        return [row["response_us"][0] for row in figures.as_dict()["series"]["latencies"]]

    assert p50_us() == pytest.approx([2000, 2000], rel=0.01)
    figures.take(Batch([requests(1)], [], [events(0, 9000, 20)]))
    assert p50_us() == pytest.approx([9000, 2000], rel=0.01)
    figures.take(Batch([requests(1)], [], [events(0, 9000, -20), events(0, 5000, 20)]))
    assert p50_us() == pytest.approx([5000, 2000], rel=0.01)


def test_an_event_that_ends_after_its_second_is_shown_no_longer_counts_once() -> None:
    figures = figures_of(Batch([requests(0)], [lateness(0, 1)], [events(0, None, 1)]))
    late = 2 * SHOWN_S
    figures.take(Batch([requests(late)], [lateness(0, late)]))
    figures.take(Batch([], [], [events(0, None, -1), events(0, late * 1_000_000, 1)]))
    found = shop(figures.as_dict())
    assert (found["events"], found["completed"]) == (1, 1)
    assert figures.as_dict()["series"]["latencies"] == []


def test_an_event_that_did_not_complete_counts_until_now() -> None:
    batch = Batch([requests(0), requests(9)], [lateness(0, 9.5)], [events(0, None, 1)])
    found = figures_of(batch).as_dict()
    assert shop(found)["response_us"][0] == pytest.approx(9_495_000, rel=0.01)
    [row] = found["series"]["latencies"]
    assert row["response_us"][2] == pytest.approx(9_495_000, rel=0.01)


def test_the_warm_up_has_no_latency() -> None:
    found = figures_of(Batch([requests(-2)], [], [events(-2, 2000)])).as_dict()
    assert shop(found)["events"] == 0
    assert found["totals"]["requests"] == 10


def test_memory_does_not_grow_with_the_length_of_the_run() -> None:
    figures = figures_of(plan=structs.replace(PLAN, duration_s=1e6))

    def size_of(seconds: range) -> int:
        for second in seconds:
            figures.take(batch_of_second(second))
        return len(repr(figures.as_dict()["series"]))

    full = size_of(range(1000, 1000 + 2 * SHOWN_S))
    assert len(figures.as_dict()["series"]["seconds"]) == SHOWN_S + 1
    assert size_of(range(2000, 2000 + 2 * SHOWN_S)) == full
    assert figures.as_dict()["totals"]["requests"] == 4 * SHOWN_S * 10


def test_all_verdicts_are_provisional_and_those_of_the_read_back_are_known_later() -> None:
    late = replace(batch_of_second(0), lateness=[lateness(0, 1, late_us=90_000)])
    found = figures_of(late).as_dict()["verdicts"]
    assert all(row["is_provisional"] for row in found)
    words = {row["scope"]: (row["verdict"], row["details"]) for row in found}
    assert words["tenant shop"] == ("not checked", AFTER_THE_RUN)
    assert words["this run"][0] == "failed"


def test_a_quota_with_too_many_rows_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota_bounds, "ROWS_MAX", 1)
    maker = Tenant("maker", "topic-creator", "maker")
    quota = Quota({"client-id": "maker"}, "controller_mutation_rate", 1.0)
    plan = structs.replace(PLAN, tenants=(*PLAN.tenants, maker), quotas=(quota,))
    row = {"tenant": "maker", "user": "u", "node": None, "producer_id": None, "sent_us": 0}
    rows = [{**row, "response_us": time_us, "mutations": 9} for time_us in (5, 6, 7)]
    verdicts = figures_of(Batch(quota_rows=rows), plan=plan).as_dict()["verdicts"]
    [found] = [row for row in verdicts if row["scope"] == "tenants maker"]
    assert (found["verdict"], found["details"]) == ("not checked", TOO_MANY)
