"""Faults on demand: rules, the table that counts them, and what they do to requests."""

from broker.faults.rule import FaultRule, rules_from_json
from broker.faults.table import FaultTable, ListedRule

__all__ = ["FaultRule", "FaultTable", "ListedRule", "rules_from_json"]
