"""Spark sessions with the settings that a load needs."""

import logging
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from loadgen.spark_session import (
    REQUIRED_SPARK_SETTINGS,
    _quiet_py4j,
    _start_workers,
    end_python_jobs,
    first_line,
    settings,
    slots_of,
    wrong_spark_settings,
)

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


class FakeConf:
    """The settings of a fake session."""

    def __init__(self, **changes: str) -> None:
        self._values = {**settings(), **{f"spark.{key}": value for key, value in changes.items()}}

    def get(self, key: str, default: str) -> str:
        return self._values.get(key, default)


class FakeSession:
    """A fake session with settings only."""

    def __init__(self, **changes: str) -> None:
        self.conf: Any = FakeConf(**changes)


class FakeContext:
    """A fake context, whose jobs fail."""

    def __init__(self) -> None:
        self.has_job = threading.Event()
        self.partitions: list[int] = []

    def parallelize(self, numbers: range, partitions: int) -> "FakeContext":
        assert len(numbers) == partitions
        self.partitions.append(partitions)
        return self

    def foreachPartition(self, function: Any) -> None:  # noqa: N802 - as in Spark
        assert function([]) is None
        self.has_job.set()
        raise ConnectionResetError


def wrong_settings(**changes: str) -> list[str]:
    return wrong_spark_settings(cast("SparkSession", FakeSession(**changes)))


def test_our_own_settings_are_the_required_ones() -> None:
    assert wrong_settings() == []


def test_settings_that_would_send_a_load_twice_are_named() -> None:
    assert wrong_settings(**{"task.maxFailures": "4"}) == [
        "spark.task.maxFailures=4, and a load needs 1"
    ]
    assert wrong_settings(speculation="true") == ["spark.speculation=true, and a load needs false"]


def test_an_unset_setting_has_the_default_of_spark() -> None:
    session = FakeSession()
    session.conf._values = {}
    errors = wrong_spark_settings(cast("SparkSession", session))
    assert [error.partition("=")[0] for error in errors] == [
        key for key, value in REQUIRED_SPARK_SETTINGS.items() if value == "1"
    ]


@pytest.mark.parametrize(
    ("master", "slots"),
    [("local", 1), ("local[3]", 3), ("local[4,2]", 4), ("spark://h:1", None), ("yarn", None)],
)
def test_a_local_master_has_a_number_of_slots(master: str, slots: int | None) -> None:
    assert slots_of(master) == slots


def test_a_local_master_may_take_all_cores() -> None:
    assert (slots_of("local[*]") or 0) >= 1


def test_an_error_is_shortened_to_its_first_line() -> None:
    assert first_line(ValueError("  one\ntwo")) == "one"
    assert first_line(ValueError()) == "ValueError"
    assert first_line(
        ValueError("An error occurred while calling o7.x.\n: o.a.s.X: lost\n\tat")
    ) == ("o.a.s.X: lost")
    traceback = "An error occurred while calling o7.x.\n: Job aborted\nTraceback (most\n  File x\n"
    error = "loadgen.storage.StorageError: cannot write /x: No space left on device"
    assert first_line(ValueError(f"{traceback}{error}\n\n\tat org.apache")) == error


def test_py4j_logs_nothing_in_a_session_even_with_the_root_logger(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def log_by(path: str) -> None:
        root = logging.getLogger()
        root.handle(root.makeRecord("root", logging.ERROR, path, 1, "stack", (), None))

    with _quiet_py4j():
        log_by("/lib/py4j/java_gateway.py")
        log_by("/lib/other/java_gateway.py")
        logging.getLogger("py4j.java_gateway").error("stack")
    assert [record.pathname for record in caplog.records] == ["/lib/other/java_gateway.py"]
    log_by("/lib/py4j/java_gateway.py")
    assert len(caplog.records) == 2


def test_workers_are_started_by_a_job_whose_failure_is_no_error() -> None:
    context = FakeContext()
    _start_workers(cast("SparkContext", context), 3)
    assert context.has_job.wait(10)
    assert context.partitions == [3]


def test_the_server_of_accumulators_ends_before_the_session() -> None:
    has_ended = threading.Event()
    context = SimpleNamespace(_accumulatorServer=SimpleNamespace(shutdown=has_ended.set))
    end_python_jobs(cast("SparkSession", SimpleNamespace(sparkContext=context)))
    assert has_ended.wait(10)
