"""Files with new offsets."""

from pathlib import Path

import pytest

from client.tools.reset_plan import read_reset_plan
from client.tools.session import ToolError


@pytest.mark.parametrize(
    ("text", "group_ids", "plan"),
    [
        ("t,0,5\nt,1,7\n", ["g"], {"g": {("t", 0): 5, ("t", 1): 7}}),
        ('g,t,0,5\n"h",t,1,7', ["g"], {"g": {("t", 0): 5}, "h": {("t", 1): 7}}),
        ("g,t,0,5\r\n\n", [], {"g": {("t", 0): 5}}),
        ("", ["g"], {}),
    ],
)
def test_a_line_names_its_group_unless_there_is_one(
    tmp_path: Path, text: str, group_ids: list[str], plan: object
) -> None:
    path = tmp_path / "plan.csv"
    path.write_text(text, newline="")
    assert read_reset_plan(path, group_ids) == plan


@pytest.mark.parametrize(
    ("text", "group_ids", "problem"),
    [
        ("t,0,5\nt,x,5\n", ["g"], "line 2: expected topic,partition,offset"),
        ("t,0,5\n", ["g", "h"], "line 1: expected group,topic,partition,offset"),
        ("t,0\n", ["g"], "line 1: expected group,topic,partition,offset"),
    ],
)
def test_other_lines_are_errors(
    tmp_path: Path, text: str, group_ids: list[str], problem: str
) -> None:
    path = tmp_path / "plan.csv"
    path.write_text(text)
    with pytest.raises(ToolError, match=problem):
        read_reset_plan(path, group_ids)


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot read"):
        read_reset_plan(tmp_path / "missing.csv", ["g"])
