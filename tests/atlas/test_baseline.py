from pathlib import Path
from xml.etree import ElementTree

import pytest

from atlas.baseline import baseline_of, junit, read_baseline, regressions, write_baseline
from loadgen.command_error import CommandError
from tests.atlas.run_folder import SITUATION, row

ROWS = [row("as_expected"), row("unsupported", client="sarama"), row("wrong", client="kafkajs")]


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(path, ROWS)
    assert (
        read_baseline(path)
        == baseline_of(ROWS)
        == {
            "kafka-python": {SITUATION: "as_expected"},
            "kafkajs": {SITUATION: "wrong"},
            "sarama": {SITUATION: "unsupported"},
        }
    )
    assert regressions(read_baseline(path), ROWS) == []


@pytest.mark.parametrize("text", ["[]", "{", '{"aiokafka": 1}', '{"aiokafka": {"X-1": "good"}}'])
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(CommandError, match="baseline"):
        read_baseline(path)


@pytest.mark.parametrize(
    ("before", "after", "is_regression"),
    [
        ("as_expected", "differs", True),
        ("differs", "wrong", True),
        ("differs", "crashed", True),
        ("wrong", "differs", False),
        ("wrong", "wrong", False),
        ("as_expected", "unsupported", False),
    ],
)
def test_a_worse_cell_is_a_regression(before: str, after: str, is_regression: bool) -> None:
    found = regressions({"kafka-python": {SITUATION: before}}, [row(after)])
    assert bool(found) is is_regression
    if found:
        assert str(found[0]).startswith(
            f"kafka-python in {SITUATION}: {before} before, now {after}"
        )


def test_new_situations_and_flaky_cells_are_no_regressions() -> None:
    assert regressions({"kafka-python": {}}, [row("wrong")]) == []
    flaky = row("wrong", cells=["as_expected", "wrong"])
    assert regressions({"kafka-python": {SITUATION: "as_expected"}}, [flaky]) == []


def test_a_report_of_junit_has_a_case_for_each_cell() -> None:
    failed = regressions({"kafkajs": {SITUATION: "differs"}}, ROWS)
    suite = ElementTree.fromstring(junit(ROWS, failed))
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    found = {case.get("classname"): [part.tag for part in case] for case in suite}
    assert found == {"kafka-python": [], "sarama": ["skipped"], "kafkajs": ["failure"]}
