"""The wheel installs `mock_kafka` alone, and works beside packages named like our folders."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.build_backend import (
    CLIENT,
    INTERNAL,
    NOT_VENDORED,
    PUBLIC,
    VENDOR,
    VENDORED,
    pinned_client,
    top_level_packages,
    vendor_kafka_python,
    with_internal_imports,
)
from tests.atlas.missing_clients import why_missing
from tests.wheel import build_options, built, run, source, wheel

__all__ = ["built", "source", "wheel"]  # fixtures

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = top_level_packages(REPOSITORY / "pyproject.toml")
OURS = PACKAGES - {PUBLIC}
# Words that are the name of a module of ours by chance.
KEYS = {"broker.clock"}
CODE_IN_TEXT = re.compile(r"(?:from|python -m) ([\w.]+)")
IMPORTERS = {"files", "find_spec", "import_module", "run_module", "__import__"}
PYPI_BROKER = "broker==0.8.11"
PLAN = """\
duration_s: 1
topics: [{name: t, partitions: 2}]
lateness_p99_ms: 5000
tenants: [{name: a, behaviour: steady, topic: t, clients: 2, rate: 20}]
"""
USE = """
import asyncio
from mock_kafka import MockKafka, NewTopic, Producer, open_admin

async def send(servers):
    async with Producer(servers) as producer:
        return await (await producer.send("orders", b"coffee"))

for in_process in (False, True):
    with MockKafka(in_process=in_process) as kafka:
        with open_admin(kafka.bootstrap_servers) as admin:
            assert admin.create_topics([NewTopic("orders", partition_count=1)]) == {"orders": None}
        if in_process:
            kafka.hook(lambda request: None)
        assert asyncio.run(send(kafka.bootstrap_servers)).offset == 0
        assert [each.value for each in kafka.records("orders")] == [b"coffee"]
"""


class Environment:
    """A virtual environment with the wheel; its dependencies are those of this interpreter."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder)
        self.bin = folder / "bin"
        # Not processed recursively: an editable install over there is not found from here.
        [site_packages] = folder.glob("lib/python*/site-packages")
        (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
        self.folder = folder
        self.site_packages = site_packages
        self.install(wheel)

    def install(self, *words: object) -> None:
        """Install without dependencies."""
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", "install"]
        options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        run(*pip, *options, *words, folder=self.folder)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment with nothing but the wheel; install nothing more."""
    return Environment(tmp_path_factory.mktemp("environment"), wheel)


@pytest.fixture
def own_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment for one test, which may install more."""
    return Environment(tmp_path_factory.mktemp("own-environment"), wheel)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a project that has packages of our names, in `src`."""
    folder = tmp_path / "project"
    for name in ("broker", "client", "quotas"):
        package = folder / "src" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"def hello():\n    return 'my {name}'\n")
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "my-service"\nversion = "1"\n'
    )
    return folder


@pytest.mark.slow
def test_the_wheel_has_our_packages_inside_mock_kafka_and_nothing_else(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    top_level = {name.partition("/")[0] for name in names}
    [dist_info] = [name for name in top_level if name.endswith(".dist-info")]
    assert top_level == {dist_info, PUBLIC}
    assert archive.read(f"{dist_info}/top_level.txt").split() == [PUBLIC.encode()]
    licence = archive.read(f"{dist_info}/licenses/LICENSE")
    assert licence == (REPOSITORY / "LICENSE").read_bytes()
    entry_points = archive.read(f"{dist_info}/entry_points.txt").decode()
    assert "mock-kafka = mock_kafka.cli:main" in entry_points

    internal = INTERNAL.replace(".", "/")
    in_tree = {
        str(path.relative_to(REPOSITORY))
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    expected = {name if name.startswith(f"{PUBLIC}/") else f"{internal}/{name}" for name in in_tree}
    vendor = VENDOR.replace(".", "/")
    in_wheel = {name for name in names if not name.startswith((dist_info, vendor))}
    assert in_wheel == expected | {f"{internal}/__init__.py"}
    assert {f"{package}/py.typed" for package in PACKAGES} <= in_tree


@pytest.mark.slow
def test_the_wheel_has_a_part_of_kafka_python_with_its_licence_and_other_imports(
    wheel: Path,
) -> None:
    archive = zipfile.ZipFile(wheel)
    start = f"{VENDOR.replace('.', '/')}/kafka/"
    found = {name.removeprefix(start) for name in archive.namelist() if name.startswith(start)}
    assert {name.partition("/")[0] for name in found} == {*VENDORED, "__init__.py", "LICENSE.txt"}
    assert "protocol/schemas/resources/FetchRequest.json" in found
    assert not [name for name in found if set(NOT_VENDORED) & set(name.split("/"))]
    assert b"Apache License" in archive.read(f"{start}LICENSE.txt")
    assert f"kafka-python {version(CLIENT)};".encode() in archive.read(f"{start}__init__.py")
    inside = INTERNAL.replace(".", "/")
    users_of_libraries = (f"{inside}/atlas/", f"{inside}/scenarios/")
    left = [
        f"{name}:{line} {what}"
        for name in archive.namelist()
        # The scenarios and the atlas run the user's kafka-python, if there is one.
        if name.endswith(".py") and not name.startswith(users_of_libraries)
        for line, what in references(ast.parse(archive.read(name)), {"kafka"}, {"kafka"})
    ]
    assert left == []


def test_the_version_that_the_wheel_copies_is_the_one_of_the_tests() -> None:
    pinned = pinned_client(REPOSITORY / "pyproject.toml")
    for name in ("build", "dev", "other-python"):
        pins = (REPOSITORY / "requirements" / f"{name}.txt").read_text()
        assert re.findall(r"^kafka-python\S*(?: \S+)*?==(\S+)", pins, re.MULTILINE) == [pinned]


def test_another_version_of_kafka_python_is_refused_in_one_line(tmp_path: Path) -> None:
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text('[build-system]\nrequires = ["setuptools>=77", "kafka-python==9.9"]\n')
    reason = f"with kafka-python==9.9, and here {version(CLIENT)} is installed$"
    with pytest.raises(SystemExit, match=reason):
        vendor_kafka_python(pyproject, tmp_path / "vendor")


FIND_COMMANDS = {f"mock_kafka/{name}.py" for name in ("atlas", "cli", "commands", "completion")}
"""What they name is found by `mock_kafka.commands.place_of`, in the wheel as in the repository."""


@pytest.mark.slow
def test_no_code_in_the_wheel_names_a_package_of_ours_at_the_top(wheel: Path) -> None:
    files = [path for package in OURS for path in (REPOSITORY / package).rglob("*.py")]
    dotted = [".".join(path.relative_to(REPOSITORY).with_suffix("").parts) for path in files]
    modules = {name.removesuffix(".__init__") for name in dotted}
    archive = zipfile.ZipFile(wheel)
    left = []
    for name in archive.namelist():
        if name.endswith(".py"):
            tree = ast.parse(archive.read(name))
            named = set() if name in FIND_COMMANDS else modules
            left += [f"{name}:{line} {what}" for line, what in references(tree, named, OURS)]
    assert left == []


def references(tree: ast.AST, modules: set[str], packages: set[str]) -> Iterator[tuple[int, str]]:
    """Find imports of `packages`, and strings that name a module of `modules`."""
    for node in ast.walk(tree):
        found: list[str] = []
        match node:
            case ast.Import(names=names):
                found = [name.name for name in names if name.name.partition(".")[0] in packages]
            case ast.ImportFrom(module=str(module), level=0):
                found = [module] if module.partition(".")[0] in packages else []
            case ast.Call(
                func=ast.Name(id=function) | ast.Attribute(attr=function),
                args=[ast.Constant(value=str(text)), *_],
            ):
                found = [text] if function in IMPORTERS and text in modules else []
            case ast.Constant(value=str(text)):
                found = [text] if "." in text and text in modules - KEYS else []
                found += [name for name in CODE_IN_TEXT.findall(text) if name in modules]
            case _:
                continue
        for name in found:
            yield getattr(node, "lineno", 0), name


def test_a_reference_that_was_left_is_found() -> None:
    for text in (
        "import quotas.limits",
        "from broker import cli",
        "import_module('client')",
        "importlib.import_module('client.admin')",
        "MODULE = 'client.admin'",
        "'''An example:\n\n>>> from quotas import Limits\n'''",
        "HELP = 'run python -m broker'",
    ):
        modules = {"broker", "client", "client.admin", "quotas", "quotas.limits"}
        assert list(references(ast.parse(text), modules, OURS)), text
    assert not list(references(ast.parse("KEY = 'broker.clock', 'client'"), {"client"}, OURS))


@pytest.mark.parametrize(
    ("written", "rewritten"),
    [
        ("from broker import cli", "from inner.broker import cli"),
        ("    from broker.cli import (  # noqa", "    from inner.broker.cli import (  # noqa"),
        ("import broker  # noqa", "from inner import broker  # noqa"),
        ("import broker.cli as b", "import inner.broker.cli as b"),
        ("import broker as b", "import inner.broker as b"),
        ("    >>> from broker import cli", "    >>> from inner.broker import cli"),
        ("from kafka.x import y", "from inner._vendor.kafka.x import y"),
        *[
            (same, same)
            for same in (
                "from brokers import cli",
                "import brokers",
                "import broker.cli",
                "from mock_kafka import broker",
                "bytes from broker to client",
                "x = 'broker.clock'",
            )
        ],
    ],
)
def test_imports_are_rewritten_on_their_lines(written: str, rewritten: str) -> None:
    text = f"\n\n{written}\nx = 1\n"
    expected = f"\n\n{rewritten.replace('inner', INTERNAL)}\nx = 1\n"
    places = {"broker": INTERNAL, "client": INTERNAL, "kafka": VENDOR}
    assert with_internal_imports(text, places) == expected


@pytest.mark.slow
def test_the_source_archive_builds_without_a_warning_about_packages(
    built: tuple[Path, str],
) -> None:
    folder, said = built
    assert len(list(folder.glob("mock_kafka-*.tar.gz"))) == 1
    assert "absent from" not in said
    assert "Warning" not in said


@pytest.mark.long
def test_pip_builds_the_same_wheel_from_the_tree(source: Path, wheel: Path, tmp_path: Path) -> None:
    is_offline = bool(build_options())
    options = ["--no-build-isolation", "--no-index"] if is_offline else []
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", *options]
    run(*pip, "--wheel-dir", tmp_path, source, folder=tmp_path)
    [other] = tmp_path.glob("*.whl")
    contents = [
        {name: zipfile.ZipFile(path).getinfo(name).CRC for name in zipfile.ZipFile(path).namelist()}
        for path in (wheel, other)
    ]
    assert contents[0] == contents[1]


@pytest.mark.long
def test_every_module_of_the_wheel_can_be_imported_and_its_examples_run(
    environment: Environment,
) -> None:
    program = f"""
import doctest, importlib, pkgutil, sys
import mock_kafka
names = [each.name for each in pkgutil.walk_packages(mock_kafka.__path__, "mock_kafka.")]
assert "{INTERNAL}.broker.cli" in names
for name in names:
    if not name.endswith("__main__"):
        assert doctest.testmod(importlib.import_module(name)).failed == 0, name
print(*{{each.partition(".")[0] for each in sys.modules}} & {OURS!r}, mock_kafka.__file__)
"""
    said = run(environment.bin / "python", "-c", program, folder=environment.folder)
    assert said.strip() == str(environment.site_packages / PUBLIC / "__init__.py")


@pytest.mark.slow
def test_a_project_with_packages_of_our_names_keeps_them_and_uses_ours(
    own_environment: Environment, project: Path
) -> None:
    own_environment.install("--editable", project)
    program = f"import broker, client, quotas\n{USE}\nprint(*[each.hello() for each in ({{}})])"
    program = program.replace("{}", "broker, client, quotas")
    said = run(own_environment.bin / "python", "-c", program, folder=project)
    assert said == "my broker my client my quotas\n"


@pytest.mark.long
def test_the_package_broker_of_pypi_installed_afterwards_changes_nothing(
    own_environment: Environment, tmp_path: Path
) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "download", "--no-deps", "--dest", tmp_path]
    done = subprocess.run(
        [*map(str, pip), PYPI_BROKER], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        pytest.skip(f"PyPI can't be reached for {PYPI_BROKER}: {done.stderr.splitlines()[-1]}")
    [theirs] = tmp_path.glob("broker-*")
    own_environment.install(theirs)
    assert (own_environment.site_packages / "broker" / "__init__.py").exists()
    run(own_environment.bin / "python", "-c", USE, folder=tmp_path)


@pytest.mark.slow
def test_the_command_line_ignores_packages_of_our_names_on_pythonpath(
    environment: Environment, project: Path
) -> None:
    script = environment.bin / "mock-kafka"
    own = {"PYTHONPATH": "."}
    for command in ("serve", "certs", "topics", "configs", "scenario", "load"):
        said = run(script, command, "--help", folder=project / "src", environment=own)
        assert said.startswith(f"usage: mock-kafka {command} ")
    with subprocess.Popen(
        [script, "serve", "--port", "0", "--admin-port", "0"],
        cwd=project / "src",
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("bootstrap.servers=127.0.0.1:")
        assert process.stdout.readline().startswith("admin.url=http://127.0.0.1:")
        process.terminate()
        assert process.wait(30) == 0
    run(environment.bin / "python", "-c", USE, folder=project / "src", environment=own)


@pytest.mark.slow
def test_the_pytest_plugin_and_type_checkers_find_the_public_names(
    environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "test_orders.py").write_text(
        "import asyncio\n"
        "import mock_kafka as package\n"
        "from mock_kafka import MockKafka, Producer, ProducerSettings, Request, open_admin\n\n"
        "async def produced(kafka: MockKafka) -> Request:\n"
        "    return await asyncio.create_task(kafka.aio.wait_for(api='Produce'))\n\n"
        "def test_orders(mock_kafka: MockKafka) -> None:\n"
        "    assert mock_kafka.topics() == []\n"
        "    with open_admin(mock_kafka.bootstrap_servers) as admin:\n"
        "        names: list[str] = admin.list_topics()\n"
        "    assert names == []\n"
        f"    assert (package.__file__ or '').startswith({str(environment.folder)!r})\n\n"
        "def producer() -> Producer:\n"
        "    return Producer('127.0.0.1:1', ProducerSettings(linger_ms='1'))\n"
    )
    (tmp_path / "names.py").write_text(
        "from typing import assert_type\n"
        "from mock_kafka import MockKafak\n"
        "from mock_kafka import MockKafka, NewTopic, Topic\n\n"
        "def names(kafka: MockKafka, topic: Topic, new: NewTopic) -> None:\n"
        "    assert_type(kafka.topics(), list[Topic])\n"
        "    assert_type((topic.name, new.partition_count), tuple[str, int])\n"
    )
    python = str(environment.bin / "python")
    assert "1 passed" in run(python, "-m", "pytest", "-p", "no:cacheprovider", folder=tmp_path)
    mypy = [python, "-m", "mypy", "--strict", "--no-incremental", "--config-file=", "."]
    done = subprocess.run(
        mypy, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    misspelled, wrong_type = sorted(re.findall(r"error: (.*)", done.stdout), reverse=True)
    assert misspelled.startswith('Module "mock_kafka" has no attribute "MockKafak"')
    assert wrong_type.startswith(
        'Argument "linger_ms" to "ProducerSettings" has incompatible type "str"'
    )


@pytest.mark.long
def test_spark_workers_find_the_classes_of_the_wheel(
    environment: Environment, tmp_path: Path
) -> None:
    if find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("a load needs java and the extra spark; one is not here")
    (tmp_path / "plan.yaml").write_text(PLAN)
    words = [environment.bin / "mock-kafka", "load", "plan.yaml", "--out", "out"]
    said = run(*words, folder=tmp_path, timeout_s=300)
    assert (tmp_path / "out" / "report.html").exists(), said


@pytest.mark.long
@pytest.mark.parametrize("client", ["aiokafka==0.12.0", "kafka-python==2.2.21"])
def test_the_atlas_runs_an_older_release_from_the_wheel(
    environment: Environment, tmp_path: Path, client: str
) -> None:
    if reason := why_missing(client):
        pytest.skip(reason)
    words = [environment.bin / "mock-kafka", "atlas", "try", client, "PRODUCE-LOST-1"]
    said = run(*words, folder=tmp_path)
    assert said.startswith(f"{client} {client.partition('==')[2]}, PRODUCE-LOST-1: "), said
    assert "\nreported  success\n" in said
    assert "\nclosed    cleanly\n" in said
