"""Settings of a Spark session that a job changes for itself."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}
"""For few rows: compiling and adapting a query takes longer than running it."""

LARGE_VALUES = {"spark.sql.execution.arrow.maxRecordsPerBatch": "8"}
"""For rows of megabytes, which Python gets in batches."""


@contextmanager
def changed(spark: "SparkSession", settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings until the end of the block."""
    before = {key: spark.conf.get(key) or "" for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
