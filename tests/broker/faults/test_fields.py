"""Each kind of value checks what its JSON schema says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.faults.fields import kind_of
from broker.faults.rule import FIELDS, fault_rule, rule_schema

VALUES: dict[str, list[Any]] = {
    "integer": [-(1 << 63) - 1, -1, 0, 1, (1 << 31) - 1, 1 << 53, (1 << 53) + 1, 1 << 63],
    "number": [-0.1, 0, 0.5, 1, 1.1],
}


def accepts(name: str, value: Any) -> bool:
    declared = FIELDS[name]
    assert declared is not None
    try:
        kind_of(declared).check(name, value)
    except ValueError:
        return False
    return True


NUMBERS = [name for name, schema in rule_schema().items() if schema.get("type") in VALUES]
WORDS = [name for name, schema in rule_schema().items() if "enum" in schema]


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_accepted_within_the_bounds_of_the_schema(name: str) -> None:
    schema = rule_schema()[name]
    for value in VALUES[schema["type"]]:
        assert accepts(name, value) is (schema["minimum"] <= value <= schema["maximum"]), value


@pytest.mark.parametrize("name", WORDS)
def test_every_word_of_the_schema_is_accepted_and_no_other(name: str) -> None:
    assert all(accepts(name, word) for word in rule_schema()[name]["enum"])
    assert not accepts(name, "no such word")


@pytest.mark.parametrize(
    "spelling", ["REBOOTSTRAP_REQUIRED", "rebootstrap_required", "RebootstrapRequired", 129]
)
def test_an_error_is_known_in_any_spelling_and_by_its_number(spelling: str | int) -> None:
    assert fault_rule(api="Metadata", error=spelling).to_json()["error"] == "REBOOTSTRAP_REQUIRED"


@given(st.sampled_from([name for name in FIELDS if name != "name"]), st.text(), st.floats())
def test_a_value_of_another_type_is_refused_by_the_name_of_its_field(
    name: str, text: str, number: float
) -> None:
    declared = FIELDS[name]
    assert declared is not None
    for value in (text, number, [text], None):
        if not accepts(name, value):
            with pytest.raises(ValueError, match=f"^{name}: "):
                kind_of(declared).check(name, value)


def test_every_field_has_a_description_and_a_type() -> None:
    for name, schema in rule_schema().items():
        assert schema["description"], name
        assert schema.keys() & {"type", "anyOf"}, name
