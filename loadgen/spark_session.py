"""A Spark session that starts fast, logs to a file and runs each task once."""

import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from loadgen import pack
from loadgen.command_error import CommandError
from loadgen.spark_connect import address_here, connected_session, is_connect, is_connected
from protocol.properties import parse_properties

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

REQUIRED_SPARK_SETTINGS = {
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
}
"""Other values would let Spark send a load twice or start its workers at different times."""
LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Stages that are not part of a load; a summary chooses its own from the number of rows.
    "spark.sql.shuffle.partitions": "2",
    "spark.python.daemon.module": f"{__package__}.worker_daemon",
}
"""What is quicker and quieter on one machine."""
_PY4J = "An error occurred while calling"
_PYTHON_ERROR = re.compile(r"[a-z_]\w*(\.\w+)*\.\w*(Error|Exception): |[A-Z]\w*(Error|Exception): ")
_WITHOUT_VALUE = {"spark.speculation": "false", "spark.dynamicAllocation.enabled": "false"}

JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_END_TIMEOUT_S = 5


class SessionError(CommandError):
    """The session cannot start; the message is one line."""


NO_ARCHIVE = (
    "workers of Spark Connect have what its server gives them: start it with --archives and"
    " spark.executorEnv.PYTHONPATH instead of --environment here"
)


def settings() -> dict[str, str]:
    """Return the settings in `spark.properties`, which `spark-submit` reads as well."""
    return parse_properties((files(__package__) / "spark.properties").read_text(encoding="utf-8"))


@contextmanager
def load_session(
    master: str,
    folder: Path,
    more: Mapping[str, str] | None = None,
    environment: Path | None = None,
    jvm_options: str = "",
    end_timeout_s: float = _END_TIMEOUT_S,
    starts_workers: bool = False,
) -> Iterator["SparkSession"]:
    """Start a JVM and a session, and stop them after the block; the log is folder/spark.log.

    `more` are settings in addition to those of `settings`. `environment` is an archive of
    `mock-kafka load pack` for the executors. `jvm_options` are further ones of the driver's JVM,
    which is killed if it does not end within `end_timeout_s`. `starts_workers` starts Python
    workers in advance if the master is local. A server of Spark Connect has its own settings.

    Raises:
        PackError: there is no such archive.
        SessionError: the JVM does not start, or the master is unreachable.
    """
    if is_connect(master):
        with _session_of_server(master, environment) as session:
            yield session
        return
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - slow to load, and not needed to plan
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    conf = SparkConf(loadDefaults=False).setAll(list(settings().items()))
    conf.setAll(list(pack.session_settings(environment).items()))
    conf.setAll(list((more or {}).items())).set("spark.master", master)
    conf.set("spark.sql.warehouse.dir", str(folder / "warehouse"))
    if is_local(master):
        conf.setAll(list(LOCAL_SETTINGS.items()))
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # The path of this Python is rarely that of executors which need an archive.
    executors_python = sys.executable if environment is None else pack.PYTHON
    os.environ.setdefault("PYSPARK_PYTHON", executors_python)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", JVM_OPTIONS)
    os.environ.setdefault(
        "SPARK_HOME", _find_spark_home()
    )  # else the script starts a Python for it
    with (
        _quiet_py4j(),
        as_file(files(__package__) / "log4j2.properties") as log4j,
        (folder / "spark.log").open("wb") as log,
    ):
        options = (
            f"{JVM_OPTIONS} {jvm_options} -Dlog4j2.configurationFile={log4j.resolve().as_uri()}"
        )
        conf.set("spark.driver.extraJavaOptions", options)
        try:
            # The JVM writes warnings before its log is set up.
            gateway = launch_gateway(conf, popen_kwargs={"stderr": log})
        except Exception as error:
            raise SessionError(f"Spark does not start; see {folder / 'spark.log'}") from error
        try:
            try:
                context = SparkContext(conf=conf, gateway=gateway)
                slots = slots_of(master)
                if starts_workers and slots is not None:
                    _start_workers(context, slots)
                session = SparkSession(context)
            except Exception as error:
                raise SessionError(
                    f"no Spark at {master}: {first_line(error)}; see {folder / 'spark.log'}"
                ) from error
            try:
                yield session
            finally:
                with suppress(Exception):  # the JVM may be gone; it ends below
                    session.stop()
        finally:
            with suppress(Exception):
                gateway.shutdown()
            _end(gateway.proc, end_timeout_s)


@contextmanager
def _session_of_server(url: str, environment: Path | None) -> Iterator["SparkSession"]:
    if environment is not None:
        raise SessionError(NO_ARCHIVE)
    with ExitStack() as stack:
        try:
            session = stack.enter_context(connected_session(url))
            session.conf.get("spark.master", None)  # the first call to the server
        except Exception as error:
            raise SessionError(f"no Spark at {url}: {first_line(error)}") from error
        yield session


def _start_workers(context: "SparkContext", count: int) -> None:
    """Start Python workers for the first job, in a thread; the first job says why none starts."""

    def start() -> None:
        with suppress(Exception):
            context.parallelize(range(count), count).foreachPartition(lambda _: None)

    threading.Thread(target=start, name="load-workers", daemon=True).start()


def end_python_jobs(session: "SparkSession") -> None:
    """Prepare a session for its end; from now on no job may use Python.

    PySpark has a server for the accumulators of such jobs, which looks only once a second whether
    it shall end, and stopping the session waits for it.
    """
    context = getattr(session, "sparkContext", None)  # Spark Connect has none
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        threading.Thread(target=server.shutdown, name="load-accumulators", daemon=True).start()


@contextmanager
def _quiet_py4j() -> Iterator[None]:
    """Drop what Py4J logs, because it raises the same. It uses the root logger for Ctrl-C."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    root = logging.getLogger()
    root.addFilter(_is_not_of_py4j)
    try:
        yield
    finally:
        root.removeFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _end(process: "subprocess.Popen[bytes]", timeout_s: float) -> None:
    """Terminate the JVM, or kill it after a timeout."""
    if process.stdin is not None:
        process.stdin.close()
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wrong_spark_settings(spark: "SparkSession") -> list[str]:
    """Return the settings of a session that a load cannot run with, one message each."""
    found = []
    for key, required in REQUIRED_SPARK_SETTINGS.items():
        value = spark.conf.get(key, _WITHOUT_VALUE.get(key, "unset"))
        if value != required:
            found.append(f"{key}={value}, and a load needs {required}")
    return found


def spark_settings(spark: "SparkSession") -> dict[str, str]:
    """Return the settings of a session."""
    if is_connected(spark):
        return dict(spark.conf.getAll)
    return dict(spark.sparkContext.getConf().getAll())


def driver_host(spark: "SparkSession") -> str:
    """Return the address at which workers reach this process."""
    host = spark.conf.get("spark.driver.host", None) or "127.0.0.1"
    return address_here(host) if is_connected(spark) else host


def is_local_session(spark: "SparkSession") -> bool:
    """Return whether the tasks run in the JVM that this process has started."""
    return not is_connected(spark) and is_local(spark.sparkContext.master or "")


def slots_of(master: str) -> int | None:
    """Return the number of slots of a local master; None for a cluster."""
    if not is_local(master):
        return None
    inside = master.removeprefix("local").strip("[]").partition(",")[0]
    if inside == "*":
        return os.cpu_count() or 1
    return int(inside) if inside.isdecimal() else 1


def jvm_pid(spark: "SparkSession") -> int | None:
    """Return the process id of the driver's JVM if this process started it."""
    gateway = getattr(getattr(spark, "sparkContext", None), "_gateway", None)
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)


def first_line(error: BaseException) -> str:
    """Return the line of an error of Spark that says what is wrong, without its stack traces.

    It is the error of a Python worker if there is one.
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    of_python = [line for line in lines if _PYTHON_ERROR.match(line)]
    if of_python and any(line.lstrip().startswith("Traceback") for line in lines):
        return of_python[-1]
    if lines[0].startswith(_PY4J) and len(lines) > 1:
        return lines[1].removeprefix(": ")
    return lines[0]


def is_local(master: str) -> bool:
    """Return whether a master runs its tasks in the process of the driver."""
    return master == "local" or master.startswith("local[")
