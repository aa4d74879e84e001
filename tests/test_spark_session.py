"""The Spark session of the tests itself: that it runs Python, quietly, once."""

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_runs_python_and_says_nothing(
    spark: "SparkSession", capfd: pytest.CaptureFixture[str]
) -> None:
    echoed = spark.range(10).mapInArrow(lambda batches: batches, "id long")
    assert sorted(row.id for row in echoed.collect()) == list(range(10))
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="needs pytest -n")
@pytest.mark.xdist_group("jvm")
def test_tests_that_share_a_jvm_run_in_one_process(request: pytest.FixtureRequest) -> None:
    """pytest-xdist writes the group behind the name, by which it chooses the process."""
    assert request.node.nodeid.endswith("@jvm")
