"""The class that runs Apache Kafka, with other programs in its place."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.apache_kafka import ApacheKafka


class Program(ApacheKafka):
    """A shell script that runs where the broker would."""

    def __init__(self, folder: Path, script: str) -> None:
        super().__init__(folder)
        self._script = script

    def prepare(self) -> None:
        """Do nothing: a script needs no files."""

    def _java(self) -> list[str]:
        return ["sh", "-c", self._script]


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path, request.param)
    yield program
    program.stop()


@pytest.mark.parametrize("program", ["echo Kafka Server started >&2; exec sleep 60"], indirect=True)
def test_a_broker_is_up_when_its_log_says_so(program: Program) -> None:
    program.start()
    assert program.pid


@pytest.mark.parametrize(
    "program",
    [
        "echo Address already in use >&2",
        # The end of the log comes before that of the process.
        "echo Address already in use >&2; exec sleep 60 2>&-",
    ],
    indirect=True,
)
def test_a_broker_that_does_not_start_is_told_with_its_log(program: Program) -> None:
    with pytest.raises(AssertionError, match="did not start:\nAddress already in use"):
        program.start()
