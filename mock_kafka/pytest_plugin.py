"""The pytest plugin: fixtures `mock_kafka` and `mock_kafka_factory`.

pytest loads this module in every project that has mock-kafka installed. So it imports the other
modules only when a test uses a fixture.
"""

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from mock_kafka.cluster import MockKafka
    from mock_kafka.fault import Rules
    from mock_kafka.pool import ClusterPool


SECTION = "mock-kafka requests"
_LINES_SHOWN = 50
_lent = pytest.StashKey[list["MockKafka"]]()
_audited = pytest.StashKey[list["MockKafka"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for all tests; a marker has precedence for one test."""
    group = parser.getgroup("mock-kafka")
    group.addoption(
        "--mock-kafka-brokers",
        type=int,
        metavar="N",
        help="number of brokers of the fixture mock_kafka (ini: mock_kafka_brokers; default: 1)",
    )
    group.addoption(
        "--mock-kafka-config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a key of the broker configuration; can be repeated (ini: mock_kafka_config)",
    )
    group.addoption(
        "--mock-kafka-faults",
        metavar="FILE",
        help="JSON file of fault rules for every cluster (ini: mock_kafka_faults, from the root)",
    )
    group.addoption(
        "--mock-kafka-log",
        type=int,
        default=_LINES_SHOWN,
        metavar="N",
        help="number of requests in the report of a failing test (default: %(default)s)",
    )
    group.addoption(
        "--mock-kafka-audit",
        action="store_true",
        default=None,
        help="fail a test if its clusters lost or duplicated acknowledged records"
        " (ini: mock_kafka_audit)",
    )
    parser.addini("mock_kafka_brokers", "number of brokers of the fixture mock_kafka", default="1")
    parser.addini(
        "mock_kafka_config", "broker configuration, one KEY=VALUE per line", type="linelist"
    )
    parser.addini("mock_kafka_faults", "JSON file of fault rules for every cluster", default="")
    parser.addini("mock_kafka_audit", "audit every cluster after its test", type="bool")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "mock_kafka(brokers=1, config={}, faults=[], audit=False): settings of the fixture"
        " mock_kafka for this test; config and faults are added to those for all tests",
    )


@pytest.fixture(scope="session")
def _mock_kafka_pool() -> "Iterator[ClusterPool]":
    from mock_kafka.cluster import MockKafka  # noqa: PLC0415 - see the module's docstring
    from mock_kafka.pool import ClusterPool  # noqa: PLC0415

    pool = ClusterPool(lambda brokers, config: MockKafka(brokers, config).start())
    yield pool
    pool.close()


@pytest.fixture
def mock_kafka_factory(
    request: pytest.FixtureRequest, _mock_kafka_pool: "ClusterPool"
) -> "Iterator[Callable[..., MockKafka]]":
    """Return a function that returns a running cluster on each call.

    `mock_kafka_factory(brokers=3, config={...}, faults=[...])`. The defaults are those of the
    options. `faults` may also be the path of a file. With `audit=True` the test fails if the audit
    has findings. Clusters are reused between tests, and reset before each.
    """
    lent: list[MockKafka] = request.node.stash.setdefault(_lent, [])

    def make(
        brokers: int | None = None,
        config: dict[str, Any] | None = None,
        faults: "Rules | None" = None,
        audit: bool | None = None,
    ) -> "MockKafka":
        options = request.config
        is_audited = _is_audited(options) if audit is None else audit
        kafka = _mock_kafka_pool.lend(
            _brokers(options) if brokers is None else brokers,
            _config(options) | (config or {}) | ({"audit.enable": True} if is_audited else {}),
        )
        lent.append(kafka)
        if is_audited:
            request.node.stash.setdefault(_audited, []).append(kafka)
        for rules in (_faults(options), faults):
            if rules is not None:
                kafka.add_faults(rules)
        return kafka

    yield make
    while lent:
        _mock_kafka_pool.take_back(lent.pop())


@pytest.fixture
def mock_kafka(
    request: pytest.FixtureRequest, mock_kafka_factory: "Callable[..., MockKafka]"
) -> "MockKafka":
    """Return a running, empty `mock_kafka.MockKafka` for this test only.

    `@pytest.mark.mock_kafka(brokers=3, config={...}, faults=[...], audit=True)` configures it.
    """
    marker = request.node.get_closest_marker("mock_kafka")
    return mock_kafka_factory(**(marker.kwargs if marker else {}))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that passed if the audit of one of its clusters has findings."""
    yield
    reports = [kafka.audit() for kafka in item.stash.get(_audited, ()) if kafka.is_running]
    findings = [str(report) for report in reports if report.finding_count]
    if findings:
        pytest.fail("\n".join(findings), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the last requests of its clusters to the report of a failing test."""
    report = yield
    count = item.config.getoption("--mock-kafka-log")
    if report.failed and count > 0:
        for kafka in item.stash.get(_lent, ()):
            report.sections.append((SECTION, _last_requests(kafka, count)))
    return report


def _last_requests(kafka: "MockKafka", count: int) -> str:
    try:
        lines = [
            *kafka.requests(limit=count, has_messages=False),
            *kafka.requests(kind="connection", limit=count),
        ]
    except (OSError, RuntimeError) as error:  # the report of the test is still needed
        return f"not available: {error}"
    lines.sort(key=lambda line: line.number)
    return "\n".join(map(str, lines[-count:])) or "no requests"


def _brokers(options: pytest.Config) -> int:
    from_option = options.getoption("--mock-kafka-brokers")
    return int(options.getini("mock_kafka_brokers") if from_option is None else from_option)


def _is_audited(options: pytest.Config) -> bool:
    from_option: bool | None = options.getoption("--mock-kafka-audit")
    return bool(options.getini("mock_kafka_audit")) if from_option is None else from_option


def _faults(options: pytest.Config) -> "Path | None":
    from_option: str | None = options.getoption("--mock-kafka-faults")
    if from_option is not None:
        return options.invocation_params.dir / from_option
    from_root: str = options.getini("mock_kafka_faults")
    return options.rootpath / from_root if from_root else None


def _config(options: pytest.Config) -> dict[str, Any]:
    entries = [*options.getini("mock_kafka_config"), *options.getoption("--mock-kafka-config")]
    config: dict[str, Any] = {}
    for entry in entries:
        key, separator, value = entry.partition("=")
        if not separator:
            raise pytest.UsageError(f"mock_kafka_config: {entry!r} must be KEY=VALUE")
        config[key.strip()] = value.strip()
    return config
