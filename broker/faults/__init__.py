"""Fault injection: rules, the table that evaluates them, and their effects on requests."""

from broker.faults.rule import ContradictionError, FaultRule, fault_rule, rules_from_json
from broker.faults.table import FaultTable, RuleState

__all__ = [
    "ContradictionError",
    "FaultRule",
    "FaultTable",
    "RuleState",
    "fault_rule",
    "rules_from_json",
]
