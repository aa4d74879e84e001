"""Run plans with faults with Spark, from the command line to the report."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadgen import load_run
from loadgen.analysis.recoveries import RECOVERED_CHECK, STORED_CHECK
from loadgen.options import parser_of
from mock_kafka import MockKafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = """\
lateness_p99_ms: 1000
abort_behind_s: 60
topics: [{name: t, partitions: 3, replication_factor: 3}]
target: {brokers: 3}
tenants: [{name: shop, behaviour: steady, topic: t, clients: 6, rate: 100, retries: 100}]
"""
"""One idempotent tenant, which a busy machine can serve, on three brokers."""


def throttles_and_losses(throttled_s: int) -> str:
    """Return the faults that end plans: throttles from a second on, and lost responses at 16 s."""
    return f"""\
  - name: throttles
    at: {throttled_s}s
    for: 1s
    rule: {{api: Produce, throttle_time_ms: 100, every: 5}}
    expect: {{recovered_within: 2s}}
  - name: lost responses
    at: 16s
    for: 1s
    rule: {{api: Produce, drop: before_response, every: 10}}
    expect: {{recovered_within: 2s}}
"""


def own_broker(brokers: int, config: dict[str, str], has_admin_port: bool, /) -> MockKafka:
    return MockKafka(brokers, config, admin_port=0 if has_admin_port else None)


def run(
    spark: "SparkSession", folder: Path, plan: str, *arguments: str
) -> tuple[int, dict[str, Any]]:
    """Run a plan, given as YAML; return the exit status and `summary.json`."""
    path = folder / "plan.yaml"
    path.write_text(plan)
    options = parser_of("test").parse_args([str(path), *arguments, "--out", str(folder / "out")])
    status = load_run.run(options, lambda: nullcontext(spark), own_broker)
    return status, json.loads((folder / "out" / "summary.json").read_text())


def recovery_verdicts(summary: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return verdict and details of each fault's expectation, by its scope."""
    return _verdicts(summary, RECOVERED_CHECK)


def stored_verdicts(summary: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return verdict and details of what was stored around each fault, by its scope."""
    return _verdicts(summary, STORED_CHECK)


def _verdicts(summary: dict[str, Any], check: str) -> dict[str, tuple[str, str]]:
    return {
        verdict["scope"]: (verdict["verdict"], verdict["details"])
        for verdict in summary["verdicts"]
        if verdict["check"].startswith(check)
    }
