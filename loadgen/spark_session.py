"""A Spark session that is quick to start, quiet, and sends every load once."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.properties import parse_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HONEST = {
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
}
"""Another value of any of these makes Spark send a load twice, or refuse to start it together."""
_WITHOUT_VALUE = {"spark.speculation": "false", "spark.dynamicAllocation.enabled": "false"}

_JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_END_TIMEOUT_S = 5


class SessionError(Exception):
    """There can be no such session; one line."""


def settings() -> dict[str, str]:
    """What `spark.properties` says; the file is there for `spark-submit` as well."""
    return parse_properties((files(__package__) / "spark.properties").read_text(encoding="utf-8"))


@contextmanager
def load_session(
    master: str, folder: Path, more: Mapping[str, str] | None = None
) -> Iterator["SparkSession"]:
    """A session of its own until the end of the block; what the JVM says is in folder/spark.log.

    `more`: settings besides those of `settings`.

    Raises:
        SessionError: the JVM does not start, or the master can't be reached.
    """
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - slow to load, and not needed to plan
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # Whatever it logs, a call that was interrupted among it, comes as an exception as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    conf = SparkConf(loadDefaults=False).setAll(list(settings().items()))
    conf.setAll(list((more or {}).items())).set("spark.master", master)
    conf.set("spark.sql.warehouse.dir", str(folder / "warehouse"))
    if _is_local(master):
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _JVM_OPTIONS)
    with (
        as_file(files(__package__) / "log4j2.properties") as log4j,
        (folder / "spark.log").open("wb") as log,
    ):
        options = f"{_JVM_OPTIONS} -Dlog4j2.configurationFile={log4j.resolve().as_uri()}"
        conf.set("spark.driver.extraJavaOptions", options)
        try:
            # The JVM warns of its own modules before any log is set up.
            gateway = launch_gateway(conf, popen_kwargs={"stderr": log})
        except Exception as error:
            raise SessionError(f"Spark does not start; see {folder / 'spark.log'}") from error
        try:
            try:
                session = SparkSession(SparkContext(conf=conf, gateway=gateway))
            except Exception as error:
                raise SessionError(
                    f"no Spark at {master}: {first_line(error)}; see {folder / 'spark.log'}"
                ) from error
            try:
                yield session
            finally:
                with suppress(Exception):  # of a JVM that is gone or was interrupted: it ends below
                    session.stop()
        finally:
            with suppress(Exception):
                gateway.shutdown()
            _end(gateway.proc)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Nothing of ours outlives us, whatever the JVM is busy with."""
    if process.stdin is not None:
        process.stdin.close()
    process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def dishonest_settings(spark: "SparkSession") -> list[str]:
    """What is set in a session that others made and that would falsify a load."""
    found = []
    for key, wanted in HONEST.items():
        value = spark.conf.get(key, _WITHOUT_VALUE.get(key, "unset"))
        if value != wanted:
            found.append(f"{key}={value}, and a load needs {wanted}")
    return found


def slots_of(master: str) -> int | None:
    """How many tasks a local master runs at once; None for a cluster, which has to be asked."""
    if not _is_local(master):
        return None
    inside = master.removeprefix("local").strip("[]").partition(",")[0]
    if inside == "*":
        return os.cpu_count() or 1
    return int(inside) if inside.isdecimal() else 1


def first_line(error: BaseException) -> str:
    """What an error of Spark's says before its traces."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")
