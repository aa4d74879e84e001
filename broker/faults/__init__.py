"""Fault injection: rules, the table that evaluates them, and their effects on requests.

The names below are imported when they are first used: a broker without rules needs few of them
(ADR 24).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from broker.faults.decision import RuleState
    from broker.faults.rule import ContradictionError, FaultRule, fault_rule, rules_from_json
    from broker.faults.table import FaultTable

__all__ = [
    "ContradictionError",
    "FaultRule",
    "FaultTable",
    "RuleState",
    "fault_rule",
    "rules_from_json",
]
_MODULES = {"FaultTable": ".table", "RuleState": ".decision"}
_RULE = ".rule"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_MODULES.get(name, _RULE), __name__), name)
    globals()[name] = found
    return found
