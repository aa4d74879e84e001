"""Regular expressions in RE2's syntax."""

import pytest

from protocol.regular_expressions import full_match, regex_problem


@pytest.mark.parametrize(
    ("regex", "problem"),
    [
        ("a.*|b", None),
        ("", None),
        ("[a", "missing closing ]"),
        ("(a", "missing closing )"),
        ("*", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        ("a{2000}", "invalid repeat count"),
        ("a\\", "trailing backslash at end of expression"),
        ("\\8", "invalid escape sequence"),
        ("(?z)", "invalid or unsupported Perl syntax"),
        ("(?P<n", "invalid named capture"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
    ],
)
def test_problems_are_described_as_by_re2j(regex: str, problem: str | None) -> None:
    assert regex_problem(regex) == problem


def test_an_expression_matches_a_whole_text() -> None:
    assert full_match("orders.*", "orders-old")
    assert not full_match("orders", "orders-old")
