"""The one Spark session of a test run: local, quiet, and with Spark's own Kafka connector."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.maven import CannotRunError, fetch_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What the connector's project file names. Of the token provider, which is for delegation tokens,
# Maven Central lacks the connector's own version; this is the last before it.
KAFKA_CLIENTS = "org.apache.kafka:kafka-clients:3.9.2"
_TOKEN_PROVIDER = "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1"
_POOL = "org.apache.commons:commons-pool2:2.13.1"
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
# Or it tells how to be quieter, whatever the root says.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
_JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_END_TIMEOUT_S = 10
_SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "mock-kafka-tests",
    "spark.default.parallelism": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A task that is tried again sends its load twice.
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
}


def connector_jars() -> Path:
    """The folder with the Kafka source and sink of the PySpark that is installed.

    Raises:
        CannotRunError: PySpark, java or mvn is missing, or Maven Central can't be reached.
    """
    try:
        spark = version("pyspark")
    except PackageNotFoundError as error:
        raise CannotRunError("PySpark is not here: pip install 'mock-kafka[spark]'") from error
    connector = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}"
    return fetch_jars(
        f"spark-kafka-{spark}",
        (connector, _TOKEN_PROVIDER, KAFKA_CLIENTS, _POOL),
        only_these=True,
    )


@contextmanager
def spark_session(folder: Path) -> Iterator["SparkSession"]:
    """A session until the end of the block, with a JVM of its own; its log is folder/spark.log.

    The connector is there if it can be had; who needs it asks `connector_jars`.

    Raises:
        CannotRunError: PySpark or java is missing.
    """
    try:
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - not everybody has it
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError as error:
        raise CannotRunError("PySpark is not here: pip install 'mock-kafka[spark]'") from error
    if shutil.which("java") is None:
        raise CannotRunError("Spark needs java, which is not here")
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J)
    options = f"{_JVM_OPTIONS} -Dlog4j2.configurationFile={log4j.as_uri()}"
    conf = SparkConf(loadDefaults=False).setAll(list(_SETTINGS.items()))
    conf.set("spark.driver.extraJavaOptions", options)
    conf.set("spark.sql.warehouse.dir", str(folder / "warehouse"))
    conf.set("spark.local.dir", str(folder / "local"))
    with suppress(CannotRunError):
        conf.set("spark.jars", ",".join(map(str, sorted(connector_jars().glob("*.jar")))))
    with pytest.MonkeyPatch.context() as environment, (folder / "spark.log").open("wb") as log:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("SPARK_LAUNCHER_OPTS", _JVM_OPTIONS)
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        # The JVM warns of its own modules before any log is set up.
        gateway = launch_gateway(conf, popen_kwargs={"stderr": log})
        session = SparkSession(SparkContext(conf=conf, gateway=gateway))
        try:
            yield session
        finally:
            session.stop()
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(_END_TIMEOUT_S)
