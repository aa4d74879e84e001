"""Regular expressions in RE2's syntax."""

import pytest

from protocol.regular_expressions import (
    EXPRESSION_BYTES_MAX,
    PROGRAM_SIZE_MAX,
    STEPS_MAX,
    UNICODE_CLASSES_MAX,
    full_match,
    groups_of_match,
    regex_problem,
    replaced,
)


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
        ("(?<=a)b", "invalid or unsupported Perl syntax"),
        ("(a)\\1", "invalid escape sequence"),
        ("a++", "invalid nested repetition operator"),
        ("a" * EXPRESSION_BYTES_MAX, None),
        ("a" * (EXPRESSION_BYTES_MAX + 1), "expression too large"),
        ("a{999}" * (PROGRAM_SIZE_MAX // 999), None),
        ("a{999}" * (PROGRAM_SIZE_MAX // 999 + 1), "expression too large"),
        ("\\pL{900}", "expression too large"),
        ("[" + "\\pL" * UNICODE_CLASSES_MAX + "]", None),
        ("[" + "\\PL\\pL" * (UNICODE_CLASSES_MAX // 2) + "\\pL]", "expression too large"),
    ],
)
def test_problems_are_described_as_by_re2j(regex: str, problem: str | None) -> None:
    assert regex_problem(regex) == problem


def test_an_expression_matches_a_whole_text() -> None:
    assert full_match("orders.*", "orders-old")
    assert not full_match("orders", "orders-old")


def test_nested_repetitions_take_no_time_to_speak_of() -> None:
    assert not full_match("(a+)+$", "a" * 30_000 + "_")
    assert groups_of_match("((a+)+)$", "a" * 30_000 + "_") is None


def test_an_expression_that_is_invalid_matches_nothing() -> None:
    assert not full_match("(", "(")
    assert groups_of_match("(", "(") is None


def test_a_match_of_too_many_steps_is_none() -> None:
    text = "a" * (STEPS_MAX // 1_000)
    regex = "[ab]{0,900}"
    assert full_match("a*", text)
    assert not full_match(regex, text)
    assert full_match(regex, text[:100])


def test_the_groups_of_a_match_begin_with_the_whole_text() -> None:
    assert groups_of_match("CN=(.*?),(O=.)?(.*)", "CN=a,OU=b") == ("CN=a,OU=b", "a", "", "OU=b")
    assert groups_of_match("(a*)" * 400, "a" * 10_000) is None  # groups count as steps


def test_all_that_an_expression_finds_is_replaced() -> None:
    assert replaced("([a-z])[0-9]+", r"\1#", "a1 b22 c") == "a# b# c"
    assert replaced("e", r"é\\\0", "ne") == r"né\e"
    assert replaced("(x)?a", r"<\1>", "a") == "<>"


@pytest.mark.parametrize(
    ("regex", "replacement", "reason"),
    [("(", "", "missing closing"), ("a", r"\1", "no group 1"), ("a", r"\q", "no group q")],
)
def test_what_cannot_be_replaced_is_an_error(regex: str, replacement: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        replaced(regex, replacement, "a")
