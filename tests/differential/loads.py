"""Random loads on Apache Kafka and on our broker: no check of a load may accuse either of them."""

import io
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from loadgen.analysis.checks import THIS_RUN
from loadgen.load_run import run_plan
from loadgen.options import parser_of
from loadgen.plan.plan import Plan
from tests.differential.load_plans import random_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """What the checks of one load said of one cluster."""

    target: str
    plan: Plan
    passed: int
    """The checks that passed."""
    accusations: tuple[str, ...]
    """What failed, and why the run was incomplete."""


def accusations_in(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a summary has against the target; that the generator was late is not."""
    failed = [
        f"{verdict['check']}, {verdict['scope']}: {verdict['details']}"
        for verdict in summary["verdicts"]
        if verdict["verdict"] == "failed" and verdict["scope"] != THIS_RUN
    ]
    return (*failed, *(f"incomplete: {reason}" for reason in summary["abort_reasons"]))


def judged_loads(
    spark: "SparkSession", targets: Mapping[str, str], seeds: range, folder: Path
) -> Iterator[LoadOutcome]:
    """Run the plan of each seed on each target, and yield what its checks say.

    Args:
        spark: the session of all runs.
        targets: the bootstrap servers of clusters, by name.
        seeds: of the plans.
        folder: for the outputs and `random-SEED.yaml`, the plan as a file.
    """
    for seed in seeds:
        plan = random_plan(seed)
        path = folder / f"{plan.name}.yaml"
        path.write_text(plan.text)
        for target, servers in targets.items():
            arguments = [str(path), "--bootstrap-server", servers, "--set-quotas"]
            arguments += ["--out", str(folder / f"{plan.name}-{target}")]
            options = parser_of("scripts/compare").parse_args(arguments)
            summary, _ = run_plan(
                plan,
                options,
                lambda: nullcontext(spark),
                _no_broker,
                Console(file=io.StringIO()),
            )
            passed = sum(verdict["verdict"] == "passed" for verdict in summary["verdicts"])
            yield LoadOutcome(target, plan, passed, accusations_in(summary))


def _no_broker(*_: object) -> Any:
    raise AssertionError("each run has a target")
