"""What `mock-kafka acls` sends and prints; the interop test compares it with Kafka's tool."""

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import pytest

from client.tools import acls
from protocol.acls import PatternType
from tests.client.acl_responses import ALICE_READS, ALL_DENIED, created, deleted, described
from tests.client.scripted import Peer, admin_of

ORDERS = "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)"
ALICE = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)"
DENIED = "(principal=User:*, host=10.0.0.1, operation=ALL, permissionType=DENY)"
OF_ALICE = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")


@contextlib.contextmanager
def talking(monkeypatch: pytest.MonkeyPatch, *responses: Any) -> Iterator[Peer]:
    """Give the tool a transport with these responses."""
    admin, peer = admin_of(*responses)
    monkeypatch.setattr(acls, "admin_of", lambda *_: contextlib.nullcontext(admin))
    yield peer
    assert peer.responses == []


def run(*arguments: str) -> int:
    return acls.main(["--bootstrap-server", "h:1", *arguments])


def test_only_rules_that_are_new_are_added(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, described(ALICE_READS), created(0)) as peer:
        deny = ("--deny-principal", "User:*", "--deny-host", "10.0.0.1", "--operation", "All")
        assert run("--add", *OF_ALICE, *deny) == 0
    added = [
        (one.principal, one.operation, one.permission_type) for one in peer.requests[1].creations
    ]
    assert added == [("User:*", 2, 2), ("User:*", 3, 2), ("User:alice", 2, 3)]
    printed = capsys.readouterr().out
    assert printed.startswith(f"Acl (pattern={ORDERS}, entry={ALICE}) already exists.\n")
    assert f"Adding ACLs for resource `{ORDERS}`: \n \t{DENIED}\n\t" in printed
    with talking(monkeypatch, described(ALICE_READS)):
        assert run("--add", *OF_ALICE) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_rules_are_listed_by_resource_and_by_principal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, described(ALICE_READS, ALL_DENIED)) as peer:
        assert run("--list") == 0
    assert peer.requests[0].pattern_type_filter is PatternType.ANY
    title = f"Current ACLs for resource `{ORDERS}`:\n"
    assert capsys.readouterr().out == f"{title}\t{DENIED}\n\t{ALICE}\n\n"

    with talking(monkeypatch, described(ALICE_READS, ALL_DENIED)) as peer:
        words = ("--topic", "orders", "--resource-pattern-type", "MATCH")
        assert run("--list", "--principal", "User:alice", "--principal", "User:bob", *words) == 0
    assert peer.requests[0].pattern_type_filter is PatternType.MATCH
    principals = [f"ACLs for principal `User:{name}`\n" for name in ("alice", "bob")]
    assert capsys.readouterr().out == f"{principals[0]}{title}\t{ALICE}\n\n{principals[1]}"


@pytest.mark.parametrize(("answer", "is_removed"), [("Y\n", True), ("n\n", False), ("", False)])
def test_without_force_the_tool_asks_before_it_removes(
    answer: str,
    is_removed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    with talking(monkeypatch, *([deleted((0, 0))] if is_removed else [])):
        assert run("--remove", *OF_ALICE) == 0
    question = f"Are you sure you want to remove ACLs: \n \t{ALICE}\n from resource filter"
    assert capsys.readouterr().out == f"{question} `{ORDERS}`? (y/n)\n"


def test_with_force_all_rules_of_a_resource_are_removed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, deleted((0, 0))) as peer:
        assert run("--remove", "--force", "--topic", "orders") == 0
    [sent] = peer.requests[0].filters
    assert (sent.resource_name_filter, sent.principal_filter, sent.operation) == (
        "orders",
        None,
        1,
    )
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    with talking(monkeypatch):
        assert run("--remove", "--topic", "orders") == 0
    question = f"Are you sure you want to delete all ACLs for resource filter `{ORDERS}`? (y/n)"
    assert capsys.readouterr().out == f"{question}\n"


@pytest.mark.parametrize(
    ("responses", "arguments"),
    [
        ([described(error_code=54)], ("--list",)),
        ([described(), created(54)], ("--add", *OF_ALICE)),
        ([deleted((54, 0))], ("--remove", "--force", *OF_ALICE)),
    ],
)
def test_an_error_of_the_broker_is_one_line(
    responses: list[Any],
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with talking(monkeypatch, *responses):
        assert run(*arguments) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("Error while executing ACL command: ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--add --allow-principal User:a --list --topic t", "not allowed with argument"),
        ("--add --allow-principal User:a --topic t --operation Reed", "did you mean Read?"),
        ("--list --producer --topic t", 'Option "[list]" can\'t be used with option "[producer]"'),
        (
            "--add --consumer --topic t --group g --deny-host h",
            'Option "[consumer]" can\'t be used with option "[deny-host]"',
        ),
        ("--remove --topic t --principal User:a", "only available if --list is set"),
        ("--add --producer --group g", "With --producer you must specify a --topic"),
        ("--add --idempotent --topic t", "only available if --producer is set"),
        ("--add --consumer --topic t", "With --consumer you must specify"),
        (
            "--add --allow-principal User:a --topic t --resource-pattern-type any",
            "value of 'ANY' is not valid when adding acls",
        ),
    ],
)
def test_options_that_do_not_belong_together_are_refused(
    words: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*words.split())
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_principal_without_a_type_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--add", "--allow-principal", "alice", "--topic", "t") == 1
    message = "expected a string in format principalType:principalName but got alice"
    assert capsys.readouterr().err == f"Error while executing ACL command: {message}\n"
