"""YAML as msgspec types; each error names the line, the field and the nearest known word."""

from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from loadgen.plan.yaml_reader import PlanError, YamlDocument


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class Document(Struct, frozen=True, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1, le=10)] = 1
    rate: Annotated[float, Meta(gt=0, le=1e9)] = 1.0
    kind: Literal["steady", "storm"] = "steady"
    flag: bool = True
    kinds: Annotated[tuple[Literal["old", "latest"], ...], Meta(min_length=1)] = ("old",)
    config: dict[str, str] = {}
    parts: tuple[Part, ...] = ()


def read(text: str) -> Document:
    return YamlDocument(text, "plan.yaml").convert(Document)


def test_fields_have_their_types_and_defaults() -> None:
    assert read("count: 3\nrate: 2\nkinds: [latest]\nparts: [{name: a}]\n") == Document(
        count=3, rate=2.0, kinds=("latest",), parts=(Part("a"),)
    )
    assert read("{}") == Document()


def test_a_document_knows_which_fields_it_has() -> None:
    document = YamlDocument("count: 1\nparts: [{name: a}]\n", "plan.yaml")
    assert document.has(("count",))
    assert document.has(("parts", 0, "name"))
    assert not document.has(("rate",))
    assert not document.has(("parts", 1, "name"))
    assert not document.has(("count", "name"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count: 1\nrat: 5\n", "plan.yaml:2: rat: unknown field; did you mean rate?"),
        ("\n\ncount: 11\n", "plan.yaml:3: count: expected int <= 10, not 11"),
        ("count: yes\n", "plan.yaml:1: count: expected int, not True"),
        ("rate: fast\n", "plan.yaml:1: rate: expected float, not 'fast'"),
        ("rate: 0\n", "plan.yaml:1: rate: expected float > 0.0, not 0"),
        ("rate: .nan\n", "plan.yaml:1: rate: expected float > 0.0, not nan"),
        ("kind: stedy\n", "plan.yaml:1: kind: 'stedy' is unknown; did you mean steady?"),
        ("kind: qqq\n", "plan.yaml:1: kind: 'qqq' is unknown; known: steady, storm"),
        ("flag: 1\n", "plan.yaml:1: flag: expected bool, not 1"),
        (
            "kinds:\n- old\n- lates\n",
            "plan.yaml:3: kinds[1]: 'lates' is unknown; did you mean latest?",
        ),
        ("kinds: []\n", "plan.yaml:1: kinds: expected array of length >= 1, not []"),
        ("config:\n  x: y\n  a: [1]\n", "plan.yaml:3: config.a: expected str, not [1]"),
        ("config: {1: a}\n", "plan.yaml:1: config: expected str"),
        ("parts: {}\n", "plan.yaml:1: parts: expected array, not {}"),
        ("parts:\n- name: a\n- {}\n", "plan.yaml:3: parts[1]: name is missing"),
        (
            "parts:\n- name: a\n- nam: b\n",
            "plan.yaml:3: parts[1].nam: unknown field; did you mean name?",
        ),
        (
            "parts:\n- name: a\n  size: 1\n",
            "plan.yaml:3: parts[0].size: unknown field; known: name",
        ),
        ("parts: [1]\n", "plan.yaml:1: parts[0]: expected object, not 1"),
        ("count: 1\ncount: 2\n", "plan.yaml:2: count: given twice"),
        ("parts:\n- name: a\n  name: b\n", "plan.yaml:3: parts[0].name: given twice"),
        ("[1]", "plan.yaml:1: the plan: expected a mapping"),
        ("", "plan.yaml:1: the plan: expected a mapping"),
        ("a: [", "plan.yaml:1: expected the node content, but found '<stream end>'"),
        ("a: !!set x", "plan.yaml:1: expected a mapping node, but found scalar"),
        ("\x00", "plan.yaml: unacceptable character"),
    ],
)
def test_an_error_names_its_line_and_field(text: str, expected: str) -> None:
    with pytest.raises(PlanError) as caught:
        read(text)
    assert str(caught.value).startswith(expected)
