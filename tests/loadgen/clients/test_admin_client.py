"""Requests of administration: each kind is sent and answered without an error."""

from collections import Counter

import pytest

from tests.loadgen.runs import of_api, plan_of, run


@pytest.mark.slow
def test_each_kind_of_request_is_sent(servers: str) -> None:
    rows = run(plan_of("[{name: a, behaviour: admin, topic: t, clients: 2, rate: 200}]"), servers)
    assert {(row["status"], row["error_code"]) for row in rows} == {("responded", 0)}
    assert set(Counter(row["api"] for row in rows)) == {
        "DescribeCluster",
        "Metadata",
        "DescribeConfigs",
        "IncrementalAlterConfigs",
        "ListGroups",
    }
    assert sorted(row["event_id"] for row in rows) == list(range(100))


@pytest.mark.slow
def test_a_tenant_may_have_some_kinds_only(servers: str) -> None:
    requests = "requests: [describe-configs, alter-configs]"
    plan = plan_of(f"[{{name: a, behaviour: admin, topic: t, rate: 40, {requests}}}]")
    rows = run(plan, servers)
    assert len(of_api(rows, "DescribeConfigs")) + len(of_api(rows, "IncrementalAlterConfigs")) == 20
