"""Group members share a topic's partitions, read its records, and commit."""

import pytest

from tests.loadgen.runs import of_api, plan_of, run


@pytest.mark.slow
def test_members_join_read_and_commit(servers: str) -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, topic: t, clients: 4, rate: 100},"
        " {name: r, behaviour: consumer-group, topic: t, clients: 2, rate: 30}]",
        1.0,
    )
    rows = run(plan, servers)
    joined = [row for row in of_api(rows, "JoinGroup") if row["error_code"] == 0]
    assert {row["client"] for row in joined} == {4, 5}
    fetches = of_api(rows, "Fetch")
    assert {row["error_code"] for row in fetches if row["status"] == "responded"} == {0}
    assert len({row["client"] for row in fetches}) == 2
    assert {row["error_code"] for row in of_api(rows, "OffsetCommit")} <= {0, 22, 27}
    assert any(row["error_code"] == 0 for row in of_api(rows, "OffsetCommit"))
