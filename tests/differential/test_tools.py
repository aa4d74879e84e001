"""Kafka's command line tools against both clusters."""

from collections.abc import Iterator

import pytest

from scenarios.maven import CannotRunError
from tests.differential.tools import (
    TOOLS,
    Session,
    ToolProcess,
    command_line,
    compare_session,
    differing_lines,
    known_differences,
    sessions,
    tools_of_both,
)


def subject(session: Session) -> str:
    return session.about


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ToolProcess, ...]]:
    """Return both tool processes, of clusters that only these tests use."""
    folder = tmp_path_factory.mktemp("kafka-of-tools")
    try:
        with tools_of_both(folder) as both:
            yield both
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.mark.compare
@pytest.mark.xdist_group("jvm")
@pytest.mark.parametrize("session", sessions(), ids=subject)
def test_a_tool_session_has_the_known_differences(
    session: Session, processes: tuple[ToolProcess, ToolProcess]
) -> None:
    found = compare_session(session, *processes)
    known = known_differences().get(session.about, {})
    assert found == known, "run scripts/compare --tools --keep"


def test_every_tool_is_in_a_session() -> None:
    commands = [command for session in sessions() for command in session.commands]
    used = {command_line(command).split()[0] for command in commands}
    assert used == set(TOOLS)


def test_a_session_says_why_it_has_known_differences() -> None:
    known = known_differences()
    unexplained = [
        session.about
        for session in sessions()
        if bool(known.get(session.about)) != bool(session.differs_because)
    ]
    assert unexplained == []


def test_every_known_difference_belongs_to_a_command() -> None:
    commands = {
        session.about: [
            f"{number}: {command_line(command)}"
            for number, command in enumerate(session.commands, 1)
        ]
        for session in sessions()
    }
    for about, differing in known_differences().items():
        assert differing.keys() <= set(commands[about])


def test_lines_of_only_one_output_are_named() -> None:
    assert differing_lines("a\nb", "a\nb") == []
    assert differing_lines("a\nb", "a\nc") == ["Kafka: b", "ours:  c"]
    assert differing_lines("a\nb", "b\na") == ["the same lines in another order, or not as often"]
    assert differing_lines("a\nb 1\nc", "a\nc\nb 2", ["^b"]) == []


def test_a_session_has_the_files_that_its_commands_name() -> None:
    for session in sessions():
        for command in session.commands:
            for name in command_line(command).split("{file:")[1:]:
                assert name.partition("}")[0] in session.files, command
