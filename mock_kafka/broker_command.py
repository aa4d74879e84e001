"""The command that starts the broker: of this environment, or of another one."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mock_kafka.isolated_launcher import PATH_VARIABLE
from mock_kafka.missing_requirements import missing_requirements

COMMAND_VARIABLE = "MOCK_KAFKA_COMMAND"
PROGRAM = "mock-kafka"

_ISOLATED_LAUNCHER = Path(__file__).with_name("isolated_launcher.py")
_OF_THIS_PYTHON = ("PYTHONHOME", "PYTHONPATH")
# The last is for brokers that are started by hand.
_NOT_INHERITED = (*_OF_THIS_PYTHON, "MOCK_KAFKA_")
_EXECUTED_VARIABLE = "MOCK_KAFKA_EXECUTED"
"""Set for a program that runs in place of another one, so that two do not call each other."""


@dataclass(frozen=True)
class BrokerCommand:
    """A command without the arguments of `mock-kafka`, and its environment variables."""

    words: tuple[str, ...]
    environment: dict[str, str]
    is_own: bool
    """Whether it runs in this environment."""


def broker_command(command: str | Sequence[str] | None = None) -> BrokerCommand:
    """Return the first of these commands that there is.

    1. `command`: its words, or one string as for a shell.
    2. The environment variable MOCK_KAFKA_COMMAND.
    3. This environment's own, if it has the packages that the broker needs.
    4. A `mock-kafka` on the PATH that belongs to another environment.

    If there is none, it is this environment's own, which says what is missing.
    """
    given = command or os.environ.get(COMMAND_VARIABLE, "").strip()
    if isinstance(given, str):
        given = _words(given)
    if not given:
        other = _other_program()
        if other is None or not _lacks_requirements():
            return _own_command()
        given = [other]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_INHERITED)}
    return BrokerCommand(tuple(given), environment, is_own=False)


def execute_other(arguments: Sequence[str]) -> None:
    """Run the `mock-kafka` of another environment in place of this process.

    It is the one that `broker_command` finds. Return if that is this environment's own.

    Raises:
        OSError: it can't be started.
    """
    command = broker_command()
    if command.is_own or _EXECUTED_VARIABLE in os.environ:
        return
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_OF_THIS_PYTHON)}
    environment[_EXECUTED_VARIABLE] = "1"
    words = [*command.words, *arguments]
    if os.name == "nt":  # there `exec` ends this process while the other one still runs
        sys.exit(subprocess.call(words, env=environment))  # noqa: S603 - no shell on purpose
    os.execvpe(words[0], words, environment)  # noqa: S606 - no shell on purpose


def _words(command: str) -> list[str]:
    if os.name == "nt":  # a backslash is a part of a path
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    return shlex.split(command)


def _own_command() -> BrokerCommand:
    # -I: do not run a broker.py in the user's folders. -S: see the launcher.
    flags = ("-I", "-S", *(["-B"] if sys.dont_write_bytecode else []))
    words = (sys.executable, *flags, str(_ISOLATED_LAUNCHER))
    path = os.pathsep.join(folder for folder in sys.path if folder)
    return BrokerCommand(words, {**os.environ, PATH_VARIABLE: path}, is_own=True)


def _other_program() -> str | None:
    """Return the `mock-kafka` of another environment that the PATH has first, if any."""
    own = {os.path.realpath(sysconfig.get_path("scripts"))}
    own.add(os.path.realpath(os.path.dirname(sys.executable)))
    folders = os.environ.get("PATH", "").split(os.pathsep)
    others = [folder for folder in folders if folder and os.path.realpath(folder) not in own]
    return shutil.which(PROGRAM, path=os.pathsep.join(others)) if others else None


@cache
def _lacks_requirements() -> bool:
    return bool(missing_requirements())
