"""What the rows of a run say: the matrix, what is flaky, outliers, and where releases differ."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from atlas import queries
from atlas.cell import SEVERITY
from atlas.rows import EXPERIMENTS, REQUESTS
from loadgen.query_settings import INTERPRETED, changed
from loadgen.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OUTLIER_FACTOR = 5.0
OUTLIER_LEAST = {"outcome_ms": 1_000.0, "retries": 5.0}
"""Medians below these count as these: nobody minds 5 ms instead of 1 ms."""


def cells(spark: "SparkSession", storage: Storage, suffix: str = "") -> "DataFrame":
    """Return the matrix of a folder, and make it the view `cells` with this suffix."""
    spark.read.parquet(storage.of(EXPERIMENTS)).createOrReplaceTempView("experiments")
    spark.sql(queries.LATEST).createOrReplaceTempView("latest")
    matrix = spark.sql(queries.CELLS, args=_severity(spark)).cache()
    matrix.createOrReplaceTempView(f"cells{suffix}")
    return matrix


def figures(spark: "SparkSession", storage: Storage) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each analysis by its name.

    `cells` is the matrix, `requests` has those of the experiments that it shows, `counts` how many
    cells of each kind a client has, `outliers` and `releases` are what their queries say.
    """
    with _interpreted(spark):
        matrix = cells(spark, storage)
        spark.read.parquet(storage.of(REQUESTS)).createOrReplaceTempView("requests")
        outliers = {
            "factor": OUTLIER_FACTOR,
            "least": _map(spark, OUTLIER_LEAST),
        }
        return {
            "cells": _rows(matrix),
            "counts": _rows(spark.sql(queries.COUNTS)),
            "outliers": _rows(spark.sql(queries.OUTLIERS, args=outliers)),
            "releases": _rows(spark.sql(queries.RELEASES)),
            "requests": _rows(spark.sql(queries.TIMELINES)),
        }


def changes(spark: "SparkSession", before: Storage, after: Storage) -> list[dict[str, Any]]:
    """Return the cells that differ between two runs, regressions first."""
    with _interpreted(spark):
        cells(spark, before, "_before")
        cells(spark, after, "_after")
        return _rows(spark.sql(queries.CHANGES, args=_severity(spark)))


def _severity(spark: "SparkSession") -> dict[str, Any]:
    return {"severity": _map(spark, SEVERITY)}


def _map(spark: "SparkSession", values: Mapping[Any, float]) -> Any:
    from pyspark.sql import functions as F  # noqa: PLC0415 - the usual name; slow to import

    pairs = [F.lit(item) for pair in values.items() for item in pair]
    return F.create_map(*pairs)


def _interpreted(spark: "SparkSession") -> AbstractContextManager[None]:
    return changed(spark, INTERPRETED)


def _rows(frame: "DataFrame") -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.collect()]
