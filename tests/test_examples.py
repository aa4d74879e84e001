"""Run the quickstarts of examples/, each with the test runner of its language."""

import re
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

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
    output = run_in_copy("java", tmp_path, "mvn", "--batch-mode", "test")
    assert "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0" in output


@pytest.mark.interop
@pytest.mark.long
def test_every_recipe_of_the_cookbook_passes(tmp_path: Path) -> None:
    options = ["-p", "no:asyncio", "-W", "ignore"]
    output = run_in_copy("cookbook", tmp_path, sys.executable, "-m", "pytest", *options)
    # One needs what only confluent-kafka[avro] installs.
    assert re.search(r" (26 passed|25 passed, 1 skipped) in ", output)


# The file of each example that starts the cluster ----------------------------------------------

_GO = """
package orders
import ("fmt"; "testing"; "github.com/mock-kafka/mock-kafka/clients/go/mockkafka")
func TestWait(t *testing.T) { fmt.Println(mockkafka.Start(t).Admin.URL); select {} }
"""
_JAVA = """
package shop;
class Wait {
    public static void main(String[] arguments) throws Exception {
        MockKafka kafka = new MockKafka();
        var field = MockKafka.class.getDeclaredField("adminUrl");
        field.setAccessible(true);
        System.out.println(field.get(kafka));
        Thread.sleep(600_000);
        kafka.close();
    }
}
"""


def waiting_program(language: str, folder: Path) -> tuple[Path, list[str]]:
    """Return a program that starts the cluster, prints its admin URL and waits, and its folder."""
    if language == "go":
        copy = copy_example(language, folder, "go")
        (copy / "wait_test.go").write_text(_GO, encoding="utf-8")
        build, run = ["go", "test", "-c", "-o", "wait"], ["./wait", "-test.run", "TestWait"]
    else:
        copy = copy_example(language, folder, "javac")
        source = copy / "src" / "test" / "java" / "shop"
        (source / "Wait.java").write_text(_JAVA, encoding="utf-8")
        build = ["javac", "-d", "out", str(source / "MockKafka.java"), str(source / "Wait.java")]
        run = ["java", "-cp", "out", "shop.Wait"]
    subprocess.run(build, cwd=copy, check=True, timeout=_RUN_TIMEOUT_S)
    return copy, run


@pytest.mark.interop
@pytest.mark.long
@pytest.mark.parametrize("language", ["go", "java"])
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
@pytest.mark.parametrize("language", ["go", "java"])
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
    assert "num.partitions" in done.stdout + done.stderr  # Go has the output of tests in the first


def test_the_cookbook_lists_every_recipe() -> None:
    page = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    listed = re.findall(r"\(\.\./examples/cookbook/(\w+\.py)\)", page)
    recipes = [path.name for path in (EXAMPLES / "cookbook").glob("test_*.py")]
    assert sorted(listed) == sorted(recipes)
