"""The program for spark-submit, which needs nothing of mock-kafka's broker."""

import subprocess
import sys
from pathlib import Path

import pytest

from loadgen.job import main

OF_THE_BROKER = ("broker", "mock_kafka", "producer_state", "proxy", "simulation")
IMPORT_ALL = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({OF_THE_BROKER!r}))  # importing them fails
import loadgen
for module in pkgutil.walk_packages(loadgen.__path__, "loadgen."):
    if module.name not in {{"loadgen.hdfs", "loadgen.worker_daemon"}}:  # an extra; a daemon
        importlib.import_module(module.name)
print(sys.modules["loadgen.job"].main.__name__)
"""


@pytest.mark.long  # it starts a JVM
def test_spark_submit_needs_a_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["steady", "--out", str(tmp_path)]) == 2
    assert "--bootstrap-server" in capsys.readouterr().err


@pytest.mark.long
def test_no_module_of_the_load_generator_needs_the_broker() -> None:
    command = [sys.executable, "-c", IMPORT_ALL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("main\n", "")
