"""Views of a few rows that the driver knows."""

from typing import TYPE_CHECKING

from loadgen.analysis.local_rows import open_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "tenant string, is_open boolean, rate double, expected int"


def test_a_view_has_the_rows_and_types_that_it_is_given(spark: "SparkSession") -> None:
    rows = [('it\'s "a"', True, 0.5, 3), ("b", False, 1.0, 4)]
    open_rows(spark, "of_driver", SCHEMA, rows)
    view = spark.table("of_driver")
    assert [tuple(row) for row in view.collect()] == rows
    assert dict(view.dtypes) == dict(field.split() for field in SCHEMA.split(", "))


def test_a_view_may_have_no_row(spark: "SparkSession") -> None:
    open_rows(spark, "of_driver", SCHEMA, [])
    assert spark.table("of_driver").collect() == []


def test_no_task_in_python_makes_the_rows(
    spark: "SparkSession",
) -> None:
    open_rows(spark, "of_driver", SCHEMA, [("a", True, 0.5, 3)])
    plan = spark.sql("EXPLAIN SELECT * FROM of_driver").collect()[0][0]
    assert "Generate inline" in plan
    assert "RDD" not in plan
