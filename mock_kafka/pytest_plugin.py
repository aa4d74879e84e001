"""The pytest plugin: fixtures `mock_kafka` and `mock_kafka_factory`.

pytest loads this in every project that has mock-kafka installed, so it imports nothing of the rest
before a test asks for it.
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
    """What can be set for all tests; a marker says otherwise for one."""
    group = parser.getgroup("mock-kafka")
    group.addoption(
        "--mock-kafka-brokers",
        type=int,
        metavar="N",
        help="how many brokers the fixture mock_kafka has (ini: mock_kafka_brokers; default: 1)",
    )
    group.addoption(
        "--mock-kafka-config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a key of the brokers' configuration; may be given often (ini: mock_kafka_config)",
    )
    group.addoption(
        "--mock-kafka-faults",
        metavar="FILE",
        help="fault rules that every cluster begins with (ini: mock_kafka_faults, from the root)",
    )
    group.addoption(
        "--mock-kafka-log",
        type=int,
        default=_LINES_SHOWN,
        metavar="N",
        help="how many of the last requests a failing test shows (default: %(default)s)",
    )
    group.addoption(
        "--mock-kafka-audit",
        action="store_true",
        default=None,
        help="fail a test whose clusters did not store what they acknowledged"
        " (ini: mock_kafka_audit)",
    )
    parser.addini("mock_kafka_brokers", "how many brokers the fixture mock_kafka has", default="1")
    parser.addini("mock_kafka_config", "KEY=VALUE of the brokers, one a line", type="linelist")
    parser.addini("mock_kafka_faults", "JSON file of fault rules for every cluster", default="")
    parser.addini("mock_kafka_audit", "audit every cluster after its test", type="bool")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "mock_kafka(brokers=1, config={}, faults=[], audit=False): what the fixture mock_kafka is"
        " like for this test; config and faults add to what is set for all",
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
    """`mock_kafka_factory(brokers=3, config={...}, faults=[...])`: a cluster, as often as called.

    It runs. What is left out is as the options say; `faults` may be the path of a file too. With
    `audit=True` the test fails when the audit has findings after it. Clusters are shared with other
    tests, one after the other, and are such as just started.
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
    """A Kafka cluster, empty, for this test alone: a `mock_kafka.MockKafka` that runs.

    `@pytest.mark.mock_kafka(brokers=3, config={...}, faults=[...], audit=True)` says what it is
    like.
    """
    marker = request.node.get_closest_marker("mock_kafka")
    return mock_kafka_factory(**(marker.kwargs if marker else {}))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that has passed when the audit of one of its clusters has findings."""
    yield
    reports = [kafka.audit() for kafka in item.stash.get(_audited, ()) if kafka.is_running]
    findings = [str(each) for each in reports if each.finding_count]
    if findings:
        pytest.fail("\n".join(findings), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failing test which requests its clusters have got."""
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
    except (OSError, RuntimeError) as error:  # a report must not fail for it
        return f"not to be had: {error}"
    lines.sort(key=lambda line: line.number)
    return "\n".join(map(str, lines[-count:])) or "none came"


def _brokers(options: pytest.Config) -> int:
    given = options.getoption("--mock-kafka-brokers")
    return int(options.getini("mock_kafka_brokers") if given is None else given)


def _is_audited(options: pytest.Config) -> bool:
    given: bool | None = options.getoption("--mock-kafka-audit")
    return bool(options.getini("mock_kafka_audit")) if given is None else given


def _faults(options: pytest.Config) -> "Path | None":
    given: str | None = options.getoption("--mock-kafka-faults")
    if given is not None:
        return options.invocation_params.dir / given
    from_root: str = options.getini("mock_kafka_faults")
    return options.rootpath / from_root if from_root else None


def _config(options: pytest.Config) -> dict[str, Any]:
    words = [*options.getini("mock_kafka_config"), *options.getoption("--mock-kafka-config")]
    config: dict[str, Any] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator:
            raise pytest.UsageError(f"mock_kafka_config: {word!r} should be KEY=VALUE")
        config[key.strip()] = value.strip()
    return config
