"""Topics are created, expanded and deleted, and refused topics are retried."""

import pytest
from msgspec.structs import replace

from loadgen.plan.plan import Quota
from tests.loadgen.runs import endings, of_api, plan_of, run


def test_topics_are_created_expanded_and_deleted(servers: str) -> None:
    plan = plan_of(
        "[{name: c, behaviour: topic-creator, rate: 4, topics_per_request: 3, partitions: 2},"
        " {name: e, behaviour: topic-expander, rate: 4, topics_per_request: 3, partitions: 4},"
        " {name: d, behaviour: topic-deleter, rate: 4, topics_per_request: 3, partitions: 5}]"
    )
    rows = run(plan, servers)
    for api, mutations in (("CreateTopics", 6), ("CreatePartitions", 12), ("DeleteTopics", 15)):
        assert endings(of_api(rows, api)) == {("responded", "new", 0): 2}
        assert {row["mutations"] for row in of_api(rows, api)} == {mutations}
        assert min(row["bytes"] for row in of_api(rows, api)) > 60
    assert len({row["topic"] for row in rows}) == 6


@pytest.mark.slow
def test_refused_topics_are_retried_after_the_throttle(servers: str) -> None:
    # The bucket holds 22 at this rate: it is below zero at the fourth topic.
    quotas = (Quota({"client-id": "slow"}, "controller_mutation_rate", 2.0),)
    plan = plan_of(
        "[{name: a, client_id: slow, behaviour: topic-creator, rate: 1, arrival: constant,"
        " topics_per_request: 4, partitions: 8, retries: 1}]",
        1.0,
    )
    first, *rest = of_api(run(replace(plan, quotas=quotas), servers), "CreateTopics")
    assert (first["error_code"], first["mutations"]) == (89, 24)
    assert first["throttle_time_ms"] > 0
    assert rest[0]["attempt"] == 2
    waited_us = rest[0]["sent_us"] - first["response_us"]
    assert waited_us >= first["throttle_time_ms"] * 1000
    assert rest[0]["early_us"] == 0
