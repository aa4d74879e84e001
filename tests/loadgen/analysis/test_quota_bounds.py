"""A bound that is just reached passes, one that is exceeded fails; many rows give few points."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from client.resources import Address
from loadgen.analysis.quota_bounds import (
    NEW_IDS,
    POINTS_MAX,
    accepted_mutations,
    id_bounds_of,
    id_points,
    id_points_of,
    id_quotas,
    mutation_bounds,
    mutation_buckets,
    mutation_points,
    quota_verdicts,
)
from loadgen.plan.plan import Plan, Quota, Tenant
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.rows import ARROW_SCHEMA
from tests.loadgen.summaries import CONFIG

SECOND = 1_000_000
PLAN = Plan(
    name="p",
    duration_s=10,
    tenants=(
        Tenant("writer", "steady", "writer", user="u", password="x"),
        Tenant("maker", "topic-creator", "maker", user="m", password="x", partitions=4),
        Tenant("expander", "topic-expander", "e", user="m", password="x", partitions=2),
    ),
    quotas=(
        Quota({"user": "u"}, "producer_ids_rate", 5.0),
        Quota({"user": "m"}, "controller_mutation_rate", 10.0),
    ),
)
TARGET = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), CONFIG)
Judge = Callable[..., tuple[dict[str, str], dict[str, list[dict[str, Any]]]]]


@pytest.fixture
def judge() -> Judge:
    def run(
        ids: list[tuple[int, int | None]],
        mutations: list[tuple[str, int, int]] = (),  # type: ignore[assignment]
    ) -> tuple[dict[str, str], dict[str, list[dict[str, Any]]]]:
        """Take node and time of the first success of each id, if any, and accepted mutations."""
        rows: list[dict[str, Any]] = [
            {"user": "u", "tenant": "writer", "api": "Produce", "node": node, "producer_id": number,
             "sent_us": 0, "response_us": time_us, "error_code": 0, "mutations": 0,
             "status": "lost" if time_us is None else "responded"}
            for number, (node, time_us) in enumerate(ids)
        ]  # fmt: skip
        rows += [
            {"user": "m", "tenant": tenant, "api": "CreateTopics", "sent_us": 0,
             "response_us": time_us, "mutations": count}
            for tenant, time_us, count in mutations
        ]  # fmt: skip
        table = pa.Table.from_pylist(rows, ARROW_SCHEMA)
        accepted = accepted_mutations(table)
        found = {
            "mutations": mutation_points(accepted).to_pylist(),
            "mutation_bounds": mutation_bounds(
                accepted, mutation_buckets(PLAN, TARGET)
            ).to_pylist(),
            "ids": id_points(NEW_IDS.of(table), id_quotas(PLAN, TARGET)).to_pylist(),
        }
        found["id_bounds"] = id_bounds_of(found["ids"], {"u"})
        found["ids"] = id_points_of(found["ids"])
        verdicts = quota_verdicts(PLAN, TARGET, found)
        return {verdict.scope: verdict.verdict for verdict in verdicts}, found

    return run


def test_the_bound_of_new_ids_is_q_plus_t_times_q_over_window_at_each_broker(judge: Judge) -> None:
    at_once = [(1, 0)] * 5
    in_time = [(1, 2 * SECOND - 1000), (1, 4 * SECOND - 1000)]
    verdicts, _ = judge([*at_once, *in_time, *[(2, 0)] * 5, (2, 2 * SECOND - 1003)])
    assert verdicts == {
        "user u at broker 1": "passed",
        "user u at broker 2": "failed",
        "tenants maker, expander": "passed",
    }


def test_an_excess_that_later_time_allows_still_fails(judge: Judge) -> None:
    verdicts, _ = judge([*[(1, 0)] * 6, (1, 9 * SECOND)])
    assert verdicts["user u at broker 1"] == "failed"


def test_mutations_of_all_tenants_of_a_bucket_count_together(judge: Judge) -> None:
    scope = "tenants maker, expander"
    admitted = [("maker", 0, 100), ("expander", SECOND, 24)]  # 110 + 10 + 4
    assert judge([], admitted)[0] == {scope: "passed"}
    assert judge([], [("maker", 0, 100), ("expander", SECOND, 25)])[0] == {scope: "failed"}


def test_many_ids_and_mutations_are_few_points_with_the_same_sums(judge: Judge) -> None:
    count = 3 * POINTS_MAX + 1
    _, found = judge(
        [(1, number) for number in range(count)], [("maker", number, 2) for number in range(count)]
    )
    for name, column, total in (("ids", "ids", count), ("mutations", "mutations", 2 * count)):
        points = found[name]
        assert POINTS_MAX / 2 < len(points) <= POINTS_MAX
        assert sum(point[column] for point in points) == total
    assert max(point["first_us"] for point in found["ids"]) == count - 1
    assert len(judge([(1, 0), (1, 1)])[1]["ids"]) == 2


def test_a_user_whose_ids_never_succeed_has_a_verdict_and_no_point(judge: Judge) -> None:
    verdicts, found = judge([(1, None)])
    assert verdicts["user u at broker 1"] == "passed"
    assert found["ids"] == []
    assert [row["ids"] for row in found["id_bounds"]] == [0]
