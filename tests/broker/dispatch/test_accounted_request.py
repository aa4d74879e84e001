"""A request that quotas may throttle, or that is audited, is charged and noted."""

from dataclasses import replace

import pytest

from broker.dispatch import accounted_request, produce_cache
from tests.broker.dispatch.produce_runs import (
    Change,
    Produce,
    Run,
    assert_needed,
    counted_calls,
    hits_of,
)

CUT = Produce(cut=100, producer_id=7)
"""It comes in two reads, so that no run handles it."""


@pytest.mark.parametrize(
    "change",
    [
        ("audit", True),
        ("set_quota", "producer_byte_rate", 1.0, False),
        ("set_quota", "request_percentage", 0.001, False),
    ],
)
def test_it_is_handled_without_the_ordinary_path(change: Change) -> None:
    made = Run()
    for _ in range(3):
        made.do(CUT)
    made.do(change)

    with counted_calls(produce_cache, "respond_accounted") as responses:
        made.do(CUT)
    assert len(responses) == 1
    assert responses[0] is not None


QUOTA: Change = ("set_quota", "producer_byte_rate", 1.0, False)
TIME: Change = ("set_quota", "request_percentage", 0.001, False)
CHECKS: tuple[tuple[str, str, Change], ...] = (
    ("charge_produce(context, cluster, expects_response=shape.acks != 0)", "pass", QUOTA),
    ("services.start_stopwatch(context)", "pass", TIME),
    ("if context.acknowledgements is not None", "if False", ("audit", True)),
    ("quota is None", "True", QUOTA),
    ("context.throttle_time_ms,", "0,", QUOTA),
)


@pytest.mark.parametrize(("right", "wrong", "change"), CHECKS)
def test_a_request_that_is_not_charged_or_noted_is_found(
    right: str, wrong: str, change: Change
) -> None:
    steps: list[Produce | Change] = [*[CUT] * 3, change, *[CUT] * 3]
    assert_needed(steps, accounted_request._store_and_charge, right, wrong)


def test_without_a_response_it_is_handled_too() -> None:
    produce = replace(CUT, acks=0)
    hits_of([*[produce] * 3, QUOTA, produce])
