"""Faults of `mock_kafka` agree with the rules of the broker."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import broker.handlers  # noqa: F401 - registers the APIs
from broker.faults import FaultRule
from broker.faults.fields import kind_of
from broker.faults.match import Match, Trigger
from broker.faults.rule import rule_schema
from mock_kafka.arguments import At, Level
from mock_kafka.control import Control
from mock_kafka.fault import Fault, When, document_of, rules_file
from mock_kafka.methods import ClusterMethods


def test_the_repr_has_the_id_and_the_fields() -> None:
    data = {"id": 3, "rule": {"api": "Produce", "times": 1}, "fired": 0}
    fault = Fault(Control("http://127.0.0.1:1"), data)
    assert repr(fault) == "<Fault 3: api='Produce', times=1>"
    assert (fault.id, fault.rule["times"]) == (3, 1)


RULES: list[dict[str, Any]] = [
    {"api": "Produce", "drop": "before_response", "times": 1},
    {"delay_ms": 3},
]


def test_rules_come_from_a_file_or_a_list(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(RULES))
    assert document_of(path) == document_of(str(path)) == document_of(iter(RULES)) == RULES
    path.write_text(json.dumps(RULES[0]))
    assert document_of(path) == RULES[:1]
    path.write_text("[")
    with pytest.raises(ValueError, match=r"faults\.json: not JSON"):
        document_of(path)


def test_a_list_of_rules_is_a_temporary_file_during_the_block(tmp_path: Path) -> None:
    with rules_file(RULES) as made:
        assert made is not None
        assert json.loads(made.read_bytes()) == RULES
    assert not made.exists()
    with rules_file(str(tmp_path / "mine.json")) as mine:
        assert mine == tmp_path / "mine.json"
    with rules_file(None) as none:
        assert none is None


def test_when_has_the_fields_of_a_match_and_a_trigger() -> None:
    declared = {
        declaration.name: kind_of(declaration).python_type
        for declaration in (*fields(Match), *fields(Trigger))
    }
    # The methods wait for requests, so `at_once` is not among their arguments.
    del declared["at_once"]
    assert get_type_hints(When) == {"name": str, **declared}
    assert list(get_args(At)) == rule_schema()["at"]["enum"]
    assert list(get_args(Level)) == rule_schema()["level"]["enum"]


class RecordingMethods(ClusterMethods):
    """Record the rules instead of adding them to a cluster."""

    def __init__(self) -> None:
        self.rules: list[dict[str, Any]] = []

    @property
    def control(self) -> Control:
        raise NotImplementedError

    def _note_addresses(self, addresses: Mapping[str, str]) -> None:
        raise NotImplementedError

    def add_fault(self, /, **rule: Any) -> Fault:
        self.rules.append(rule)
        return Fault(Control("http://127.0.0.1:1"), {"id": 1, "rule": rule})


def test_every_fault_method_makes_a_valid_rule() -> None:
    methods = RecordingMethods()
    methods.fail(error="NOT_CONTROLLER", at="before_response", times=1)
    methods.respond(api="Metadata", response={"controller_id": 7})
    methods.respond(api="Metadata", response={"controller_id": 7}, handle=False)
    methods.delay(ms=5, jitter_ms=3)
    methods.delay(ms=5, at="before_handling", probability=0.5, seed=7)
    methods.drop_request(api="Produce", topic="t", partition=0)
    methods.drop_response(nth=2)
    methods.drop_response(after_bytes=5, every=2)
    methods.hold(api="Produce", at="before_response", after_ms=5)
    methods.hang(group="g")
    methods.hang(at="before_handling", user="alice")
    methods.throttle(throttle_time_ms=5, mute=False)
    for rule in methods.rules:
        written = FaultRule.from_json(rule).to_json()
        assert written.items() <= rule.items()
    assert len(methods.rules) == 12
