"""The examples of docs/faults.md are valid, and its tables come from the declarations."""

import json
import re
from pathlib import Path

from broker.faults import FaultRule, rules_from_json
from broker.faults.rule import FIELDS
from scripts import fault_tables

TEXT = (Path(__file__).parents[3] / "docs" / "faults.md").read_text(encoding="utf-8")


def test_every_example_is_a_valid_list_of_rules() -> None:
    blocks = re.findall(r"```json\n(.*?)```", TEXT, flags=re.DOTALL)
    assert sum(len(rules_from_json(json.loads(block))) for block in blocks) >= 10


def test_every_rule_of_a_phase_is_valid() -> None:
    rules = re.findall(r"\| `(\{.*?\})` \|", TEXT)
    assert len(rules) >= 10
    for rule in rules:
        FaultRule.from_json(json.loads(rule))


def test_the_tables_of_fields_are_up_to_date() -> None:
    assert fault_tables.render(TEXT) == TEXT
    for name in FIELDS:
        assert re.search(rf"\b{name}\b", TEXT), name
