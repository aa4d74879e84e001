"""The pytest plugin: `mock_kafka`, its factory, and clusters for a module or a session.

pytest loads this module in every project that has mock-kafka installed. So it imports the other
modules only when a test uses a fixture.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from mock_kafka.arguments import Ports
    from mock_kafka.cluster import MockKafka
    from mock_kafka.exploration.search import Plan
    from mock_kafka.fault import Rules
    from mock_kafka.pool import ClusterPool


__tracebackhide__ = True
"""No frame of this module is in the traceback of a failing test."""

SECTION = "mock-kafka requests"
NEAR_MISSES = "mock-kafka near misses"
_LINES_SHOWN = 50
_MARKER_ARGUMENTS = (
    "brokers",
    "config",
    "faults",
    "audit",
    "acls",
    "allow",
    "deny",
    "tls",
    "users",
    "ports",
)
_OPTIONS = ("brokers", "config", "faults", "log", "audit", "seed")
_SHARED: Mapping[str, type[pytest.Collector]] = {
    "mock_kafka_module": pytest.Module,
    "mock_kafka_session": pytest.Session,
}
_lent = pytest.StashKey[list["MockKafka"]]()
_audited = pytest.StashKey[list["MockKafka"]]()
_prepared = pytest.StashKey[dict["MockKafka", Callable[[], None]]]()
"""What to do after a reset of a cluster: add the rules of its marker and of the options."""
_EXPLORED = {"brokers": 3, "audit": True}
"""Arguments of the marker for tests with `@mock_kafka.explore`."""


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
    group.addoption(
        "--mock-kafka-seed",
        type=int,
        action="append",
        metavar="N",
        help="run tests of @mock_kafka.simulated with this seed only; can be repeated",
    )
    group.addoption(
        "--explore-runs",
        type=int,
        metavar="N",
        help="number of schedules for each test with @mock_kafka.explore, whatever the test says",
    )
    group.addoption(
        "--explore-seed",
        type=int,
        metavar="N",
        help="seed of these schedules, instead of the test's own",
    )
    parser.addini("mock_kafka_brokers", "number of brokers of the fixture mock_kafka", default="1")
    parser.addini(
        "mock_kafka_config", "broker configuration, one KEY=VALUE per line", type="linelist"
    )
    parser.addini("mock_kafka_faults", "JSON file of fault rules for every cluster", default="")
    parser.addini("mock_kafka_audit", "audit every cluster after its test", type="bool")


def pytest_load_initial_conftests(args: list[str]) -> None:
    """Refuse unknown options that begin like ours, and name the closest one."""
    known = [f"--mock-kafka-{name}" for name in _OPTIONS]
    for argument in args:
        name = argument.partition("=")[0]
        if name.startswith("--mock-kafka") and name not in known:
            raise pytest.UsageError(_unknown("option", name, known))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and ignore what kafka-python warns of at its import on 3.11 and 3.12.

    The users of the broker's dependency cannot change that, and it is 200 lines.
    """
    for warning in (
        r"read_text is deprecated:DeprecationWarning:kafka\.protocol\.schemas\.load_json",
        r"open_text is deprecated:DeprecationWarning:importlib\.resources\._legacy",
    ):
        config.addinivalue_line("filterwarnings", f"ignore:{warning}")
    config.addinivalue_line(
        "markers",
        "mock_kafka(brokers=1, config={}, faults=[], audit=False, acls=False, allow=[], deny=[],"
        " tls=False, users={}, ports='same'): settings of the fixture mock_kafka for this test;"
        " config and faults are added to those for all tests; ports='new' refuses clients that a"
        " test before left behind",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of `@mock_kafka.simulated` once with each of its seeds."""
    count = getattr(metafunc.function, "simulated_seeds", None)
    if count is not None:
        seeds = metafunc.config.getoption("mock_kafka_seed") or range(count)
        metafunc.parametrize("simulation_seed", seeds)


@pytest.fixture(scope="session")
def _mock_kafka_pool() -> "Iterator[ClusterPool]":
    from mock_kafka.cluster import MockKafka  # noqa: PLC0415 - see the module's docstring
    from mock_kafka.pool import ClusterPool  # noqa: PLC0415

    pool = ClusterPool(lambda **settings: MockKafka(**settings).start())
    yield pool
    pool.close()


class _Lender:
    """Lends clusters of the pool to a test, a module or a session, until `end`."""

    def __init__(self, node: pytest.Item | pytest.Collector, pool: "ClusterPool") -> None:
        self._options = node.config
        self._pool = pool
        self._lent = node.stash.setdefault(_lent, [])
        self._audited = node.stash.setdefault(_audited, [])
        self._prepared = node.stash.setdefault(_prepared, {})

    def lend(
        self,
        brokers: int | None = None,
        config: Mapping[str, Any] | None = None,
        faults: "Rules | None" = None,
        audit: bool | None = None,
        acls: bool = False,
        allow: "Sequence[Mapping[str, Any]]" = (),
        deny: "Sequence[Mapping[str, Any]]" = (),
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        ports: "Ports" = "same",
    ) -> "MockKafka":
        options = self._options
        is_audited = _is_audited(options) if audit is None else audit
        kafka = self._pool.lend(
            ports=ports,
            brokers=_brokers(options) if brokers is None else brokers,
            config={
                **_config(options),
                **(config or {}),
                **({"audit.enable": True} if is_audited else {}),
            },
            acls=bool(acls or allow or deny),
            tls=tls,
            users=users,
        )
        self._lent.append(kafka)
        if is_audited:
            self._audited.append(kafka)

        def prepare() -> None:
            for rules in (_faults(options), faults):
                if rules is not None:
                    kafka.add_faults(rules)
            for arguments in allow:
                kafka.allow(**arguments)
            for arguments in deny:
                kafka.deny(**arguments)

        prepare()
        self._prepared[kafka] = prepare
        return kafka

    def end(self) -> None:
        self._audited.clear()
        self._prepared.clear()
        while self._lent:
            self._pool.take_back(self._lent.pop())


@pytest.fixture
def mock_kafka_factory(
    request: pytest.FixtureRequest, _mock_kafka_pool: "ClusterPool"
) -> "Iterator[Callable[..., MockKafka]]":
    """Return a function that returns a running cluster on each call.

    `mock_kafka_factory(brokers=3, config={...}, faults=[...], tls=True, users={...})`. The defaults
    are those of the options. `faults` may also be the path of a file. With `audit=True` the test
    fails if the audit has findings. `acls`, `allow` and `deny` are as in the marker. Clusters are
    reused between tests, and reset before each; with `ports="new"` they move to new ports then.
    """
    lender = _Lender(request.node, _mock_kafka_pool)
    yield lender.lend
    lender.end()


@pytest.fixture
def mock_kafka(
    request: pytest.FixtureRequest, mock_kafka_factory: "Callable[..., MockKafka]"
) -> "MockKafka":
    """Return a running, empty `mock_kafka.MockKafka` for this test only.

    `@pytest.mark.mock_kafka(brokers=3, config={...}, faults=[...], audit=True)` configures it, also
    `tls=True`, `users={"alice": "secret"}`, `acls=True` and `ports="new"`. `allow` and `deny` are
    lists of arguments of the methods, such as `{"principal": "alice", "operations": "read",
    "topic": "orders"}`; they switch on `acls`.
    """
    return mock_kafka_factory(**_marked(request))


@pytest.fixture(scope="module")
def mock_kafka_module(
    request: pytest.FixtureRequest, _mock_kafka_pool: "ClusterPool"
) -> "Iterator[MockKafka]":
    """Return a running `mock_kafka.MockKafka` that the tests of a module share.

    It is empty at the start of the module, and not reset between its tests.
    `pytestmark = pytest.mark.mock_kafka(brokers=3)` in the module configures it.
    """
    lender = _Lender(request.node, _mock_kafka_pool)
    yield lender.lend(**_marked(request))
    lender.end()


@pytest.fixture(scope="session")
def mock_kafka_session(
    request: pytest.FixtureRequest, _mock_kafka_pool: "ClusterPool"
) -> "Iterator[MockKafka]":
    """Return a running `mock_kafka.MockKafka` that all tests of a session share.

    It is not reset between tests. The options configure it, not the marker.
    """
    lender = _Lender(request.node, _mock_kafka_pool)
    yield lender.lend()
    lender.end()


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the arguments of the marker `mock_kafka` that applies."""
    from mock_kafka.exploration import IS_EXPLORED  # noqa: PLC0415 - see the module's docstring

    is_explored = getattr(getattr(request.node, "function", None), IS_EXPLORED, False)
    defaults: dict[str, Any] = dict(_EXPLORED) if is_explored else {}
    marker = request.node.get_closest_marker("mock_kafka")
    if marker is None:
        return defaults
    if marker.args:
        expected = "mock_kafka(brokers=3, config={...}, faults=[...], audit=True)"
        raise pytest.UsageError(f"marker mock_kafka takes named arguments only: {expected}")
    for name in marker.kwargs:
        if name not in _MARKER_ARGUMENTS:
            reason = _unknown("argument", name, _MARKER_ARGUMENTS)
            raise pytest.UsageError(f"marker mock_kafka: {reason}")
    return {**defaults, **marker.kwargs}


def prepare_again(node: pytest.Item, kafka: "MockKafka") -> None:
    """Add the rules of the marker and the options to a cluster of a test after a reset."""
    node.stash[_prepared][kafka]()


def plan_with_options(plan: "Plan", options: pytest.Config) -> "Plan":
    """Return a plan with the runs and the seed of the options, if they are set."""
    from dataclasses import replace  # noqa: PLC0415 - see the module's docstring

    given = {name: options.getoption(f"--explore-{name}") for name in ("runs", "seed")}
    return replace(plan, **{name: value for name, value in given.items() if value is not None})


def _unknown(kind: str, name: str, known: Sequence[str]) -> str:
    from mock_kafka.near_names import did_you_mean  # noqa: PLC0415 - only for an error

    return f"unknown {kind} {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse markers whose names are nearly `mock_kafka`: they would have no effect."""
    for item in items:
        for marker in item.iter_markers():
            if marker.name != "mock_kafka" and marker.name.startswith("mock_kaf"):
                reason = _unknown("marker", marker.name, ["mock_kafka"])
                raise pytest.UsageError(f"{item.nodeid}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that passed if the audit of one of its clusters has findings.

    What an unclean election or `truncate` has lost is no reason: the test has asked for it.
    """
    yield
    reports = [kafka.audit() for kafka in _clusters(item, _audited) if kafka.is_running]
    if not reports:
        return
    from mock_kafka.audit import ON_PURPOSE  # noqa: PLC0415 - for tests without clusters

    findings = [str(report) for report in reports if report.has_findings(except_kinds=ON_PURPOSE)]
    if findings:
        pytest.fail("\n".join(findings), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the last requests of its clusters, and near misses, to the report of a failing test."""
    report = yield
    count = item.config.getoption("--mock-kafka-log")
    if report.failed and count > 0:
        from mock_kafka.pytest_report import last_requests, near_misses  # noqa: PLC0415

        for kafka in _clusters(item, _lent):
            text = last_requests(kafka, count, verbosity=item.config.option.verbose)
            report.sections.append((SECTION, text))
            if near := near_misses(kafka):
                report.sections.append((NEAR_MISSES, near))
    return report


def _clusters(item: pytest.Item, key: "pytest.StashKey[list[MockKafka]]") -> "Iterator[MockKafka]":
    """Yield the clusters that a test uses: its own, and those that it shares."""
    used = getattr(item, "fixturenames", ())
    for node in item.listchain():
        fixture = next((name for name, kind in _SHARED.items() if isinstance(node, kind)), None)
        if node is item or fixture in used:
            yield from node.stash.get(key, ())


def _brokers(options: pytest.Config) -> int:
    from_option: int | None = options.getoption("--mock-kafka-brokers")
    if from_option is not None:
        return from_option
    from_file: str = options.getini("mock_kafka_brokers")
    try:
        return int(from_file)
    except ValueError:
        raise pytest.UsageError(f"mock_kafka_brokers: {from_file!r} is not a number") from None


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
