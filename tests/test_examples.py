"""Run the quickstarts of examples/, each with the test runner of its language."""

import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scenarios.maven import CannotRunError
from tests.clients.java_package import install_java_package, run_maven
from tests.interop.go_and_node_clients import install_kafkajs

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
_RUN_TIMEOUT_S = 300  # the first time modules are compiled and jars fetched


def copy_example(language: str, folder: Path, program: str) -> Path:
    """Copy an example into a folder; skip the test if a program is missing."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not here")
    copy = folder / language
    shutil.copytree(EXAMPLES / language, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def with_mock_kafka(environment: dict[str, str]) -> dict[str, str]:
    """Return an environment with `mock-kafka` on its PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **environment}


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
def test_the_node_quickstart_passes(tmp_path: Path) -> None:
    try:
        environment = install_kafkajs(tmp_path).environment
    except CannotRunError as error:
        pytest.skip(str(error))
    assert "# pass 3" in run_in_copy("node", tmp_path, "node", "--test", **environment)


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
    assert re.search(r" (26 passed|25 passed, 1 skipped) in ", output)


# The file of each example that starts the cluster ----------------------------------------------

_NODE = """
const { MockKafka } = require('./mock_kafka.js');
MockKafka.start().then((kafka) => { console.log(kafka.adminUrl); setInterval(() => {}, 1000); });
"""
_GO = """
package orders
import ("fmt"; "testing")
func TestWait(t *testing.T) { fmt.Println(adminURL); select {} }
"""


def waiting_program(language: str, folder: Path) -> tuple[Path, list[str]]:
    """Return a program that starts the cluster, prints its admin URL and waits, and its folder."""
    if language == "node":
        copy = copy_example(language, folder, "node")
        (copy / "wait.js").write_text(_NODE, encoding="utf-8")
        return copy, ["node", "wait.js"]
    copy = copy_example(language, folder, "go")
    (copy / "wait_test.go").write_text(_GO, encoding="utf-8")
    build = ["go", "test", "-c", "-o", "wait"]
    subprocess.run(build, cwd=copy, check=True, timeout=_RUN_TIMEOUT_S)
    return copy, ["./wait", "-test.run", "TestWait"]


@pytest.mark.interop
@pytest.mark.long
@pytest.mark.parametrize("language", ["node", "go"])
def test_a_killed_example_leaves_no_broker_behind(language: str, tmp_path: Path) -> None:
    copy, command = waiting_program(language, tmp_path)
    with subprocess.Popen(
        command, cwd=copy, env=with_mock_kafka({}), stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        address = urlsplit(program.stdout.readline().strip())
        assert address.hostname is not None
        assert address.port is not None
        with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
            program.kill()
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""  # nothing was asked: the broker has ended
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address.hostname, address.port), timeout=20)


@pytest.mark.interop
@pytest.mark.long
@pytest.mark.parametrize("language", ["node", "go"])
def test_an_example_says_why_the_cluster_does_not_start(language: str, tmp_path: Path) -> None:
    copy, command = waiting_program(language, tmp_path)
    done = subprocess.run(
        command,
        cwd=copy,
        env=with_mock_kafka({"MOCK_KAFKA_CONFIG_NUM_PARTITION": "2"}),
        capture_output=True,
        text=True,
        timeout=_RUN_TIMEOUT_S,
        check=False,
    )
    assert done.returncode != 0
    assert "num.partitions" in done.stderr


def test_the_cookbook_lists_every_recipe() -> None:
    page = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    listed = re.findall(r"\(\.\./examples/cookbook/(\w+\.py)\)", page)
    recipes = [path.name for path in (EXAMPLES / "cookbook").glob("test_*.py")]
    assert sorted(listed) == sorted(recipes)
