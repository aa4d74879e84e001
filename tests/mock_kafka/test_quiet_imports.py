"""Users see no warnings of kafka-python, and may make warnings errors."""

import subprocess
import sys
import warnings

import pytest

from mock_kafka.quiet_imports import quiet_imports

PROGRAM = """
from mock_kafka import MockKafka
with MockKafka(in_process=True) as kafka:
    kafka.hook(lambda request: None)
    print(kafka.create_topic("orders").name)
"""


def test_deprecations_are_ignored_in_the_block_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quiet_imports():
            warnings.warn("x", DeprecationWarning, stacklevel=1)
        with pytest.raises(DeprecationWarning):
            warnings.warn("x", DeprecationWarning, stacklevel=1)


@pytest.mark.slow
@pytest.mark.parametrize("program", [PROGRAM, "from mock_kafka import Producer, open_admin"])
def test_a_program_in_which_warnings_are_errors_runs(program: str) -> None:
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
