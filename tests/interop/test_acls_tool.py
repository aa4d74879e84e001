"""kafka-acls.sh of Kafka 4.4 and `mock-kafka acls`: the same lines and effects."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.maven import CannotRunError
from tests.differential.clusters import Setup, apache_cluster, our_cluster
from tests.differential.tools import Command, Session, compare_session, tool_processes
from tests.interop.both_tools import KAFKAS, BothTools, both_tools

pytestmark = pytest.mark.xdist_group("jvm")

ALLOW = "--allow-principal User:~alice"
FROM_RANGE = "--allow-principal User:* --allow-host 10.0.0.1 --allow-host 10.1.0.0/16"
COMMANDS = (
    "--list",
    f"--add {ALLOW} --operation Read --operation Describe --topic ~t --topic ~u",
    f"--add {ALLOW} --operation READ --operation Write --topic ~t",
    f"--add {ALLOW} --operation Read --topic ~t",
    "--list --topic ~t",
    f"--add {ALLOW} {FROM_RANGE} --group ~g --topic ~p --resource-pattern-type prefixed",
    "--list --group ~g --resource-pattern-type prefixed",
    "--list --topic ~p1 --resource-pattern-type match",
    "--list --topic ~p1 --resource-pattern-type any",
    f"--add {ALLOW} --deny-principal User:~bob --deny-host 10.0.0.2 --operation Alter --cluster",
    f"--add --producer --idempotent {ALLOW} --topic ~w --transactional-id ~x",
    f"--add --consumer {ALLOW} --topic ~w --group ~g",
    f"--add --producer --consumer {ALLOW} --topic ~b --group ~b",
    "--list --topic ~w --topic ~b --transactional-id ~x --group ~g --group ~b",
    f"--add {ALLOW} --operation CreateTokens --user-principal User:~bob",
    f"--add {ALLOW} --operation Describe --delegation-token ~d",
    "--list --user-principal User:~bob --delegation-token ~d --cluster",
    "--list",
    "--list --principal User:~alice --principal User:~bob",
    "--list --principal User:~nobody",
    f"--remove --force {ALLOW} --operation Read --topic ~t",
    "--list --topic ~t",
    "--remove --force --topic ~t",
    "--list --topic ~t",
    f"--remove --force --producer {ALLOW} --topic ~w",
    "--list --topic ~w",
    "--remove --force --topic ~p1 --resource-pattern-type match",
    "--remove --force --topic ~u --topic ~w --topic ~b --group ~b --group ~g --transactional-id ~x",
    "--remove --force --group ~g --resource-pattern-type prefixed",
    "--remove --force --cluster --delegation-token ~d --user-principal User:~bob",
    "--list",
)
"""They leave nothing for the other tool."""
USAGE_ERRORS = (
    f"--add {ALLOW} --operation Read --user-principal User:~x --operation CreateTokens",
    f"--add {ALLOW} --operation Read",
    "--add --topic ~t --operation Read",
    f"--add {ALLOW} --operation Write --group ~g",
    f"--add {ALLOW} --operation Read --topic ~t --resource-pattern-type match",
    f"--add --producer {ALLOW} --group ~g",
    f"--add --producer {ALLOW} --topic ~t --operation Read",
    f"--add --idempotent {ALLOW} --topic ~t",
    f"--add --consumer {ALLOW} --topic ~t",
    f"--add --consumer {ALLOW} --topic ~t --group ~g --cluster",
    "--add --consumer --topic ~t --group ~g --deny-principal User:~x",
    f"--list --topic ~t {ALLOW}",
    "--remove --topic ~t --principal User:~x",
)
ERRORS = (
    "--add --allow-principal alice --operation Read --topic ~t",
    f"--add {ALLOW} --allow-host 10.0.0.0/33 --operation Read --topic ~t",
)


@pytest.fixture
def tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[BothTools]:
    """Both tools on a cluster of ours with an authorizer."""
    config = {"authorizer.class.name": "acl", "super.users": "User:ANONYMOUS"}
    with both_tools("acls", Setup("4.4", config=config), tmp_path, capsys) as running:
        yield running


def test_both_tools_print_the_same(tools: BothTools) -> None:
    tools.check_lines(COMMANDS, lines)


def lines(output: str) -> list[str]:
    """Return lines without the space in front of the first rule of a list, which has any order."""
    return [line.strip(" ") for line in output.splitlines()]


def test_the_tool_prints_the_same_with_apache_kafka(tmp_path: Path) -> None:
    setup = Setup("4.4", has_authorizer=True)
    words = (*COMMANDS, *USAGE_ERRORS, *ERRORS)
    commands = tuple(Command(f"acls {arguments}", has_any_order=True) for arguments in words)
    try:
        with (
            apache_cluster(tmp_path, setup) as kafka,
            our_cluster(setup) as ours,
            tool_processes(kafka, ours, setup.release) as processes,
        ):
            assert compare_session(Session("acls", commands), *processes) == {}
    except CannotRunError as error:
        pytest.skip(str(error))


def test_both_tools_refuse_the_same(tools: BothTools) -> None:
    commands = (*USAGE_ERRORS, *ERRORS)
    for words, result in zip(commands, tools.run_kafkas(commands), strict=True):
        status, _, errors = tools.run_ours(words)
        assert (status, result.status) == (2 if words in USAGE_ERRORS else 1, "1"), words
        last = errors.splitlines()[-1].replace(KAFKAS, "~")
        message = last.removeprefix("mock-kafka acls: error: ")
        message = message.removeprefix("Error while executing ACL command: ")
        message = message.partition("[ALL, ")[0].strip()  # Kafka's list has any order
        assert message in result.errors + result.output, words
