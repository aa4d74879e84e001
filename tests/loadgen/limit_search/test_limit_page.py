"""The page is one file with all runs, and the table has them by value."""

import re

from loadgen.limit_search.limit_page import number, render, table_of
from tests.loadgen.limit_search.searches import probe, search


def test_the_page_has_the_limit_the_runs_and_no_external_file() -> None:
    page = render(search(), "<svg/>")
    assert "limit 200 events/s; it breaks at 210 events/s" in page
    assert "&lt;plan&gt;" in page
    assert "&lt;out&gt;/03" in page
    assert page.count('<span class="word held">') == 2
    assert page.count('<span class="word broke">') == 2
    assert "tenant a: p99 70 ms, over 50 ms" in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)


def test_the_table_is_ordered_by_value() -> None:
    table = table_of(search(None, probe(1, 400, 900.0), probe(2, 100)))
    assert list(table.columns[0].cells) == ["100", "400"]
    assert list(table.columns[7].cells) == ["", "tenant a: p99 900 ms, over 50 ms"]


def test_numbers_have_four_digits() -> None:
    assert [number(value) for value in (None, 0.12345, 12.3456, 123456.7)] == [
        "-",
        "0.1235",
        "12.35",
        "123,457",
    ]
