"""Kafka's command line tools against both clusters."""

from collections.abc import Iterator

import pytest

from scenarios.maven import CannotRunError
from tests.differential.clusters import (
    REPLAY_REBALANCE_DELAY_MS,
    apache_cluster,
    our_cluster,
)
from tests.differential.tools import (
    TOOLS,
    Session,
    ToolProcess,
    command_line,
    compare_session,
    differing_lines,
    known_differences,
    sessions,
    tool_processes,
)


def subject(session: Session) -> str:
    return session.about


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ToolProcess, ...]]:
    """Return both tool processes, of clusters that only these tests use."""
    folder = tmp_path_factory.mktemp("kafka-of-tools")
    try:
        with (
            apache_cluster(folder, "4.1", REPLAY_REBALANCE_DELAY_MS) as kafka,
            our_cluster("4.1", REPLAY_REBALANCE_DELAY_MS) as ours,
            tool_processes(kafka, ours) as both,
        ):
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
    assert differing_lines("a\nb", "b\na") == ["the same lines in another order"]


def test_a_session_has_the_files_that_its_commands_name() -> None:
    for session in sessions():
        for command in session.commands:
            for name in command_line(command).split("{file:")[1:]:
                assert name.partition("}")[0] in session.files, command
