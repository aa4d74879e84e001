import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.properties import PropertiesError, parse_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("a=b", {"a": "b"}),
        ("a = b c ", {"a": "b c "}),
        ("a:b\na2 : b2\na3 b3\na4\tb4", {"a": "b", "a2": "b2", "a3": "b3", "a4": "b4"}),
        ("a==b", {"a": "=b"}),
        ("a = : b", {"a": ": b"}),
        ("a", {"a": ""}),
        ("# one\n! two\n  # three\n\n \t\na=b", {"a": "b"}),
        ("a=b # not a comment", {"a": "b # not a comment"}),
        ("a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
        ("a=1,\\\n   2,\\\n\t3", {"a": "1,2,3"}),
        ("a=1\\\n# part of the value", {"a": "1# part of the value"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=\\u00e4\\u20AC", {"a": "ä€"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=1\na=2", {"a": "2"}),
        ("log.dirs=C:\\\\kafka", {"log.dirs": "C:\\kafka"}),
    ],
)
def test_text_is_parsed_like_in_java(text: str, properties: dict[str, str]) -> None:
    assert parse_properties(text) == properties


@pytest.mark.parametrize(
    ("text", "line_number"),
    [("a=b\nc=\\u12", 2), ("\n\n# c\na=\\\n\\uzzzz", 4), ("=b", 1), ("a=b\n  : c", 2)],
)
def test_an_error_names_the_line_where_the_property_begins(text: str, line_number: int) -> None:
    with pytest.raises(PropertiesError, match=rf"^line {line_number}: "):
        parse_properties(text)


def escaped(text: str) -> str:
    """Return the text with every character outside `unescaped` as a \\u escape."""
    unescaped = set("abcdefghijklmnopqrstuvwxyz.0123456789")
    units = text.encode("utf-16-be")
    pairs = [units[index : index + 2] for index in range(0, len(units), 2)]
    return "".join(
        chr(pair[1]) if pair[0] == 0 and chr(pair[1]) in unescaped else f"\\u{pair.hex()}"
        for pair in pairs
    )


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
def test_escaped_text_is_parsed_back(properties: dict[str, str]) -> None:
    text = "\n".join(f"{escaped(key)} = {escaped(value)}" for key, value in properties.items())

    assert parse_properties(text) == properties


@given(st.text(alphabet="ab=: \\\n\r\tu#!0"))
def test_any_text_is_properties_or_one_error_that_names_a_line(text: str) -> None:
    message = "line 0: none"
    try:
        parse_properties(text)
    except PropertiesError as error:
        message = str(error)
    assert message.startswith("line ")
