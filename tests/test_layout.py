"""Check the rules of CONTRIBUTING.md that a machine can check."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.routes import ROUTES
from protocol.messages import schema_versions
from scripts import api_reference, coverage_table, openapi_snapshot

# Each process that runs one of them parses every file.
pytestmark = pytest.mark.xdist_group("layout")
ROOT = Path(__file__).parent.parent
TEST_MODULES = sorted((ROOT / "tests").rglob("*.py"))
PACKAGES = (
    "atlas",
    "broker",
    "client",
    "loadgen",
    "mock_kafka",
    "producer_state",
    "protocol",
    "proxy",
    "quotas",
    "scenarios",
    "simulation",
)
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "types", "base"}
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
# Declarations only: nothing in them can go wrong that a type checker doesn't see.
DECLARATIONS = {
    "proxy/diff/allowed_difference.py",
    "proxy/diff/allowed_differences.py",
    "proxy/diff/mapped_fields.py",
    "proxy/diff/older_releases.py",
    "atlas/experiment.py",
    "broker/config/effects.py",
    "broker/config/ignored_keys.py",
    "broker/config/kafka_keys.py",
    "broker/config/broker_keys.py",
    "broker/config/quota_keys.py",
    "broker/config/resource_keys.py",
    "broker/config/security_keys.py",
    "broker/config/topic_keys.py",
    "broker/request/acknowledgement.py",
    "broker/request/context.py",
    "broker/dispatch/ordinary_path.py",
    "broker/faults/actions.py",
    "broker/faults/transfer_actions.py",
    "broker/http_admin/recorded_parts.py",
    "broker/http_admin/snapshot_document.py",
    "broker/faults/match.py",
    "broker/transactions/marker.py",
    "broker/groups/consumer/group_state.py",
    "broker/groups/consumer/member.py",
    "broker/groups/consumer/requests.py",
    "broker/groups/requests.py",
    "broker/groups/streams/member.py",
    "broker/groups/streams/requests.py",
    "broker/groups/streams/statuses.py",
    "broker/groups/results.py",
    "broker/share_groups/member.py",
    "client/producer/actions.py",
    "client/producer/state.py",
    "client/producer/transaction_errors.py",
    "client/producer/transactional_offsets.py",
    "client/resources.py",
    "atlas/queries.py",
    "mock_kafka/arguments.py",
    "protocol/api_keys.py",
    "scenarios/delivery_timeout/outcome.py",
    "simulation/timeline.py",
}
FUNCTION_LINES_MAX = 80
HOT_LOOPS = {
    "broker/dispatch/produce_replay.py: respond",
    "broker/fetch/partition_read.py: read_partition",
    "broker/produce/append.py: accept_batches",
    "protocol/record_scan.py: _scan_plain",
}
"""Loops whose steps are inlined, for the time that each call takes."""
HOT_LOOP_LINES_MAX = 90
FILE_LINES_MAX = 450
IO_PACKAGES = (
    "atlas/",
    "broker/http_admin/",
    "broker/server/",
    "mock_kafka/",
    "scenarios/",
    "simulation/",
)
SEEDED = {"broker/cluster/key_numbers.py", "broker/cluster/synthetic_records.py"}
"""Modules that draw numbers from a seed, so they are the same in every run."""
SHELLS = {
    "broker/cli.py",
    "broker/clock.py",
    "broker/serve.py",
    "broker/standard_streams.py",
    "client/blocking_connection.py",
    "client/broker_connection.py",
    "client/clock.py",
    "client/tools/offset_times.py",
    "client/producer/producer.py",
    "client/producer/producer_connection.py",
    "client/producer/transaction_operations.py",
    "loadgen/ctrl_c.py",
    "loadgen/fault_timeline.py",
    "proxy/refusing_brokers.py",
    "proxy/diff/serve.py",
    "proxy/diff/shadow_world.py",
    "proxy/recording/world_file.py",
    "loadgen/load_run.py",
    "loadgen/spark_connect.py",
    "loadgen/clock.py",
    "loadgen/clock_offset.py",
    "loadgen/meeting_place.py",
    "loadgen/tcp_server.py",
    "loadgen/clients/consume_transform_produce.py",
    "loadgen/clients/admin_client.py",
    "loadgen/clients/connection_storm.py",
    "loadgen/clients/consumer_member.py",
    "loadgen/clients/coordinator_client.py",
    "loadgen/clients/delivery_timeout.py",
    "loadgen/worker/engine.py",
    "loadgen/clients/group_clients.py",
    "loadgen/clients/keyed_producer.py",
    "loadgen/clients/load_connection.py",
    "loadgen/clients/partition_producer.py",
    "loadgen/clients/load_client.py",
    "loadgen/clients/producer_clients.py",
    "loadgen/clients/producer_id_request.py",
    "loadgen/clients/replay_client.py",
    "loadgen/clients/transaction_client.py",
    "loadgen/clients/transactional.py",
    "loadgen/live/page_server.py",
    "loadgen/live/segment_reader.py",
    "loadgen/outputs.py",
    "loadgen/progress.py",
    "loadgen/worker/schedule_feed.py",
    "loadgen/worker/segments.py",
    "loadgen/spark_session.py",
    "loadgen/clients/pipelined_producer.py",
    "loadgen/clients/sequential_client.py",
    "loadgen/clients/share_member.py",
    "loadgen/worker/timer.py",
    "proxy/cli.py",
    "proxy/client_side.py",
    "proxy/own_requests.py",
    "proxy/serve.py",
    "proxy/server.py",
    "proxy/upstream_side.py",
    "loadgen/clients/topic_clients.py",
    "loadgen/worker/worker.py",
}
SHELL_MODULES = {"asyncio", "datetime", "logging", "random", "socket", "threading", "time"}

DISCOURAGED_WORDS = {
    r"told|tells": "say, return, send, advertise",
    r"whoever": "a client that, everyone who",
    r"anew": "again",
    r"meanwhile": "until then, during that time",
    r"upkeep": "background tasks",
    r"doors?|entrance": "port, socket, listener",
    r"parked": "pending",
    r"hurr(y|ies|ied)": "complete now",
    r"bur(y|ies|ied)": "close, remove",
    r"la(y|id|ys) over": "patch, apply",
    r"such as are": "that are",
    r"by a coin": "at random",
    r"makes? no sense": "is invalid",
    r"comes? to nothing": "has no effect",
    r"to be had": "available",
    r"in vain": "without success",
    r"taken? away|takes away": "remove",
    r"unmade": "deleted",
    r"under way": "in flight",
    r"passed over": "ignored",
    r"made up for": "throttled until the window has expired",
    r"fine print": "details",
    r"tells? how": "describe",
    r"verbs": "methods",
    r"twins?": "counterpart",
    r"somebody elses?": "another",
}
"""Words that are hard to search for or to understand, and what to write instead."""
VAGUE_VARIABLES = {"asked", "each", "its", "plain", "told", "wanted", "whole"}
"""Names that do not say what a variable holds."""
WORDING_EXCEPTIONS = {"CHANGELOG.md", "tests/test_layout.py", "docs/api.md", "docs/coverage.md"}
"""The last two are generated from docstrings."""
TEXT_FOLDERS = (*PACKAGES, "benchmarks", "docs", "examples", "scripts", "tests")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of the syntax tree of a module: to walk it takes longer than to read it."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported_modules(path: Path) -> set[str]:
    """Return the modules that a file imports anywhere, and the names as modules of `from`."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.slow
def test_no_module_imports_a_private_name_of_another() -> None:
    """Ruff's SLF001 sees an attribute of another object that begins with an underscore."""
    found = [
        f"{relative(path)}:{node.lineno}: {alias.name}"
        for path in (
            *SOURCES,
            *(ROOT / "benchmarks").glob("*.py"),
            *(ROOT / "scripts").glob("*.py"),
        )
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and f"{node.module}".partition(".")[0] in PACKAGES
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert found == []


def test_only_one_module_reads_the_schemas_of_kafka_python() -> None:
    pattern = re.compile(r"\._(?:struct|nullable_versions|data_class)\b")
    sources = [path for folder in TEXT_FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = [relative(path) for path in sources if pattern.search(path.read_text(encoding="utf-8"))]
    assert found == ["protocol/message_schema.py"]


def test_no_module_is_a_grab_bag() -> None:
    assert [relative(path) for path in SOURCES if path.stem in BANNED_NAMES] == []


@pytest.mark.slow
def test_files_and_functions_stay_readable() -> None:
    too_long = []
    for path in SOURCES:
        lines = path.read_text(encoding="utf-8").splitlines()
        if sum(line.strip() != "@may_pause" for line in lines) > FILE_LINES_MAX:
            too_long.append(relative(path))
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{relative(path)}: {node.name}"
                lines_max = HOT_LOOP_LINES_MAX if name in HOT_LOOPS else FUNCTION_LINES_MAX
                if (node.end_lineno or 0) - node.lineno >= lines_max:
                    too_long.append(name)
    assert too_long == []


@pytest.mark.slow
def test_only_shells_do_io_and_read_the_clock() -> None:
    found = []
    for path in SOURCES:
        if relative(path) in SHELLS or relative(path).startswith(IO_PACKAGES):
            continue
        packages = {name.partition(".")[0] for name in imported_modules(path)}
        packages -= {"random"} if relative(path) in SEEDED else set()
        found += [f"{relative(path)}: {name}" for name in sorted(packages & SHELL_MODULES)]
        found += [
            f"{relative(path)}:{node.lineno}: async"
            for node in nodes(path)
            if isinstance(node, ast.AsyncFunctionDef | ast.Await)
        ]
    assert found == []


def test_every_module_has_a_test_at_the_mirrored_place() -> None:
    missing = []
    for path in SOURCES:
        source = path.relative_to(ROOT)
        if path.name in {"__init__.py", "__main__.py"} or str(source) in DECLARATIONS:
            continue
        mirrored = ROOT / "tests" / source.parent / f"test_{path.name}"
        if not mirrored.exists():
            missing.append(f"{source} has no {relative(mirrored)}")
    assert missing == []


def test_handlers_and_the_client_know_the_types_of_their_messages() -> None:
    """`protocol/message_types.pyi` has them; write `"messages.FetchRequest"` instead of `Any`."""
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in SOURCES
        if relative(path).startswith(("broker/handlers/", "client/"))
        for node in nodes(path)
        if (isinstance(node, ast.ImportFrom) and "Any" in {alias.name for alias in node.names})
        or (isinstance(node, ast.Attribute) and node.attr == "Any")
    ]
    assert found == []


def test_what_sends_and_reads_messages_knows_the_types_of_requests_and_responses() -> None:
    found = [
        f"{relative(path)}:{node.lineno}: {node.arg}"
        for path in SOURCES
        if relative(path).startswith(("loadgen/clients/", "protocol/", "scenarios/"))
        for node in nodes(path)
        if isinstance(node, ast.arg)
        and node.arg in {"request", "response"}
        and isinstance(node.annotation, ast.Name)
        and node.annotation.id == "Any"
    ]
    assert found == []


@pytest.mark.slow
def test_no_module_imports_a_test_module() -> None:
    found = [
        f"{relative(path)}: {name}"
        for path in TEST_MODULES
        for name in imported_modules(path)
        if name.startswith("tests.") and ".test_" in name
    ]
    assert found == []


@pytest.mark.parametrize("api_key", sorted(ROUTES))
def test_a_handler_serves_what_its_docstring_says(api_key: int) -> None:
    route = ROUTES[api_key]
    first_line = coverage_table.module_docstring(route).splitlines()[0]
    versions = coverage_table.span(route.version_min, route.version_max)
    assert first_line.partition(": v")[2].rstrip(".") == versions
    assert route.handler.__module__.startswith(f"broker.handlers.k{api_key:02d}_")
    assert "Behaviour" in coverage_table.sections(coverage_table.module_docstring(route))


@pytest.mark.parametrize("api_key", sorted(ROUTES))
def test_a_handler_serves_the_whole_range_of_the_schema_or_says_what_is_missing(
    api_key: int,
) -> None:
    route = ROUTES[api_key]
    if (route.version_min, route.version_max) != schema_versions(route.api_key):
        assert "Gaps" in coverage_table.sections(coverage_table.module_docstring(route))


def test_the_coverage_table_is_fresh() -> None:
    assert coverage_table.TARGET.read_text(encoding="utf-8") == coverage_table.render()


def test_the_api_reference_is_fresh() -> None:
    page = api_reference.TARGET.read_text(encoding="utf-8")
    assert page == api_reference.render(), "run: python -m scripts.api_reference"


def test_the_openapi_document_of_the_clients_is_fresh() -> None:
    document = openapi_snapshot.TARGET.read_text(encoding="utf-8")
    assert document == openapi_snapshot.render(), "run: python -m scripts.openapi_snapshot"


@pytest.mark.slow
def test_the_name_of_a_variable_says_what_it_holds() -> None:
    found = []
    for path in (*SOURCES, *TEST_MODULES, *(ROOT / "benchmarks").glob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            else:
                continue
            if name.strip("_") in VAGUE_VARIABLES:
                found.append(f"{relative(path)}:{node.lineno}: {name}")
    assert found == []


def test_no_discouraged_words() -> None:
    pattern = re.compile(rf"\b(?:{'|'.join(DISCOURAGED_WORDS)})\b", re.IGNORECASE)
    folders = [ROOT / folder for folder in TEXT_FOLDERS]
    paths = [path for folder in folders for path in folder.rglob("*.*")]
    found = []
    for path in sorted([*ROOT.glob("*.md"), *paths]):
        if path.suffix not in {".py", ".md"} or relative(path) in WORDING_EXCEPTIONS:
            continue
        text = path.read_text(encoding="utf-8")
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{relative(path)}:{line}: {match[0]!r}; say {_better(match[0])}")
    assert not found, "\n".join(["discouraged words", *found])


def _better(word: str) -> str:
    return next(
        better
        for discouraged, better in DISCOURAGED_WORDS.items()
        if re.fullmatch(discouraged, word, re.IGNORECASE)
    )
