"""What holds for every test: hypothesis without a clock, our `broker` on the path, one Spark."""

import os
import re
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import broker
from tests.maven import CannotRunError
from tests.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLIENT_THREAD = re.compile(r"^kafka-io-|-network-thread$")
REPOSITORY = Path(__file__).resolve().parent.parent

# Machines are slow at times: an example has no deadline. In CI the examples are always the same.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


def pytest_sessionstart() -> None:
    """Stop at once when somebody else's `broker` would be tested."""
    found = Path(broker.__file__ or "?").resolve()
    if not found.is_relative_to(REPOSITORY):
        pytest.exit(
            f"`import broker` found {found}, not this repository's. PyPI has a project named"
            " `broker` that takes the same folder: uninstall it, or use an environment of its own"
            " (scripts/setup makes one).",
            returncode=4,
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, None, None]:
    """A kafka-python client left running would look for its broker during all later tests."""
    yield
    threads = [thread for thread in threading.enumerate() if _CLIENT_THREAD.search(thread.name)]
    for thread in threads:
        thread.join(timeout=5)
    assert not any(thread.is_alive() for thread in threads), f"left running: {threads}"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The Spark session that all tests share; where it can't be had, the skip says why."""
    try:
        with spark_session(tmp_path_factory.mktemp("spark")) as session:
            yield session
    except CannotRunError as error:
        pytest.skip(str(error))
