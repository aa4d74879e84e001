"""The arguments of `mock-kafka configs`."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client.tools import configs
from tests.client.scripted import Peer, admin_of, credentials, quotas, quotas_altered
from tests.client.scripted import configs as config_response
from tests.client.scripted import configs_altered as configs_altered_response


@contextlib.contextmanager
def talking(monkeypatch: pytest.MonkeyPatch, *responses: Any) -> Iterator[Peer]:
    """Give the tool a transport with these responses."""
    admin, peer = admin_of(*responses)
    monkeypatch.setattr(configs, "admin_of", lambda *_: contextlib.nullcontext(admin))
    yield peer
    assert peer.responses == []


def run(*arguments: str) -> int:
    return configs.main(["--bootstrap-server", "h:1", *arguments])


@pytest.mark.parametrize(
    ("arguments", "entity", "said"),
    [
        ("--entity-type users --entity-name u", {"user": "u"}, "config for user u."),
        ("--user u", {"user": "u"}, "config for user u."),
        (
            "--entity-type users --entity-name u --entity-type clients --entity-name c",
            {"user": "u", "client-id": "c"},
            "config for user u.",
        ),
        (
            "--entity-type clients --entity-name c --entity-type users --entity-default",
            {"client-id": "c", "user": None},
            "config for client c.",
        ),
        (
            "--entity-type clients --entity-default",
            {"client-id": None},
            "default config for clients in the cluster.",
        ),
        ("--entity-type users", {"user": None}, "default config for users in the cluster."),
        ("--client-defaults", {"client-id": None}, "default config for clients in the cluster."),
        ("--user u --client-defaults", {"user": "u", "client-id": None}, "config for user u."),
    ],
)
def test_names_and_defaults_belong_to_types_in_their_order(
    arguments: str,
    entity: dict[str, str | None],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with talking(monkeypatch, quotas_altered((entity, 0))) as peer:
        status = run("--alter", "--add-config", "producer_byte_rate=1", *arguments.split())
    assert status == 0
    assert capsys.readouterr().out == f"Completed updating {said}\n"
    [entry] = peer.requests[0].entries
    assert {part.entity_type: part.entity_name for part in entry.entity} == entity


def test_topics_and_brokers_are_changed_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, configs_altered_response(2, "t")) as peer:
        assert (
            run("--alter", "--add-config", "cleanup.policy=[compact,delete]", "--topic", "t") == 0
        )
    assert capsys.readouterr().out == "Completed updating config for topic t.\n"
    assert peer.requests[0].resources[0].configs[0].value == "compact,delete"


@pytest.mark.parametrize(
    ("arguments", "resource_type", "said"),
    [
        ("--group x", 32, "group x"),
        ("--entity-type groups --entity-name x", 32, "group x"),
        ("--client-metrics x", 16, "client-metric x"),
        ("--entity-type client-metrics --entity-name x", 16, "client-metric x"),
    ],
)
def test_groups_and_client_metrics_are_changed_by_name(
    arguments: str,
    resource_type: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with talking(monkeypatch, configs_altered_response(resource_type, "x")) as peer:
        words = f"--alter --add-config a=1 --delete-config b,c {arguments}"
        assert run(*words.split()) == 0
    assert capsys.readouterr().out == f"Completed updating config for {said}.\n"
    [resource] = peer.requests[0].resources
    assert resource.resource_type == resource_type
    changes = [(config.name, config.config_operation, config.value) for config in resource.configs]
    assert changes == [("b", 1, None), ("c", 1, None), ("a", 0, "1")]


def test_values_to_set_may_be_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "orders.properties"
    path.write_text("# of orders\ncleanup.policy = compact,delete\nretention.ms=60000\n")
    with talking(monkeypatch, configs_altered_response(2, "t")) as peer:
        assert run("--alter", "--add-config-file", str(path), "--topic", "t") == 0
    configs = {config.name: config.value for config in peer.requests[0].resources[0].configs}
    assert configs == {"cleanup.policy": "compact,delete", "retention.ms": "60000"}


def test_a_file_that_cannot_be_read_is_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--alter", "--add-config-file", "/nowhere/a.properties", "--topic", "t") == 1
    assert "cannot read /nowhere/a.properties" in capsys.readouterr().err


def test_describing_prints_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, quotas(({"user": "u"}, {"k": 1.0})), credentials(("v", 0))):
        assert run("--describe", "--entity-type", "users") == 0
    with talking(monkeypatch, quotas()):
        assert run("--describe", "--user-defaults") == 0
    with talking(monkeypatch, config_response(2, "t")):
        assert run("--describe", "--entity-type", "topics", "--entity-name", "t", "--all") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Quota configs for user-principal 'u' are k=1.0",
        "SCRAM credential configs for user-principal 'v' are SCRAM-SHA-256=iterations=8192",
        "All configs for topic t are:",
    ]


def test_an_error_of_the_broker_is_one_line_and_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, quotas_altered(({"user": "u"}, 42))):
        assert run("--alter", "--add-config", "producer_byte_rate=1", "--user", "u") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "Error while executing config command : INVALID_REQUEST\n"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("--describe", "--entity-type"),
        ("--entity-type users", "--alter"),
        ("--alter --describe --entity-type users", "--alter"),
        ("--alter --entity-type users --entity-name u", "--add-config"),
        ("--alter --add-config a=1 --entity-type clients", "--entity-name"),
        ("--alter --add-config a=1 --entity-type topics", "--entity-name"),
        ("--alter --add-config a=1 --entity-type users --entity-type clients", "--entity-name"),
        ("--describe --entity-type users --add-config a=1", "--alter"),
        ("--describe --entity-type users --add-config-file a", "--alter"),
        ("--alter --add-config a=1 --add-config-file a --user u", "exclude"),
        ("--describe --entity-type users --entity-name a --entity-name b", "more names"),
        ("--describe --entity-type users --entity-type topics", "users and clients"),
        ("--describe --entity-type users --user u", "twice"),
        ("--describe --entity-type topics --entity-default", "default"),
        ("--describe --entity-type groups --entity-default", "groups have no default"),
        ("--describe --entity-type broker-loggers", "entity name"),
        ("--alter --add-config a=1 --entity-type groups", "--entity-name"),
        ("--describe --entity-type acls", "acls"),
        ("--describe --group-defaults", "--entity-type"),
    ],
)
def test_invalid_arguments_are_usage_errors(
    arguments: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        run(*arguments.split())
    assert exit_info.value.code == 2
    assert word in capsys.readouterr().err


def test_help_describes_all_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("--help")
    text = capsys.readouterr().out
    for word in (
        "controller_mutation_rate",
        "connection_creation_rate",
        "--entity-default",
        "--command-config",
        "sasl.jaas.config",
        "Exit status",
        "[compact,delete]",
    ):
        assert word in text
