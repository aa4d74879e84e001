"""Test the npm package of clients/node, as a project that installs it uses it."""

import json
import os
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scenarios.maven import CannotRunError
from tests.clients.node_package import ROOT, SOURCE, NodePackage, build_node_package, run_in

if TYPE_CHECKING:
    import subprocess

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.xdist_group("node"),  # one worker installs and builds
]
TESTS = SOURCE / "test"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> NodePackage:
    try:
        return build_node_package(tmp_path_factory.mktemp("node"))
    except CannotRunError as error:
        pytest.skip(str(error))


def project_of(package: NodePackage, tests: Path, folder: Path) -> Path:
    """Return a project with a copy of these tests."""
    project = folder / "project"
    ignored = shutil.ignore_patterns("node_modules", "package-lock.json")
    shutil.copytree(tests, project, ignore=ignored)
    (project / "package.json").write_text('{"private": true}', encoding="utf-8")
    package.provide(project)
    return project


def output_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the output of a program that succeeds."""
    assert done.returncode == 0, done.stdout
    return done.stdout


def first_test() -> str:
    """Return the first test in Node of docs/quickstart.md."""
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    block = re.search(r"```js\n(// orders\.test\.mjs\n.*?)```", page, re.DOTALL)
    assert block is not None
    return block[1]


def test_the_version_is_that_of_the_program() -> None:
    manifest = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))
    assert manifest["version"] == version("mock-kafka")


def test_the_first_test_passes_in_an_empty_folder(package: NodePackage, tmp_path: Path) -> None:
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefer-offline"]
    done = run_in(tmp_path, *install, str(package.tarball), "kafkajs@2.2.4")
    if re.search("ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT", done.stdout):
        pytest.skip("there is no registry")
    output_of(done)
    (tmp_path / "orders.test.mjs").write_text(first_test(), encoding="utf-8")
    assert "# pass 1" in output_of(run_in(tmp_path, "node", "--test"))


def test_the_example_passes(package: NodePackage, tmp_path: Path) -> None:
    project = project_of(package, ROOT / "examples" / "node", tmp_path)
    assert "# pass 3" in output_of(run_in(project, "node", "--test"))


def test_the_tests_of_the_package_pass(package: NodePackage, tmp_path: Path) -> None:
    project = project_of(package, TESTS, tmp_path)
    files = sorted(path.name for path in project.glob("*.test.*"))
    assert len(files) == 3
    output = output_of(run_in(project, "node", "--test", *files))
    assert "# fail 0" in output
    assert "mock-kafka requests" not in output  # no test has failed


def test_strict_programs_compile(package: NodePackage, tmp_path: Path) -> None:
    project = project_of(package, TESTS / "types", tmp_path)
    options = ["--strict", "--noUncheckedIndexedAccess", "--noEmit", "--target", "es2022"]
    for module, files in (("nodenext", ["user.mts", "user.cts"]), ("preserve", ["user.mts"])):
        command = ["npx", "tsc", *options, "--types", "node", "--module", module, *files]
        assert output_of(run_in(project, *command, "--skipLibCheck")) == ""


def test_a_failing_test_shows_its_requests_and_why_a_retry_fails(
    package: NodePackage, tmp_path: Path
) -> None:
    project = project_of(package, TESTS / "node", tmp_path)
    done = run_in(project, "node", "--test", "--test-reporter=spec", "broken.test.js")
    assert done.returncode == 1
    assert done.stdout.count("mock-kafka requests:") == 1
    assert re.search(r"shop as ANONYMOUS  Produce v\d  orders  -> fault #1 drop", done.stdout)
    assert "Produce v7  orders  -> responded DUPLICATE_SEQUENCE_NUMBER\n" in done.stdout
    assert "start the cluster with { client: 'kafkajs' }" in done.stdout
    assert "pass 1\n" in done.stdout


RUNNERS = {
    "vitest": ["npx", "vitest", "run", "--no-cache"],
    "jest": ["npx", "jest", "--ci"],
}
IN_ONE_WORKER = {"vitest": ["--no-isolate", "--maxWorkers=1"], "jest": ["--runInBand"]}
runners = pytest.mark.parametrize("runner", RUNNERS)


@runners
def test_files_in_parallel_have_a_cluster_each(
    runner: str, package: NodePackage, tmp_path: Path
) -> None:
    project = project_of(package, TESTS / runner, tmp_path)
    pipe = tmp_path / "pipe"  # each file waits for the other one
    os.mkfifo(pipe)
    command = [*RUNNERS[runner], "--maxWorkers=2", "orders", "invoices"]
    output = output_of(run_in(project, *command, PIPE=str(pipe)))
    assert re.search(r"Tests: +3 passed|Tests  4 passed", output)


@runners
def test_the_files_of_a_worker_share_a_cluster(
    runner: str, package: NodePackage, tmp_path: Path
) -> None:
    project = project_of(package, TESTS / runner, tmp_path)
    [source] = project.glob("one_of_several.*")
    for name in ("first", "second"):
        shutil.copy(source, project / f"{name}.test{source.suffix}")
    urls = tmp_path / "urls"
    command = [*RUNNERS[runner], *IN_ONE_WORKER[runner], "first", "second"]
    output_of(run_in(project, *command, URLS=str(urls)))
    used = urls.read_text(encoding="utf-8").splitlines()
    assert len(used) == 2
    assert len(set(used)) == 1


@runners
def test_a_failing_test_shows_its_requests(
    runner: str, package: NodePackage, tmp_path: Path
) -> None:
    project = project_of(package, TESTS / runner, tmp_path)
    done = run_in(project, *RUNNERS[runner], "broken")
    assert done.returncode == 1
    assert done.stdout.count("mock-kafka requests:") == 1
    shown = (
        r"mock-kafka requests:\n  #1  broker 1  shop as ANONYMOUS  ApiVersions v\d  -> responded\n"
    )
    assert re.search(shown, done.stdout)
    assert re.search(r"1 failed.*1 passed", done.stdout)
