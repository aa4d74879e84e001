"""Run the quickstarts of examples/, each with the test runner of its language."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.maven import CannotRunError
from tests.clients.java_package import install_java_package, run_maven
from tests.clients.mock_kafka_program import with_mock_kafka

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
GO_MODULE = "github.com/mock-kafka/mock-kafka/clients/go"
_RUN_TIMEOUT_S = 300  # the first time modules are compiled and jars fetched


def copy_example(language: str, folder: Path, program: str) -> Path:
    """Copy an example into a folder; skip the test if a program is missing."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not here")
    copy = folder / language
    shutil.copytree(EXAMPLES / language, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if language == "go":
        replacement = f"-replace={GO_MODULE}={ROOT / 'clients' / 'go'}"
        subprocess.run(["go", "mod", "edit", replacement], cwd=copy, check=True)
    return copy


def run_in_copy(language: str, folder: Path, *command: str, **environment: str) -> str:
    """Run a command in a copy of an example, with `mock-kafka` on the PATH; return its output."""
    copy = copy_example(language, folder, command[0])
    done = subprocess.run(
        command,
        cwd=copy,
        env=with_mock_kafka(environment),
        capture_output=True,
        text=True,
        timeout=_RUN_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.interop
@pytest.mark.slow
def test_the_python_quickstart_passes(tmp_path: Path) -> None:
    pytest_command = [sys.executable, "-m", "pytest", "-p", "no:schemathesis"]
    assert "3 passed" in run_in_copy("python", tmp_path, *pytest_command)


@pytest.mark.interop
@pytest.mark.long
def test_the_go_quickstart_passes(tmp_path: Path) -> None:
    output = run_in_copy("go", tmp_path, "go", "test", "-count=1", "-v", "./...")
    assert output.count("--- PASS") == 3


@pytest.mark.interop
@pytest.mark.long
def test_the_java_quickstart_passes(tmp_path: Path) -> None:
    copy = copy_example("java", tmp_path, "mvn")
    try:
        install_java_package()
        output = run_maven(copy, "test")
    except CannotRunError as error:
        pytest.skip(str(error))
    assert "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0" in output


@pytest.mark.interop
@pytest.mark.long
def test_every_recipe_of_the_cookbook_passes(tmp_path: Path) -> None:
    options = ["-p", "no:asyncio", "-W", "ignore"]
    output = run_in_copy("cookbook", tmp_path, sys.executable, "-m", "pytest", *options)
    # One needs what only confluent-kafka[avro] installs.
    assert re.search(r" (32 passed|31 passed, 1 skipped) in ", output)


def test_the_cookbook_lists_every_recipe() -> None:
    page = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    listed = re.findall(r"\(\.\./examples/cookbook/(\w+\.py)\)", page)
    recipes = [path.name for path in (EXAMPLES / "cookbook").glob("test_*.py")]
    assert sorted(listed) == sorted(recipes)
