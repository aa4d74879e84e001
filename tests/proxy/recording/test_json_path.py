"""Paths select what they say, and nothing else changes."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.recording.json_path import REMOVED, JsonPath

DOCUMENT = {
    "customer": {"email": "a@b", "first name": "Ann"},
    "items": [{"note": "x", "price": 1}, {"note": "y"}, {"price": 2}],
    "nested": {"password": "p", "deep": [{"password": {"password": "q"}}]},
}


def changed(path: str, change: Any = lambda _value: "!") -> Any:
    return JsonPath(path).change(copy.deepcopy(DOCUMENT), change)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.customer.email", {"customer": {"email": "!", "first name": "Ann"}}),
        ("$['customer'][\"first name\"]", {"customer": {"email": "a@b", "first name": "!"}}),
        ("$.items[*].note", {"items": [{"note": "!", "price": 1}, {"note": "!"}, {"price": 2}]}),
        ("$.items[-1].price", {"items": [*DOCUMENT["items"][:2], {"price": "!"}]}),  # type: ignore[index]
        ("$.customer.*", {"customer": {"email": "!", "first name": "!"}}),
        ("$..password", {"nested": {"password": "!", "deep": [{"password": "!"}]}}),
        ("$.nested..password", {"nested": {"password": "!", "deep": [{"password": "!"}]}}),
        ("$.items[7].note", {}),
        ("$.customer[0]", {}),
        ("$.items.note", {}),
        ("$.none.of.them", {}),
    ],
)
def test_a_path_selects_values(path: str, expected: dict[str, Any]) -> None:
    assert changed(path) == {**DOCUMENT, **expected}


def test_the_root_is_a_value_too() -> None:
    assert changed("$") == "!"


def test_names_at_any_depth_are_also_inside_of_selected_values() -> None:
    document = {"a": {"b": 1, "c": {"a": {"b": 2}}}}
    assert JsonPath("$..a.b").change(document, lambda value: -value) == {
        "a": {"b": -1, "c": {"a": {"b": -2}}}
    }


def test_removed_members_and_elements_are_gone() -> None:
    assert changed("$.items[*].note", lambda _value: REMOVED)["items"] == [
        {"price": 1},
        {},
        {"price": 2},
    ]
    assert changed("$.items[0]", lambda _value: REMOVED)["items"] == [{"note": "y"}, {"price": 2}]
    assert "customer" not in changed("$.customer", lambda _value: REMOVED)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("customer.email", "has to begin with"),
        ("$customer", "'customer' is not like"),
        ("$.customer.", "'.' is not like"),
        ("$.items[", "is not like"),
        ("$.items[x]", "is not like"),
        ("$..*", "is not like"),
    ],
)
def test_other_texts_are_no_paths(path: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"like|begin") as caught:
        JsonPath(path)
    assert message in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "é"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=12,
)


def values_of(document: Any, name: str) -> list[Any]:
    """Return all members of that name, at any depth."""
    if isinstance(document, dict):
        own = [document[name]] if name in document else []
        return own + [found for value in document.values() for found in values_of(value, name)]
    if isinstance(document, list):
        return [found for value in document for found in values_of(value, name)]
    return []


@given(JSON)
def test_a_name_at_any_depth_is_found_everywhere(document: Any) -> None:
    kept = JsonPath("$..a").change(copy.deepcopy(document), lambda _value: REMOVED)
    assert values_of(kept, "a") == []
    marked = JsonPath("$..a").change(copy.deepcopy(document), lambda _value: 0)
    assert set(map(str, values_of(marked, "a"))) <= {"0"}
    assert bool(values_of(document, "a")) == bool(values_of(marked, "a"))
