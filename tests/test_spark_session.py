"""The Spark session of the tests itself: that it runs Python, quietly."""

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
