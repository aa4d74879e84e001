"""The fixture needs the standard library only, beside a broker in another environment."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wheel import built, run, source, wheel

__all__ = ["built", "source", "wheel"]  # fixtures

USERS_KAFKA_PYTHON = "kafka-python==2.0.2"
# kafka-python 2.0.2 needs `six.moves` in its own folder, which Python 3.12 does not find.
IMPORTS_ON_THIS_PYTHON = sys.version_info < (3, 12)
BROKER = [sys.executable, "-P", "-m", "mock_kafka"]

ONLY_STANDARD_LIBRARY = """
import sys
import pytest  # what the plugin may import

error = AssertionError
allowed = {*sys.stdlib_module_names, "mock_kafka"}

class Refuse:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise error(f"{name} is imported")

sys.meta_path.insert(0, Refuse)

import asyncio, importlib, json, pkgutil
import mock_kafka
# These are for Testcontainers, Hypothesis, and a broker in this process.
others = ("__main__", "_internal", "containers", "strategies", "simulated_world")
for module in pkgutil.iter_modules(mock_kafka.__path__, "mock_kafka."):
    if not module.name.endswith(others):
        importlib.import_module(module.name)

with mock_kafka.MockKafka(command=json.loads(sys.argv[1])) as kafka:
    fault = kafka.fail(api="Fetch", error="NOT_LEADER_OR_FOLLOWER")
    kafka.produce("orders", b"one coffee")
    assert [record.value for record in kafka.records("orders")] == [b"one coffee"]
    assert asyncio.run(kafka.aio.topics())[0].name == "orders"
    assert kafka.groups() == [] and fault.count == 0
    kafka.advance(seconds=60)
    kafka.load_snapshot(kafka.snapshot())

error = ModuleNotFoundError
try:
    mock_kafka.MockKafka(in_process=True).start()
except mock_kafka.StartError as start_error:
    sys.exit(f"StartError: {start_error}")
"""

USERS_TEST = """
import kafka
import pytest
from mock_kafka import MockKafka, StartError


def test_an_order_is_stored_once_despite_a_lost_response(mock_kafka):
    assert kafka.__version__ == "2.0.2"
    servers = mock_kafka.bootstrap_servers
    mock_kafka.fail(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=1)
    producer = kafka.KafkaProducer(bootstrap_servers=servers, retries=3)
    producer.send("orders", b"one coffee").get(timeout=30)
    producer.close()
    consumer = kafka.KafkaConsumer(
        "orders", bootstrap_servers=servers, group_id="billing", auto_offset_reset="earliest"
    )
    assert next(consumer).value == b"one coffee"
    consumer.close()
    assert mock_kafka.committed("billing") == {("orders", 0): 1}


def test_a_cluster_in_this_process_is_refused():
    with pytest.raises(StartError, match=r"the broker needs aiohttp>=\\S+ \\(not installed\\)"):
        MockKafka(in_process=True).start()
"""


@pytest.mark.slow
def test_the_fixture_and_the_methods_import_the_standard_library_only(wheel: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(wheel)!r}){ONLY_STANDARD_LIBRARY}"
    command = [sys.executable, "-I", "-c", program, str(BROKER).replace("'", '"')]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr.startswith("StartError: in_process=True can't run the broker here"), (
        done.stderr
    )


@pytest.mark.long
@pytest.mark.skipif(not IMPORTS_ON_THIS_PYTHON, reason="kafka-python 2.0.2 is for Python to 3.11")
def test_a_project_with_an_old_kafka_python_uses_the_fixture(wheel: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", folder=tmp_path)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    installed = subprocess.run(
        [*map(str, pip), "pytest>=8.3", USERS_KAFKA_PYTHON],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if installed.returncode:
        pytest.skip(f"PyPI can't be reached: {installed.stderr.splitlines()[-1]}")
    run(*pip, "--no-deps", "--no-index", wheel, folder=tmp_path)
    (tmp_path / "test_orders.py").write_text(USERS_TEST)
    pytest_command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path]

    # As `uv tool install` and pipx put it on the PATH.
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "mock-kafka"
    program.write_text(f'#!/bin/sh\nexec {" ".join(BROKER)} "$@"\n')
    program.chmod(0o755)
    path = {"PATH": f"{python.parent}:{programs}:/usr/bin:/bin"}
    assert "2 passed" in run(*pytest_command, folder=tmp_path, environment=path)

    use = "from mock_kafka import MockKafka; print(MockKafka().start().topics())"
    alone = {"PATH": f"{python.parent}:/usr/bin:/bin"}
    named = {**alone, "MOCK_KAFKA_COMMAND": str(program)}
    assert run(python, "-c", use, folder=tmp_path, environment=named) == "[]\n"
    done = subprocess.run(
        [python, "-c", use], env=alone, capture_output=True, text=True, timeout=60, check=False
    )
    assert "StartError" in done.stderr
    assert "the broker needs aiohttp" in done.stderr

    # The script of this environment runs the complete one.
    script = python.with_name("mock-kafka")
    for variables in (path, named):
        run(script, "certs", "--out", "certs", folder=tmp_path, environment=variables)
        assert (tmp_path / "certs" / "server.pem").exists()
        shutil.rmtree(tmp_path / "certs")
    done = subprocess.run(
        [script, "serve"], env=alone, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("mock-kafka serve: the broker needs aiohttp")
