"""Regular expressions of subscriptions."""

import pytest

from broker.groups.consumer.regexes import matching, regex_problem


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


def test_an_expression_matches_whole_names() -> None:
    names = ["orders", "orders-old", "my-orders"]
    assert matching("orders", names) == {"orders"}
    assert matching("orders.*|my.*", names) == set(names)
    assert matching("", names) == set()
