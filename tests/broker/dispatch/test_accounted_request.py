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
        ("set_quota", "producer_byte_rate", 45.0, False),
        ("set_quota", "request_percentage", 0.0045, False),
    ],
)
def test_it_is_handled_without_the_ordinary_path(change: Change) -> None:
    made = Run()
    made.do(change)
    for _ in range(4):
        made.do(CUT)

    with counted_calls(produce_cache, "respond_accounted") as responses:
        made.do(CUT)
    assert len(responses) == 1
    assert responses[0] is not None


QUOTA: Change = ("set_quota", "producer_byte_rate", 45.0, False)
TIME: Change = ("set_quota", "request_percentage", 0.0045, False)
CHECKS: tuple[tuple[str, str, Change], ...] = (
    ("charge_produce(context, cluster, expects_response=shape.acks != 0)", "pass", QUOTA),
    ("if context.acknowledgements is not None", "if False", ("audit", True)),
    ("quota is None", "True", QUOTA),
    ("context.throttle_time_ms,", "0,", QUOTA),
)


@pytest.mark.parametrize(("right", "wrong", "change"), CHECKS)
def test_a_request_that_is_not_charged_or_noted_is_found(
    right: str, wrong: str, change: Change
) -> None:
    steps: list[Produce | Change] = [change, *[CUT] * 8]
    assert_needed(steps, accounted_request._store_and_charge, right, wrong)


def test_a_request_whose_time_is_not_charged_is_found() -> None:
    right = "services.cluster.quotas.clients.request_percentage.is_enabled"
    assert_needed([TIME, *[CUT] * 8], accounted_request.respond_accounted, right, "False")


def test_without_a_response_it_is_handled_too() -> None:
    produce = replace(CUT, acks=0)
    hits_of([QUOTA, *[produce] * 4])
