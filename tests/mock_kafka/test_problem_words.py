"""Problems of the admin port in words of Python and of commands."""

import ast
import inspect
import json
import re
from pathlib import Path

import pytest

import broker.http_admin
from broker.http_admin import web  # noqa: F401 - declares all operations
from broker.http_admin.operation import OPERATIONS, Problem, Remedy
from mock_kafka import ControlError, MockKafka
from mock_kafka.admin_commands import build_parser
from mock_kafka.problem_words import COMMANDS, PYTHON_CALLS, command_words, python_words

SOURCES = sorted(Path(broker.http_admin.__file__).parent.glob("*.py"))
WORDS_OF_HTTP = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) /|^(body|query|path): |/v1/|`\$")


@pytest.mark.parametrize(
    ("problem", "http", "python", "command"),
    [
        (Problem(404, "no x"), "no x", "no x", "no x"),
        (
            Problem(400, "Expected `str`", location="body", at="$.config[...]"),
            "body: Expected `str` - at `$.config[...]`",
            "config[...]: Expected `str`",
            "config[...]: Expected `str`",
        ),
        (
            Problem(400, "unknown", location="body", at="$"),
            "body: unknown - at `$`",
            "unknown",
            "unknown",
        ),
        (
            Problem(400, "use one", location="body", example='{"ms": 1}'),
            'body: use one, such as {"ms": 1}',
            "use one",
            "use one",
        ),
        (
            Problem(
                409, "broker 2 is down", remedy=Remedy("start_broker", "first", {"node_id": 2})
            ),
            "broker 2 is down; POST /v1/brokers/2/start first",
            "broker 2 is down; kafka.start_broker(2) first",
            "broker 2 is down; mock-kafka brokers start 2 first",
        ),
        (
            Problem(404, "no connection 9", remedy=Remedy("list_connections", "lists them")),
            "no connection 9; GET /v1/connections lists them",
            "no connection 9; kafka.control.ask('GET', '/v1/connections') lists them",
            "no connection 9",
        ),
    ],
)
def test_each_interface_has_its_own_words(
    problem: Problem, http: str, python: str, command: str
) -> None:
    document = json.loads(problem.document())
    assert document["detail"] == problem.detail == http
    assert (python_words(document), command_words(document)) == (python, command)


def test_a_port_of_another_version_has_the_detail_only() -> None:
    assert python_words({"detail": "no x; GET /v1/x"}) == "no x; GET /v1/x"


def test_every_call_and_command_exists() -> None:
    known = {op.operation_id for op in OPERATIONS}
    assert known >= {*PYTHON_CALLS, *COMMANDS}
    for call in PYTHON_CALLS.values():
        name, _, arguments = call.removesuffix(")").partition("(")
        inspect.signature(getattr(MockKafka, name)).bind(None, *filter(None, [arguments]))
    for command in COMMANDS.values():
        name, *words = command.format(node_id=2).split()
        assert build_parser(name).parse_args(words).action == words[0]


def reasons_in(source: Path) -> list[str]:
    """Return the texts of all problems of a module, as far as they are written there."""
    calls = [
        node
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Problem"
    ]
    assert all(len(call.args) == 2 for call in calls)
    parts = [part for call in calls for part in ast.walk(call.args[1])]
    return [
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def test_no_reason_of_a_problem_has_words_of_http() -> None:
    for_http_only = {"web.py", "service.py"}  # unknown paths, and files of the page
    reasons = {
        (source.name, reason)
        for source in SOURCES
        if source.name not in for_http_only
        for reason in reasons_in(source)
    }
    assert len(reasons) > 40
    assert [reason for reason in reasons if WORDS_OF_HTTP.search(reason[1])] == []


def test_errors_of_methods_say_what_is_wrong_and_what_there_is(kafka: MockKafka) -> None:
    kafka.create_topic("orders", 2)
    kafka.create_topic("bills")
    kafka.fail(api="Fetch", error="NOT_LEADER_OR_FOLLOWER")
    kafka.stop_broker(2)
    for call, reason in (
        (lambda: kafka.topic("order"), "no topic 'order'; did you mean orders?; there are: bills"),
        (lambda: kafka.records("order"), "no topic 'order'; did you mean orders?; there are: bil"),
        (lambda: kafka.delete_topic("x"), "there is no topic 'x'; there are: bills, orders"),
        (lambda: kafka.committed("billing"), "there is no group 'billing', and no other"),
        (lambda: kafka.lag("billing"), "there is no group 'billing', and no other"),
        (lambda: kafka.abort_transaction("x"), "there is no transactional id 'x', and no other"),
        (
            lambda: kafka.create_topic("a", config={"retention.mss": 1}),
            "did you mean retention.ms?",
        ),
        (lambda: kafka.create_topic("a", config={"x": 1}), "name: x; there are: cleanup.policy, "),
        (lambda: kafka.create_topic("a", "b"), "partitions: Expected `int`, got `str`"),  # type: ignore[arg-type]
        (kafka.advance, 'use either "ms" or "seconds"'),
        (lambda: kafka.fail(api="Prodcue", error="NONE"), "api: there is no Prodcue; did you mean"),
        (lambda: kafka.requests(api="Prodcue"), "api: there is no Prodcue; did you mean Produce?"),
        (lambda: kafka.quota(user="a"), "there is no quota to set"),
        (lambda: kafka.quota(user="a", x=1), "Invalid configuration key x; there are: connection_"),  # type: ignore[call-arg]
        (lambda: kafka.move_coordinator("g", 2), "broker 2 is down; kafka.start_broker(2) first"),
        (lambda: kafka.move_leader("orders", 0, 2), "broker 2 is down; kafka.start_broker(2) f"),
        (lambda: kafka.control.ask("DELETE", "/v1/faults/99"), "kafka.faults() lists them"),
    ):
        with pytest.raises(ControlError, match=re.escape(reason)) as raised:
            call()
        text = str(raised.value)
        assert not WORDS_OF_HTTP.search(text.replace("kafka.control.ask", "")), text
    for number in range(10):
        kafka.create_topic(f"t{number}")
    with pytest.raises(ControlError, match=r"'t11'; did you mean t1\?; kafka\.topics\(\) lists"):
        kafka.topic("t11")
