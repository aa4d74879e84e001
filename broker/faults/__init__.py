"""Fault injection: rules, the table that evaluates them, and their effects on requests."""

from broker.faults.rule import FaultRule, fault_rule, rules_from_json
from broker.faults.table import FaultTable, RuleState

__all__ = ["FaultRule", "FaultTable", "RuleState", "fault_rule", "rules_from_json"]
