"""The page is one file, and text in it is escaped."""

import re
from pathlib import Path

from loadgen.comparison.comparison_page import Comparison, difference, interval, render
from loadgen.comparison.differences import Limits, changes, verdict_changes
from tests.loadgen.comparison.made_runs import side


def test_the_page_has_verdicts_side_by_side_and_no_external_file(tmp_path: Path) -> None:
    before, after = side(tmp_path / "old"), side(tmp_path / "new", 1.5)
    found = changes(before, after, Limits())
    comparison = Comparison(before, after, found, verdict_changes(before, after))
    page = render([comparison], {"rates": "<svg/>"}, Limits(), ["a <b> note"])
    assert "a &lt;b&gt; note" in page
    assert "&lt;x&gt;" in page  # the plan's name
    assert re.search(r"stored once</td>\s*<td>tenant a</td><td>3 passed</td><td>3 passed", page)
    assert page.count('<span class="word worse">') >= 3
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert "95 % confidence interval" in page


def test_changes_are_in_percent_and_those_of_shares_in_points(tmp_path: Path) -> None:
    found = changes(side(tmp_path / "a"), side(tmp_path / "b", 1.0, errors=30), Limits())
    by_name = {change.metric.name: change for change in found}
    assert difference(by_name["successful responses"]) == "-3.0 %"
    assert difference(by_name["errors or no response"]) == "+3.00 points"
    assert interval(by_name["errors or no response"]) == "+3.00 points to +3.00 points"
