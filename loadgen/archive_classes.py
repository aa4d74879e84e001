"""`mock-kafka load archive-classes`: make the archive with which Spark starts twice as fast.

A Spark session does what a run does, with hardly any rows. When its JVM ends it writes the archive.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from client.resources import Address
from loadgen import class_archive, query_settings
from loadgen.analysis.read_back import SCHEMA as READ_BACK_SCHEMA
from loadgen.analysis.summary import RunData, summarise
from loadgen.command_error import CommandError
from loadgen.plan.plan import Plan
from loadgen.plan.plan_file import load_plan
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.preparation import CONFIG_KEYS
from loadgen.receipts import SCHEMA as RECEIPTS_SCHEMA
from loadgen.rows import ARROW_SCHEMA, SCHEMA
from loadgen.spark_session import load_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLANS = ("mixed-tenants", "exactly-once")
"""Together they have all queries."""
STORED = ("t", 0, 0, 0, 0, 0, 1, 0, None, None, None)
"""A row of `READ_BACK_SCHEMA`."""
RECEIVED = (0, "t", 0, "t", 0, 0, 0, 1, 1)
"""A row of `RECEIPTS_SCHEMA`."""
END_TIMEOUT_S = 300.0
MASTER = "local[2]"


class ArchiveError(CommandError):
    """There can be no archive; the message is one line."""


def main(arguments: Sequence[str]) -> int:
    """Make the archive, also if there is one; return 0.

    Raises:
        ArchiveError: this Java or this PySpark can have none.
        SessionError: Spark does not start.
    """
    argparse.ArgumentParser(
        prog="mock-kafka load archive-classes",
        description="Keep the classes that Spark loads in the cache folder of the user, so that"
        " runs start faster. It takes some seconds and 200 MB.",
    ).parse_args(arguments)
    archive = class_archive.path()
    if archive is None:
        raise ArchiveError("no archive of classes: it needs java, PySpark and no SPARK_CONF_DIR")
    make(archive)
    print(f"the classes of Spark are in {archive}")
    return 0


def make(archive: Path) -> None:
    """Write the archive; it has its name when it is complete.

    Raises:
        ArchiveError: the JVM has written none, or the folder cannot be written.
        SessionError: Spark does not start.
    """
    unfinished = archive.with_name(f"{archive.name}.{os.getpid()}")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            with load_session(
                MASTER,
                Path(folder),
                jvm_options=class_archive.recording_options(unfinished),
                end_timeout_s=END_TIMEOUT_S,
            ) as spark:
                use_what_a_run_uses(spark, Path(folder))
            if not unfinished.is_file():
                raise ArchiveError("this Java does not write an archive of classes")
            unfinished.replace(archive)
    except OSError as error:
        raise ArchiveError(f"cannot write {archive}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def use_what_a_run_uses(spark: "SparkSession", folder: Path) -> None:
    """Let the JVM load the classes of a run; `folder` is for a few rows."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import BarrierTaskContext  # noqa: PLC0415 - exists only inside a task

        BarrierTaskContext.get().allGather("")
        yield from batches

    target = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), dict(CONFIG_KEYS))
    with query_settings.changed(spark, query_settings.INTERPRETED):
        spark.range(0, 2, numPartitions=2).mapInArrow(task, "id bigint", barrier=True).collect()
    numbers = spark.sparkContext.parallelize(range(2), 2)
    numbers.barrier().mapPartitions(lambda numbers: numbers).collect()
    for name in PLANS:
        plan = load_plan(name)
        paths = {what: f"{folder}/{what}-{name}" for what in ("results", "read-back", "receipts")}
        spark.createDataFrame(rows_of(plan), SCHEMA).write.parquet(paths["results"])
        spark.createDataFrame([STORED], READ_BACK_SCHEMA).write.parquet(paths["read-back"])
        spark.createDataFrame([RECEIVED], RECEIPTS_SCHEMA).write.parquet(paths["receipts"])
        data = RunData(
            plan,
            target,
            paths["results"],
            paths["read-back"],
            rows=len(plan.tenants),
            receipts_path=paths["receipts"],
        )
        summarise(spark, data)


def rows_of(plan: Plan) -> list[dict[str, Any]]:
    """Return one row for each tenant."""
    row: dict[str, Any] = dict.fromkeys(ARROW_SCHEMA.names, 0)
    row |= {"api": "Produce", "status": "responded", "kind": "new", "topic": "t", "mutations": 1}
    return [row | {"tenant": tenant.name, "user": tenant.principal} for tenant in plan.tenants]
