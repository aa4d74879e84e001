"""Parse --add-config and --delete-config."""

import pytest

from client.tools.config_words import parse_added, parse_deleted
from client.tools.session import ToolError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a=1, b = 2", {"a": "1", "b": "2"}),
        ("a=[1,2],b=3", {"a": "1,2", "b": "3"}),
        ("a=1,b=[x,y,z]", {"a": "1", "b": "x,y,z"}),
        ("a=[x],b=[y]", {"a": "x", "b": "y"}),
        ("a=[x,y],b=[z,w],c=", {"a": "x,y", "b": "z,w", "c": ""}),
        ("a=[SCRAM=1,iterations=2]", {"a": "SCRAM=1,iterations=2"}),
        ("a=b=c", {"a": "b=c"}),
    ],
)
def test_values_are_read_as_kafkas_tool_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_added(text) == expected


@pytest.mark.parametrize("text", ["", "a", "a=1,b", "=1", "a=1,,b=2"])
def test_an_entry_without_key_or_equals_sign_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match='"key=val"'):
        parse_added(text)


def test_keys_to_delete_may_be_in_one_option_or_several() -> None:
    assert parse_deleted(["a,b", " c ,"]) == ["a", "b", "c"]
