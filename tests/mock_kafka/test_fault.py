"""A rule's handle, as Python shows it."""

import json
from pathlib import Path
from typing import Any

import pytest

from mock_kafka.control import Control
from mock_kafka.fault import Fault, document_of, rules_file


def test_it_says_which_rule_it_is() -> None:
    plain = {"id": 3, "rule": {"api": "Produce", "times": 1}, "fired": 0}
    fault = Fault(Control("http://127.0.0.1:1"), plain)
    assert repr(fault) == "<Fault 3: api='Produce', times=1>"
    assert (fault.id, fault.rule["times"]) == (3, 1)


RULES: list[dict[str, Any]] = [
    {"api": "Produce", "drop": "before_response", "times": 1},
    {"delay_ms": 3},
]


def test_rules_are_those_of_a_file_or_of_a_list(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(RULES))
    assert document_of(path) == document_of(str(path)) == document_of(iter(RULES)) == RULES
    path.write_text(json.dumps(RULES[0]))
    assert document_of(path) == RULES[:1]
    path.write_text("[")
    with pytest.raises(ValueError, match=r"faults\.json: no JSON"):
        document_of(path)


def test_a_list_has_a_file_for_as_long_as_it_is_needed(tmp_path: Path) -> None:
    with rules_file(RULES) as made:
        assert made is not None
        assert json.loads(made.read_bytes()) == RULES
    assert not made.exists()
    with rules_file(str(tmp_path / "mine.json")) as mine:
        assert mine == tmp_path / "mine.json"
    with rules_file(None) as none:
        assert none is None
