"""Values of single fields in JSON."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from protocol.field_values import INTEGERS, simple_value


@dataclass
class Field:
    type_str: str
    name: str = "field"


@pytest.mark.parametrize(
    ("field", "value", "converted"),
    [
        (Field("int16"), -1, -1),
        (Field("int16", "error_code"), "NOT_CONTROLLER", 41),
        (Field("[]int32"), 7, 7),
        (Field("string"), "x", "x"),
        (Field("bool"), True, True),
        (Field("float64"), 1, 1.0),
        (Field("uuid"), str(UUID(int=5)), UUID(int=5)),
        (Field("bytes"), {"base64": "AQ=="}, b"\x01"),
        (Field("records"), {"text": "x"}, b"x"),
    ],
)
def test_a_value_becomes_that_of_the_field(field: Field, value: Any, converted: Any) -> None:
    assert simple_value(field, value, "path") == converted


@pytest.mark.parametrize("kind", list(INTEGERS))
def test_integers_have_the_range_of_their_type(kind: str) -> None:
    allowed = INTEGERS[kind]
    for value in (allowed[0], allowed[-1]):
        assert simple_value(Field(kind), value, "path") == value
    for value in (allowed[0] - 1, allowed[-1] + 1):
        with pytest.raises(ValueError, match=r"path: .* doesn't fit"):
            simple_value(Field(kind), value, "path")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Field("int16"), True),
        (Field("int16", "error_code"), "NOT_CONTROLER"),
        (Field("string"), 5),
        (Field("string"), "x" * 40_000),
        (Field("bool"), 1),
        (Field("uuid"), "x"),
        (Field("bytes"), "x"),
        (Field("bytes"), {"base64": "?"}),
        (Field("bytes"), {"hex": "00"}),
    ],
)
def test_other_values_are_refused_with_the_path(field: Field, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^path: "):
        simple_value(field, value, "path")
