"""The one Spark session of a test run: local, quiet, and with Spark's own Kafka connector."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.maven import CannotRunError, fetch_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What the connector's project file names. Of the token provider, which is for delegation tokens,
# Maven Central lacks the connector's own version; this is the last before it.
KAFKA_CLIENTS = "org.apache.kafka:kafka-clients:3.9.2"
_TOKEN_PROVIDER = "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1"
_POOL = "org.apache.commons:commons-pool2:2.13.1"
_SETTINGS = {"spark.app.name": "mock-kafka-tests", "spark.default.parallelism": "2"}


def connector_jars() -> Path:
    """The folder with the Kafka source and sink of the PySpark that is installed.

    Raises:
        CannotRunError: PySpark, java or mvn is missing, or Maven Central can't be reached.
    """
    try:
        spark = version("pyspark")
    except PackageNotFoundError as error:
        raise CannotRunError("PySpark is not here: install the extra spark") from error
    connector = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}"
    return fetch_jars(
        f"spark-kafka-{spark}",
        (connector, _TOKEN_PROVIDER, KAFKA_CLIENTS, _POOL),
        only_these=True,
    )


@contextmanager
def spark_session(folder: Path) -> Iterator["SparkSession"]:
    """A session until the end of the block, with a separate JVM; its log is folder/spark.log.

    The connector is there if it can be had; who needs it asks `connector_jars`.

    Raises:
        CannotRunError: PySpark or java is missing.
    """
    if find_spec("pyspark") is None:
        raise CannotRunError("PySpark is not here: install the extra spark")
    if shutil.which("java") is None:
        raise CannotRunError("Spark needs java, which is not here")
    from loadgen.spark_session import load_session  # noqa: PLC0415 - not everybody has it

    more = {**_SETTINGS, "spark.local.dir": str(folder / "local")}
    with suppress(CannotRunError):
        more["spark.jars"] = ",".join(map(str, sorted(connector_jars().glob("*.jar"))))
    with load_session("local[2]", folder, more) as session:
        yield session
