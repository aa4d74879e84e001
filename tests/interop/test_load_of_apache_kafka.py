"""A load plan is the same for Apache Kafka and for mock-kafka, and both pass its checks."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mock_kafka import MockKafka
from tests.interop.apache_kafka import ApacheKafka
from tests.spark_cluster import require_spark

LOAD_TIMEOUT_S = 300
PLAN = """\
duration_s: 3
drain_s: 20
abort_behind_s: 60
lateness_p99_ms: 60000
topics: [{name: load, partitions: 4}]
quotas: [{user: ANONYMOUS, producer_ids_rate: 1000}]
tenants:
  - {name: steady, behaviour: steady, clients: 4, rate: 100, topic: load}
  - {name: keyed, behaviour: keyed, clients: 2, rate: 20, topic: load, compression: lz4, records: 5}
  - {name: churn, behaviour: new-producer-per-batch, clients: 2, rate: 10, topic: load}
  - {name: again, behaviour: retries-lost-responses, kinds: [latest], rate: 10, topic: load}
  - {name: transactions, behaviour: transactional, clients: 2, rate: 5, topic: load-transactions}
  - {name: readers, behaviour: consumer-group, clients: 2, arrival: closed, topic: load}
  - {name: topics, behaviour: topic-creator, rate: 2, topics_per_request: 3, partitions: 2}
""".replace("4}]", "4}, {name: load-transactions, partitions: 2}]")
IDS = "new producer ids"


def run_plan(plan: Path, servers: str, out: Path) -> dict[str, Any]:
    """Run the plan with the command, as the users of any cluster do, and return its summary."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mock_kafka", "load", str(plan)),
            *("--bootstrap-server", servers, "--set-quotas", "--out", str(out)),
        ],
        capture_output=True,
        text=True,
        timeout=LOAD_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    assert (out / "plan.yaml").read_text() == plan.read_text()
    return summary


def verdicts(summary: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Return the verdicts of the checks, without those of a quota that Kafka does not have."""
    return {
        (verdict["check"], verdict["scope"]): verdict["verdict"]
        for verdict in summary["verdicts"]
        if not verdict["check"].startswith(IDS)
    }


@pytest.mark.long
def test_one_plan_runs_unchanged_against_apache_kafka_and_mock_kafka(
    apache_kafka: ApacheKafka, tmp_path: Path
) -> None:
    require_spark()
    plan = tmp_path / "any-cluster.yaml"
    plan.write_text(PLAN)
    theirs = run_plan(plan, apache_kafka.bootstrap_servers, tmp_path / "theirs")
    with MockKafka() as kafka:
        ours = run_plan(plan, kafka.bootstrap_servers, tmp_path / "ours")
    assert theirs["unsupported_quotas"] == ["producer_ids_rate"]
    assert ours["unsupported_quotas"] == []
    assert verdicts(theirs) == verdicts(ours)
    assert set(verdicts(theirs).values()) == {"passed"}
    # The readers are a closed loop; Kafka's first group has to wait for its internal topic.
    counted = [
        {
            row["tenant"]: (row["events"], row["completed"])
            for row in summary["tenants"]
            if row["tenant"] != "readers"
        }
        for summary in (theirs, ours)
    ]
    assert counted[0] == counted[1]
    for summary, events in zip((theirs, ours), counted, strict=True):
        assert summary["is_complete"]
        assert all(due == completed for due, completed in events.values())
