"""`mock-kafka topics`: arguments, output and requests."""

import contextlib
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from client.resources import TopicDescription
from client.tools import topics
from tests.client.scripted import (
    Peer,
    admin_of,
    configs,
    created,
    deleted,
    metadata,
    partitions_created,
)


@contextlib.contextmanager
def talking(monkeypatch: pytest.MonkeyPatch, *responses: Any) -> Iterator[Peer]:
    """Give the tool a transport with these responses."""
    admin, peer = admin_of(*responses)
    monkeypatch.setattr(topics, "admin_of", lambda *_: contextlib.nullcontext(admin))
    yield peer
    assert peer.responses == []


def run(*arguments: str) -> int:
    return topics.main(["--bootstrap-server", "h:1", *arguments])


def test_a_topic_is_created_with_the_given_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, created(("t", 0))) as peer:
        words = (
            "--create --topic t --partitions 3 --replication-factor 2 --config a=b=c --config d="
        )
        assert run(*words.split()) == 0
    assert capsys.readouterr().out == "Created topic t.\n"
    [topic] = peer.requests[0].topics
    assert (topic.num_partitions, topic.replication_factor) == (3, 2)
    assert [(config.name, config.value) for config in topic.configs] == [("a", "b=c"), ("d", "")]


def test_counts_default_to_the_brokers_and_replicas_may_be_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, created(("a.b", 0))) as peer:
        assert run("--create", "--topic", "a.b", "--replica-assignment", "1:2,2:1") == 0
    warning, line = capsys.readouterr().out.splitlines()
    assert warning == topics.COLLISION_WARNING
    assert line == "Created topic a.b."
    [topic] = peer.requests[0].topics
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert [assignment.broker_ids for assignment in topic.assignments] == [[1, 2], [2, 1]]


def test_a_quota_refusal_is_not_retried_but_printed_with_its_throttle_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = [
        (("--create",), [created(("t", 89), throttle_time_ms=700)]),
        (
            ("--alter", "--partitions", "2"),
            [metadata(("t", 1)), partitions_created(("t", 89, None), throttle_time_ms=700)],
        ),
        (("--delete",), [metadata(("t", 1)), deleted(("t", 89), throttle_time_ms=700)]),
    ]
    for words, responses in commands:
        with talking(monkeypatch, *responses):
            assert run(*words, "--topic", "t") == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == (
            "Error while executing topic command : The throttling quota has been exceeded."
            " (throttle_time_ms=700)\n"
        )


def test_an_existing_topic_is_an_error_unless_if_not_exists_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, created(("t", 36))):
        assert run("--create", "--topic", "t") == 1
    assert "TOPIC_ALREADY_EXISTS" in capsys.readouterr().err
    with talking(monkeypatch, created(("t", 36))):
        assert run("--create", "--topic", "t", "--if-not-exists") == 0
    with talking(monkeypatch, created(("t", 40))):
        assert run("--create", "--topic", "t", "--if-not-exists") == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err.splitlines()[0][-14:]) == ("", "INVALID_CONFIG")


@pytest.mark.parametrize("action", ["--alter --partitions 2", "--delete", "--describe"])
def test_a_missing_topic_is_an_error_unless_if_exists_is_given(
    action: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(monkeypatch, metadata(("other", 1))):
        assert run(*action.split(), "--topic", "t") == 1
    assert capsys.readouterr().err == (
        "Error while executing topic command : Topic 't' does not exist as expected\n"
    )
    with talking(monkeypatch, metadata(("other", 1))):
        assert run(*action.split(), "--topic", "t", "--if-exists") == 0
    assert capsys.readouterr() == ("", "")


def test_a_pattern_must_match_the_complete_topic_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = metadata(("t1", 1), ("t2", 1), ("at1", 1), ("x", 1), ("__consumer_offsets", 1))
    with talking(monkeypatch, there, deleted(("t1", 0), ("t2", 0), ("x", 0))) as peer:
        assert run("--delete", "--topic", "t.*,x") == 0
    assert peer.requests[1].topic_names == ["t1", "t2", "x"]
    with talking(monkeypatch, there):
        assert run("--list", "--exclude-internal") == 0
    assert capsys.readouterr().out.split() == ["at1", "t1", "t2", "x"]
    with talking(monkeypatch, there):
        assert run("--list", "--topic", "nope") == 0
    with talking(monkeypatch, there):
        assert run("--list", "--topic", "(") == 1


def test_describe_prints_the_lines_of_kafkas_tool(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(
        monkeypatch,
        metadata(("t", 2)),
        configs(2, "t", ("retention.ms", "5", 1), ("segment.bytes", "9", 4), ("x", "y", 5)),
        metadata(("t", 2)),
    ):
        assert run("--describe", "--topic", "t") == 0
    assert capsys.readouterr().out.splitlines() == [
        (
            "Topic: t\tTopicId: -\tPartitionCount: 2\tReplicationFactor: 2"
            "\tConfigs: retention.ms=5,segment.bytes=9"
        ),
        "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: 1",
        "\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 1,2\tIsr: 1",
    ]


def test_topic_ids_are_printed_as_by_kafka() -> None:
    uuid = UUID("797cd440-0748-4669-874a-512b9916e840")
    assert topics.id_text(TopicDescription("t", uuid, False, ())) == "eXzUQAdIRmmHSlErmRboQA"
    assert topics.id_text(TopicDescription("t", None, False, ())) == "-"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("--topic t", "--create"),
        ("--create", "--topic"),
        ("--alter --topic t", "--partitions"),
        ("--create --topic t --replica-assignment 1 --partitions 2", "--replica-assignment"),
        ("--create --topic t --replica-assignment one", "--replica-assignment"),
        ("--create --list", "--list"),
    ],
)
def test_invalid_arguments_are_usage_errors(
    arguments: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        run(*arguments.split())
    assert exit_info.value.code == 2
    assert word in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("--partitions 0", "partitions must be greater than 0"),
        ("--replication-factor -1", "replication factor must be greater than 0"),
        ("--config nonsense", "KEY=VALUE"),
    ],
)
def test_invalid_values_are_refused_before_a_request_is_sent(
    arguments: str,
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with talking(monkeypatch) as peer:
        assert run("--create", "--topic", "t", *arguments.split()) == 1
    assert word in capsys.readouterr().err
    assert peer.asked == []


def test_help_describes_all_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("--help")
    text = capsys.readouterr().out
    for word in ("throttle_time_ms", "--if-not-exists", "num.partitions", "Exit status"):
        assert word in text
