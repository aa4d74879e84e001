"""A document's fields by type; whatever is wrong names its line, its field and what was meant."""

import pytest

from loadgen.plan.yaml_reader import PlanError, Section, read_mapping


def document(text: str) -> Section:
    return read_mapping(text, "plan.yaml")


def test_fields_come_with_their_types() -> None:
    section = document(
        "a: words\nb: 1.5\nc: 3\nd: true\ne: [x, y]\nf: {k.one: 1, k.two: true, k.three: t}\n"
    )
    assert section.text("a") == "words"
    assert section.optional_text("z") is None
    assert section.number("b") == 1.5
    assert section.number("c") == 3.0
    assert section.integer("c") == 3
    assert section.flag("d", default=False) is True
    assert section.words("e", ["x", "y", "z"], ("z",)) == ("x", "y")
    assert section.properties("f") == {"k.one": "1", "k.two": "true", "k.three": "t"}
    section.end()


def test_what_is_missing_has_its_default() -> None:
    section = document("{}")
    assert section.text("a", "b") == "b"
    assert section.number("a", 2.0) == 2.0
    assert section.words("a", ["x"], ("x",)) == ("x",)
    assert section.properties("a") == {}
    assert section.sections("a") == []
    assert section.section("a").integer("b", 7) == 7
    assert not section.has("a")


def take_all(text: str) -> None:
    section = document(text)
    section.integer("count", 1, most=10)
    section.number("rate", 1.0)
    section.word("kind", ("steady", "storm"), "steady")
    section.flag("flag", default=True)
    section.words("kinds", ("old", "latest"), ())
    section.properties("config")
    for each in section.sections("parts"):
        each.text("name")
        each.end()
    section.end()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("count: 1\nrat: 5\n", "plan.yaml:2: rat: unknown field; did you mean rate?"),
        ("\n\ncount: 11\n", "plan.yaml:3: count: 11 is not within 1 and 10"),
        ("count: yes\n", "plan.yaml:1: count: expected a whole number, not True"),
        ("rate: fast\n", "plan.yaml:1: rate: expected a number, not 'fast'"),
        ("rate: 0\n", "plan.yaml:1: rate: 0 is not above 0 and at most 1e+09"),
        ("kind: stedy\n", "plan.yaml:1: kind: 'stedy' is unknown; did you mean steady?"),
        ("kind: qqq\n", "plan.yaml:1: kind: 'qqq' is unknown; known: steady, storm"),
        ("flag: 1\n", "plan.yaml:1: flag: expected true or false, not 1"),
        ("kinds: [old, lates]\n", "plan.yaml:1: kinds: 'lates' is unknown; did you mean latest?"),
        ("kinds: []\n", "plan.yaml:1: kinds: expected a list of old, latest"),
        ("config: {a: [1]}\n", "plan.yaml:1: config.a: expected one value"),
        ("parts: {}\n", "plan.yaml:1: parts: expected a list"),
        ("parts:\n- name: a\n- nam: b\n", "plan.yaml:3: parts[1]: name is missing"),
        (
            "parts:\n- name: a\n  size: 1\n",
            "plan.yaml:3: parts[0].size: unknown field; known: name",
        ),
        ("parts: [1]\n", "plan.yaml:1: parts[0]: expected a mapping"),
        ("count: 1\ncount: 2\n", "plan.yaml:2: count: given twice"),
        ("[1]", "plan.yaml:1: the plan: expected a mapping"),
        ("", "plan.yaml:1: the plan: expected a mapping"),
        ("a: [", "plan.yaml:1: expected the node content, but found '<stream end>'"),
        ("\x00", "plan.yaml: unacceptable character"),
    ],
)
def test_a_mistake_names_its_line_and_field(text: str, wanted: str) -> None:
    with pytest.raises(PlanError) as caught:
        take_all(text)
    assert str(caught.value).startswith(wanted)
