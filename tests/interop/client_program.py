"""A program in another language that runs scenarios with a client library."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_RUN_TIMEOUT_S = 60

Lines = list[list[str]]
"""Lines of output, split at tabs."""
CompletedProgram = subprocess.CompletedProcess[str]
RunningProgram = subprocess.Popen[str]


@dataclass(frozen=True)
class ClientProgram:
    """The command that runs the program, and variables to add to the environment."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: object) -> Lines:
        """Return what a scenario prints; fail the test if it fails."""
        done = self.run_unchecked(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def start(self, *arguments: object) -> RunningProgram:
        """Start a scenario that the test ends."""
        return subprocess.Popen(
            [*self.command, *map(str, arguments)],
            env={**os.environ, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_unchecked(self, *arguments: object) -> CompletedProgram:
        """Run a scenario to its end, whether it succeeds or not."""
        return subprocess.run(
            [*self.command, *map(str, arguments)],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            check=False,
        )
