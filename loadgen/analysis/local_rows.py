"""Views of a few rows that the driver knows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_rows(spark: "SparkSession", name: str, schema: str, rows: Sequence[Sequence[Any]]) -> None:
    """Open a view of rows; `createDataFrame` would run a task in Python for each use of them.

    `schema` names the columns and their simple types, as `user string, quota double`. No value is
    None.
    """
    fields = [field.split() for field in schema.split(", ")]
    columns = {column: [row[index] for row in rows] for index, (column, _) in enumerate(fields)}
    arrays = ", ".join(f"CAST(:{column} AS ARRAY<{kind}>)" for column, kind in fields)
    sql = f"SELECT inline(arrays_zip({arrays})) AS ({', '.join(columns)})"
    spark.sql(sql, columns).createOrReplaceTempView(name)
