"""No check of a random load accuses Apache Kafka or our broker."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadgen.analysis.checks import THIS_RUN
from scenarios.maven import CannotRunError
from tests.differential.clusters import Setup, apache_cluster, our_cluster
from tests.differential.loads import accusations_in, judged_loads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETUP = Setup()


def verdict(scope: str, judgement: str) -> dict[str, str]:
    return {"check": "stored", "scope": scope, "verdict": judgement, "details": "1 missing"}


def test_a_failed_check_and_an_early_end_accuse_but_a_late_generator_does_not() -> None:
    verdicts = [
        verdict("tenant a", "failed"),
        verdict("tenant b", "passed"),
        verdict("tenant c", "not checked"),
        verdict(THIS_RUN, "failed"),
    ]
    summary = {"verdicts": verdicts, "abort_reasons": ["cannot connect"]}
    assert accusations_in(summary) == (
        "stored, tenant a: 1 missing",
        "incomplete: cannot connect",
    )


@pytest.mark.long
def test_no_check_accuses_our_broker(spark: "SparkSession", tmp_path: Path) -> None:
    with our_cluster(SETUP) as ours:
        [outcome] = judged_loads(spark, {"ours": ours.servers}, range(1, 2), tmp_path)
    assert outcome.accusations == ()
    assert outcome.passed > 0


@pytest.mark.compare
def test_no_check_accuses_apache_kafka(spark: "SparkSession", tmp_path: Path) -> None:
    try:
        with apache_cluster(tmp_path, SETUP) as kafka:
            # Plan 9 deletes topics soon after its quota was set.
            outcomes = list(judged_loads(spark, {"Kafka": kafka.servers}, range(7, 10), tmp_path))
    except CannotRunError as error:
        pytest.skip(str(error))
    assert [outcome.accusations for outcome in outcomes] == [()] * 3
