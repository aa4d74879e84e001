"""The figures that quotas are judged by, from batches of rows."""

import pytest

from client.resources import Address
from loadgen.analysis.quota_bounds import quota_verdicts
from loadgen.live import quota_bounds
from loadgen.live.quota_bounds import NO_BOUNDS, QuotaBounds, Rows
from loadgen.plan.plan import Plan, Quota, Tenant
from loadgen.plan.run_spec import PreparedTarget, Topology
from tests.loadgen.summaries import CONFIG

PLAN = Plan(
    name="p",
    duration_s=10.0,
    tenants=(
        Tenant("churn", "new-producer-per-batch", "churn", user="u", password="x"),
        Tenant("maker", "topic-creator", "maker", partitions=4),
    ),
    quotas=(
        Quota({"user": "u"}, "producer_ids_rate", 2.0),
        Quota({"client-id": "maker"}, "controller_mutation_rate", 1.0),
    ),
)
TARGET = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), CONFIG)


def new_id(producer_id: int, response_us: int) -> dict[str, object]:
    return {
        "tenant": None,
        "user": "u",
        "node": 1,
        "producer_id": producer_id,
        "sent_us": response_us - 500,
        "response_us": response_us,
        "mutations": 0,
    }


def accepted(mutations: int, response_us: int) -> dict[str, object]:
    row = new_id(-1, response_us)
    return {**row, "tenant": "maker", "node": None, "producer_id": None, "mutations": mutations}


def words_of(*batches: Rows) -> dict[str, str]:
    bounds = QuotaBounds(PLAN, TARGET)
    for batch in batches:
        bounds.take(batch)
    found = bounds.rows()
    assert found is not None
    return {verdict.scope: verdict.verdict for verdict in quota_verdicts(PLAN, TARGET, found)}


def test_too_many_new_ids_are_found_in_any_division_into_batches() -> None:
    rows = [new_id(number, 1000 * number) for number in range(4)]
    scope = "user u at broker 1"
    assert words_of(rows)[scope] == "failed"
    assert words_of(rows[:1], rows[3:], rows[1:3])[scope] == "failed"
    assert words_of(rows[:1], rows[1:2])[scope] == "passed"


def test_an_id_counts_once_from_its_first_success() -> None:
    again = [new_id(number % 2, 1000 * number) for number in range(50)]
    assert words_of(again[:7], again[7:])["user u at broker 1"] == "passed"
    others = [{**new_id(-1, 10), "sent_us": 5} for _ in range(9)]
    assert words_of(others) == {"user u at broker 1": "passed", "tenants maker": "passed"}


def test_mutations_of_all_batches_are_compared_with_the_bucket() -> None:
    # R=1/s, B=11 and at most four more.
    assert words_of([accepted(8, 1000)], [accepted(7, 2000)])["tenants maker"] == "passed"
    assert words_of([accepted(8, 1000)], [accepted(8, 2000)])["tenants maker"] == "failed"
    late = [accepted(8, 1000)], [accepted(8, 3_000_000)]
    assert words_of(*late)["tenants maker"] == "passed"


def test_memory_is_bounded_and_then_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota_bounds, "ROWS_MAX", 3)
    bounds = QuotaBounds(PLAN, TARGET)
    assert bounds.rows() == NO_BOUNDS
    bounds.take([new_id(number, 1000) for number in range(4)])
    bounds.take([new_id(5, 1000)])
    assert bounds.rows() is None
