"""A benchmark replaces its own part of the documentation, and nothing else."""

import pytest

from benchmarks.docs_page import markdown_table, with_part

TEXT = "before\n<!-- durations -->\n\nold\n\n<!-- end -->\nafter\n<!-- end -->\n"


def test_a_new_table_replaces_the_old_one() -> None:
    table = markdown_table(("", "ratio"), [("a case", "0.50")])

    written = with_part(TEXT, "durations", table)

    assert written == (
        "before\n<!-- durations -->\n\n| | ratio |\n|---|---:|\n| a case | 0.50 |\n\n"
        "<!-- end -->\nafter\n<!-- end -->\n"
    ).replace("| | ratio |", "|  | ratio |")


def test_a_part_that_is_missing_is_an_error() -> None:
    with pytest.raises(LookupError, match="no part growth"):
        with_part(TEXT, "growth", "new")
