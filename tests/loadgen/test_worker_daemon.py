"""The daemon of Spark's Python workers."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from loadgen.worker_daemon import without_copies

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_an_installed_pyspark_is_used_instead_of_the_archive_in_it(tmp_path: Path) -> None:
    packages, other = str(tmp_path), "/other/python/lib/pyspark.zip"
    copy = f"{packages}/pyspark/python/lib/pyspark.zip"
    assert without_copies(["/here", copy, packages]) == ["/here", copy, packages]
    (tmp_path / "pyspark").mkdir()
    assert without_copies(["/here", copy, other, packages]) == ["/here", other, packages]


def test_a_worker_begins_with_the_modules_of_the_load(spark: "SparkSession") -> None:
    def modules(_numbers: object) -> list[tuple[bool, bool]]:
        import pyspark  # noqa: PLC0415 - that of the worker

        return [("loadgen.worker.worker" in sys.modules, ".zip" in str(pyspark.__file__))]

    found = spark.sparkContext.parallelize([0], 1).mapPartitions(modules).collect()
    assert found == [(True, False)]
