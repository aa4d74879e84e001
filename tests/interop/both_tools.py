"""One of Kafka's command line tools and ours on a cluster of ours, to compare what both print."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from mock_kafka import cli
from scenarios.maven import CannotRunError
from tests.differential.clusters import Setup, our_cluster
from tests.differential.tools import Result, Session, ToolProcess, compile_tools

KAFKAS = "kafkas-"
"""What names begin with, in place of `~`, where Kafka's tool makes them."""


class BothTools:
    """Runs `mock-kafka NAME` and Kafka's tool of that name with the same words."""

    def __init__(
        self, name: str, process: ToolProcess, servers: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._name = name
        self._process = process
        self._servers = servers
        self._capsys = capsys

    def run_ours(self, words: str, prefix: str = KAFKAS) -> tuple[int, str, str]:
        """Return the status, the output and the errors of our tool."""
        self._capsys.readouterr()
        arguments = shlex.split(words.replace("~", prefix))
        try:
            status = cli.main([self._name, "--bootstrap-server", self._servers, *arguments])
        except SystemExit as ended:
            status = int(ended.code or 0)
        captured = self._capsys.readouterr()
        return status, captured.out, captured.err

    def run_kafkas(self, commands: Sequence[str]) -> list[Result]:
        """Return what Kafka's tool prints for each command."""
        session = Session(self._name, tuple(f"{self._name} {words}" for words in commands))
        return self._process.run(session, KAFKAS)

    def check_lines(
        self, commands: Sequence[str], lines: Callable[[str], list[str]] = str.splitlines
    ) -> None:
        """Check that both print the same lines, in any order, and that ours prints no error."""
        expected = [result.output for result in self.run_kafkas(commands)]
        found = []
        for words in commands:
            status, output, errors = self.run_ours(words, "ours-")
            assert (status, errors) == (0, ""), words
            found.append(output.replace("ours-", "~"))
        for words, ours, kafka in zip(commands, found, expected, strict=True):
            assert sorted(lines(ours)) == sorted(lines(kafka)), words


@contextmanager
def both_tools(
    name: str, setup: Setup, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[BothTools]:
    """Start a cluster, and a JVM with Kafka's tools; skip without a JDK or Maven Central."""
    try:
        tools = compile_tools(folder, setup.release)
    except CannotRunError as error:
        pytest.skip(str(error))
    with our_cluster(setup) as cluster, ToolProcess(tools, cluster, folder) as process:
        host, port = cluster.address(1, "PLAINTEXT")
        yield BothTools(name, process, f"{host}:{port}", capsys)
