"""Kafka's command line tools against both clusters."""

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from scenarios.maven import CannotRunError
from tests.differential.tool_output import comparable
from tests.differential.tools import (
    COMPARED_RELEASES,
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

PLAYED = [
    pytest.param(
        release,
        session,
        id=f"{release} {session.about}",
        marks=pytest.mark.xdist_group(f"jvm of tools {release}"),
    )
    for release in COMPARED_RELEASES
    for session in sessions(release)
]
"""By release, so that one pair of clusters is enough for all sessions of it."""


@pytest.fixture(scope="session")
def processes_of(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], tuple[ToolProcess, ToolProcess]]]:
    """Return a function that returns both tool processes of a release.

    Only these tests use their clusters; those of one release end when those of another start.
    """
    with ExitStack() as stack:

        @functools.cache
        def started(release: str) -> tuple[ToolProcess, ToolProcess]:
            stack.close()
            folder = tmp_path_factory.mktemp("kafka-of-tools")
            try:
                return stack.enter_context(tools_of_both(folder, release))
            except CannotRunError as error:
                pytest.skip(str(error))

        yield started


@pytest.mark.compare
@pytest.mark.parametrize(("release", "session"), PLAYED)
def test_a_tool_session_has_the_known_differences(
    release: str,
    session: Session,
    processes_of: Callable[[str], tuple[ToolProcess, ToolProcess]],
) -> None:
    found = compare_session(session, *processes_of(release))
    known = known_differences(release).get(session.about, {})
    assert found == known, f"run scripts/compare --tools --against {release} --keep"


def test_every_tool_is_in_a_session() -> None:
    commands = [command for session in sessions() for command in session.commands]
    used = {command_line(command).split()[0] for command in commands}
    assert used == set(TOOLS)


def test_a_session_says_why_it_has_known_differences() -> None:
    known = {about for release in COMPARED_RELEASES for about in known_differences(release)}
    assert known == {session.about for session in sessions() if session.differs_because}


@pytest.mark.parametrize("release", COMPARED_RELEASES)
def test_every_known_difference_belongs_to_a_command(release: str) -> None:
    commands = {
        session.about: [
            f"{number}: {command_line(command)}"
            for number, command in enumerate(session.commands, 1)
        ]
        for session in sessions(release)
    }
    for about, differing in known_differences(release).items():
        assert differing.keys() <= set(commands[about])


def test_lines_of_only_one_output_are_named() -> None:
    assert differing_lines("a\nb", "a\nb") == []
    assert differing_lines("a\nb", "a\nc") == ["Kafka: b", "ours:  c"]
    assert differing_lines("a\nb", "b\na") == ["the same lines in another order, or not as often"]
    assert differing_lines("a\nb 1\nc", "a\nc\nb 2", ["^b"]) == []


def test_the_order_of_keys_in_a_line_of_json_does_not_count() -> None:
    outputs = ['a\n{"topic":"t","partition":1}', 'a\n{"partition":1,"topic":"t"}', "a\n{b}"]
    kafka, ours, other = (
        comparable(text, has_own_numbers=False, has_any_order=False) for text in outputs
    )
    assert kafka == ours
    assert other == outputs[-1]


def test_a_session_has_the_files_that_its_commands_name() -> None:
    for session in sessions():
        for command in session.commands:
            for name in command_line(command).split("{file:")[1:]:
                assert name.partition("}")[0] in session.files, command
