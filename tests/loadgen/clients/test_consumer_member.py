"""Members of the consumer protocol get all partitions between them, read and commit."""

import pytest

from mock_kafka import MockKafka
from tests.loadgen.runs import of_api, plan_of, run


@pytest.mark.slow
def test_members_share_the_partitions_read_and_commit() -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, topic: t, clients: 4, rate: 200},"
        " {name: r, behaviour: consumer-group, topic: t, clients: 2, rate: 100,"
        " group_protocol: consumer}]",
        1.0,
    )
    config = {
        "group.consumer.heartbeat.interval.ms": 100,
        "group.consumer.min.heartbeat.interval.ms": 100,
    }
    with MockKafka(config=config) as kafka:
        rows = run(plan, kafka.bootstrap_servers)
    assert of_api(rows, "JoinGroup") == []
    heartbeats = of_api(rows, "ConsumerGroupHeartbeat")
    assert {row["client"] for row in heartbeats} == {4, 5}
    assert {row["error_code"] for row in heartbeats} == {0}
    fetches = of_api(rows, "Fetch")
    assert {row["error_code"] for row in fetches} == {0}
    assert {row["client"] for row in fetches} == {4, 5}
    commits = of_api(rows, "OffsetCommit")
    # An epoch that is older than the group's is refused, and the member goes on.
    assert {row["error_code"] for row in commits} <= {0, 113}
    assert any(row["error_code"] == 0 for row in commits)
