"""Members of a share group read every record between them, and accept it."""

import pytest

from mock_kafka import MockKafka
from tests.loadgen.runs import of_api, plan_of, run


@pytest.mark.slow
def test_members_read_in_share_sessions_and_accept() -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, topic: t, clients: 4, rate: 200, start_s: 0.3},"
        " {name: r, behaviour: share-group, topic: t, clients: 2, rate: 100}]",
        1.0,
    )
    config: dict[str, str | int] = {
        "cluster.features": "share.version=1",
        "group.share.heartbeat.interval.ms": 100,
        "group.share.min.heartbeat.interval.ms": 100,
    }
    with MockKafka(brokers=2, config=config) as kafka:
        rows = run(plan, kafka.bootstrap_servers)
    heartbeats = of_api(rows, "ShareGroupHeartbeat")
    assert {(row["client"], row["error_code"]) for row in heartbeats} == {(4, 0), (5, 0)}
    fetches = of_api(rows, "ShareFetch")
    assert {row["error_code"] for row in fetches} == {0}
    assert {row["client"] for row in fetches} == {4, 5}
    # A request that accepts records has their batches beyond those that do not.
    assert max(row["bytes"] for row in fetches) > min(row["bytes"] for row in fetches)
