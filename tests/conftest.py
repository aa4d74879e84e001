"""Set up every test: hypothesis profiles, the check of `import broker`, groups for xdist, Spark."""

import os
import re
import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import broker
from broker.log import log
from scenarios.maven import CannotRunError
from tests.audited_clusters import AuditedClusters
from tests.left_connections import LeftConnections
from tests.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLIENT_THREAD = re.compile(r"^kafka-io-|-network-thread$")
audited = AuditedClusters()
left_connections = LeftConnections()
REPOSITORY = Path(__file__).resolve().parent.parent

# Machines are slow at times: an example has no deadline. In CI the examples are always the same, so
# there are half as many.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("fast", deadline=None, max_examples=15)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "desk")
)


def pytest_sessionstart() -> None:
    """Stop at once when `import broker` finds another project's package; accept Ctrl-C."""
    # A shell's job in the background ignores it, and so do its children; tests send it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    found = Path(broker.__file__ or "?").resolve()
    if not found.is_relative_to(REPOSITORY):
        pytest.exit(
            f"`import broker` found {found}, not this repository's. PyPI has a project named"
            " `broker` that takes the same folder: uninstall it, or use a separate environment"
            " (scripts/setup makes one).",
            returncode=4,
        )


# What is expensive to start runs in one worker of pytest-xdist (`--dist loadgroup`).
_SHARED_BY_GROUP = ("spark", "apache_kafka", "servers")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that need Spark, and keep the tests that share a JVM in one worker."""
    fixtures = getattr(item, "fixturenames", ())
    if "spark" in fixtures:
        item.add_marker(pytest.mark.spark)
    if any(name in fixtures for name in _SHARED_BY_GROUP):
        item.add_marker(pytest.mark.xdist_group("jvm"))
    if "wheel" in fixtures and item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group("wheel"))  # one worker builds it


@pytest.hookimpl(trylast=True)  # after the marks that tests/interop/conftest.py gives
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give interop tests the fixture that audits their clusters."""
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("interop"):
            # The first fixture is torn down last: when those of the test have stopped.
            item.fixturenames.insert(0, "audit_after_test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Audit every MockKafka that an interop test starts, and collect what any test leaves."""
    left_connections.watch()
    with audited if item.get_closest_marker("interop") else nullcontext():
        result = yield
    left_connections.collect()
    # A command that wrote no line would configure the log in a later test, which reads its lines.
    log.before_first_line, log.level = None, "debug"
    return result


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Load none of the plugins that only our own tests need: they take two seconds of each run."""
    plugins = ("anyio", "schemathesis", "hypothesispytest", "pytest_cov")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in plugins))
    return pytester


@pytest.fixture
def audit_after_test() -> Iterator[None]:
    """Fail the test when the audit of any cluster has findings that were not there before."""
    yield
    assert [str(finding) for finding in audited.new_findings()] == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, None, None]:
    """Fail a test that leaves a kafka-python client running: it would disturb all later tests."""
    yield
    threads = [thread for thread in threading.enumerate() if _CLIENT_THREAD.search(thread.name)]
    for thread in threads:
        thread.join(timeout=5)
    assert not any(thread.is_alive() for thread in threads), f"left running: {threads}"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """Return the Spark session that all tests share, or skip and say what is missing."""
    try:
        with spark_session(tmp_path_factory.mktemp("spark")) as session:
            yield session
    except CannotRunError as error:
        pytest.skip(str(error))
