"""The Tab key completes commands, options and their values in bash, zsh and fish."""

import os
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from argcomplete.finders import CompletionFinder

from mock_kafka import completion
from mock_kafka.commands import COMMANDS
from scenarios import registry

SUMMARIES = {name: summary for name, (_, summary) in COMMANDS.items()}
PROGRAMS = {
    "bash": """
        eval "$(mock-kafka completion bash)"
        COMP_LINE="mock-kafka serve --log-level " COMP_POINT=29 COMP_TYPE=9
        _python_argcomplete mock-kafka
        echo "${COMPREPLY[@]}"
    """,
    # Outside of an interactive shell zsh has neither of its functions for completions.
    "zsh": """
        compdef() { }
        _describe() { echo ${(P)2} }
        eval "$(mock-kafka completion zsh)"
        words=(mock-kafka serve --log-level) BUFFER="mock-kafka serve --log-level " CURSOR=29
        _python_argcomplete
    """,
    "fish": """
        mock-kafka completion fish | source
        complete --do-complete "mock-kafka serve --log-level "
    """,
}


def completions(line: str, monkeypatch: pytest.MonkeyPatch, folder: Path | None = None) -> set[str]:
    """Return what a shell offers at the end of a line."""
    if folder is not None:
        monkeypatch.chdir(folder)
    for name, value in (
        ("_ARGCOMPLETE", "1"),
        ("_ARGCOMPLETE_IFS", "\n"),
        ("COMP_LINE", line),
        ("COMP_POINT", str(len(line))),
        ("COMP_TYPE", "9"),
    ):
        monkeypatch.setenv(name, value)
    # It would open file descriptor 9, which may be in use.
    monkeypatch.setattr(CompletionFinder, "_init_debug_stream", lambda _: None)
    written = StringIO()

    class ExitedError(Exception):
        pass

    def leave(_status: int) -> None:
        raise ExitedError

    with pytest.raises(ExitedError):
        completion.complete(SUMMARIES, exit_method=leave, output_stream=written)
    return set(written.getvalue().split("\n"))


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("mock-kafka s", {"serve", "snapshot", "scenario"}),
        ("mock-kafka serve --log-", {"--log-level", "--log-format"}),
        ("mock-kafka serve -o producer.state.b", {"producer.state.batches="}),
        ("mock-kafka certs --c", {"--client "}),
        ("mock-kafka topics --replica", {"--replica-assignment"}),
        ("mock-kafka configs --ent", {"--entity-type", "--entity-name", "--entity-default"}),
        ("mock-kafka groups --res", {"--reset-offsets "}),
        ("mock-kafka brokers st", {"stop", "start"}),
        ("mock-kafka clock set s", {"scaled", "standing"}),
        ("mock-kafka health --w", {"--wait "}),
        ("mock-kafka scenario cas", {"cascade "}),
        ("mock-kafka load --set", {"--set-quotas "}),
        ("mock-kafka load fin", {"find "}),
        ("mock-kafka completion ", {"-h", "--help", *completion.SHELLS}),
    ],
)
def test_the_end_of_a_line_is_completed(
    line: str, offered: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert completions(line, monkeypatch) >= offered
    last_word = line.rsplit(" ", maxsplit=1)[-1]
    assert all(word.startswith(last_word) for word in completions(line, monkeypatch))


def test_every_command_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert completions("mock-kafka ", monkeypatch) >= set(COMMANDS)
    assert completions("mock-kafka scenario ", monkeypatch) >= set(registry.SCENARIOS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_every_command_are_offered(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {word.strip() for word in completions(f"mock-kafka {command} --h", monkeypatch)} >= {
        "--help"
    }


def test_a_plan_is_a_built_in_one_or_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "stress.yaml").touch()
    offered = completions("mock-kafka load st", monkeypatch, tmp_path)
    assert offered == {"steady", "stress.yaml"}


@pytest.mark.slow
@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_script_of_a_shell_completes_a_line(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [shell, "-c", PROGRAMS[shell]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    offered = {word.partition(":")[0] for word in done.stdout.split()}
    assert {"debug", "info", "warning", "error"} <= offered, done
