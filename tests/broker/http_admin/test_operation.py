"""An operation reads the declared input, and refuses other input with a message."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.http_admin import web  # noqa: F401 - declares all operations
from broker.http_admin.operation import (
    OPERATIONS,
    Input,
    Name,
    NodeId,
    Operation,
    Problem,
    encode_result,
    operation,
)


class ThingPath(Input):
    name: Name


class ThingQuery(Input):
    limit: int = 10
    node: NodeId | None = None
    deep: bool = False


class ThingBody(Input):
    size: int
    words: list[str] = msgspec.field(default_factory=list)


def get_thing(_admin: Any, path: ThingPath, query: ThingQuery, body: ThingBody) -> str:
    """Get a thing.

    It is a thing like
    any other.
    """
    return f"{path.name} {query.limit} {body.size}"


@pytest.fixture
def thing(monkeypatch: pytest.MonkeyPatch) -> Operation:
    monkeypatch.setattr("broker.http_admin.operation.OPERATIONS", declared := [])  # type: ignore[var-annotated]
    operation("GET", "/things/{name}", tag="things")(get_thing)
    (only,) = declared
    assert isinstance(only, Operation)
    return only


def test_a_handler_is_described_by_its_docstring_and_types(thing: Operation) -> None:
    assert thing.operation_id == "get_thing"
    assert thing.summary == "Get a thing"
    assert thing.description == "It is a thing like any other."
    assert (thing.path_type, thing.query_type, thing.body_type) == (
        ThingPath,
        ThingQuery,
        ThingBody,
    )


def test_texts_are_converted_to_the_declared_types(thing: Operation) -> None:
    read = thing.read_input(
        {"name": "x"}, {"limit": "3", "deep": "true", "node": "2"}, b'{"size": 4}'
    )

    assert read["query"] == ThingQuery(limit=3, node=2, deep=True)
    assert get_thing(None, **read) == "x 3 4"


@pytest.mark.parametrize("size", [b"4.0", b"4e0", b"0.4e1"])
def test_a_number_without_a_fraction_is_an_integer_as_in_json_schema(
    thing: Operation, size: bytes
) -> None:
    read = thing.read_input({"name": "x"}, {}, b'{"size": %s}' % size)
    assert read["body"] == ThingBody(size=4)


@pytest.mark.parametrize(
    ("path", "query", "body", "complaint"),
    [
        ({"name": ""}, {}, b'{"size": 1}', "path"),
        ({"name": "x"}, {"limit": "many"}, b'{"size": 1}', "limit"),
        ({"name": "x"}, {"node": "-1"}, b'{"size": 1}', "node"),
        ({"name": "x"}, {"node": "null"}, b'{"size": 1}', "leave it out"),
        ({"name": "x"}, {"limti": "1"}, b'{"size": 1}', "limti"),
        ({"name": "x"}, {}, b"", "size"),
        ({"name": "x"}, {}, b'{"size": "1"}', "size"),
        ({"name": "x"}, {}, b'{"size": 1.5}', "size"),
        ({"name": "x"}, {}, b'{"size": 1e400}', "out of range"),
        ({"name": "x"}, {}, b'{"size": 1, "sice": 2}', "sice"),
        ({"name": "x"}, {}, b"{size: 1}", "invalid JSON"),
        ({"name": "x"}, {}, b"\xff\xfe", "invalid JSON"),
        ({"name": "x"}, {}, b"[]", "body"),
    ],
)
def test_invalid_input_is_a_problem_that_names_the_field(
    thing: Operation, path: dict[str, str], query: dict[str, str], body: bytes, complaint: str
) -> None:
    with pytest.raises(Problem, match=complaint) as caught:
        thing.read_input(path, query, body)
    assert caught.value.status == 400


def test_undeclared_input_is_refused() -> None:
    health = next(op for op in OPERATIONS if op.path == "/healthz")
    with pytest.raises(Problem, match="verbose"):
        health.read_input({}, {"verbose": "1"}, b"")
    with pytest.raises(Problem, match="takes no body"):
        health.read_input({}, {}, b"{}")


@given(st.sampled_from(OPERATIONS), st.binary(max_size=100), st.text(max_size=20))
def test_any_input_is_accepted_or_a_problem(op: Operation, body: bytes, text: str) -> None:
    names = [] if op.path_type is None else op.path_type.__struct_fields__
    try:
        op.read_input(dict.fromkeys(names, text), {text: text}, body)
    except Problem as problem:
        document = json.loads(problem.document())
        assert document["status"] in {400, 422}
        assert document["type"] == "about:blank"
        assert document["detail"]


def test_every_operation_has_a_summary_and_a_unique_id() -> None:
    assert all(op.summary for op in OPERATIONS)
    assert len({op.operation_id for op in OPERATIONS}) == len(OPERATIONS)
    assert len({(op.method, op.path) for op in OPERATIONS}) == len(OPERATIONS)


def test_only_health_and_the_page_need_no_token() -> None:
    assert {op.path for op in OPERATIONS if op.is_open} == {
        "/",
        "/page/{name}.css",
        "/page/{name}.js",
        "/healthz",
    }


def test_results_are_json() -> None:
    assert encode_result({"a": [1, None]}) == b'{"a":[1,null]}'
