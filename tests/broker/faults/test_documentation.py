"""What docs/faults.md shows can be used as it stands, and it leaves out nothing."""

import json
import re
from dataclasses import fields
from pathlib import Path

from broker.faults import FaultRule, rules_from_json

TEXT = (Path(__file__).parents[3] / "docs" / "faults.md").read_text(encoding="utf-8")


def test_every_example_is_a_valid_list_of_rules() -> None:
    blocks = re.findall(r"```json\n(.*?)```", TEXT, flags=re.DOTALL)
    assert sum(len(rules_from_json(json.loads(block))) for block in blocks) >= 10


def test_every_rule_of_a_phase_is_valid() -> None:
    rules = re.findall(r"\| `(\{.*?\})` \|", TEXT)
    assert len(rules) >= 10
    for rule in rules:
        FaultRule.from_json(json.loads(rule))


def test_every_field_is_told_of() -> None:
    untold = [each.name for each in fields(FaultRule) if not re.search(rf"\b{each.name}\b", TEXT)]
    assert untold == []
