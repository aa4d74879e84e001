"""Word a problem of the admin port for callers of Python methods, and of commands.

The port says it in words of HTTP. Its document has the parts that are the same for everybody.
"""

from collections.abc import Mapping
from typing import Any

PYTHON_CALLS = {
    "list_faults": "faults()",
    "list_groups": "groups()",
    "list_topics": "topics()",
    "list_transactions": "transactions()",
    "start_broker": "start_broker({node_id})",
}
"""Methods of a cluster by the operation that they use."""

COMMANDS = {
    "list_faults": "faults list",
    "start_broker": "brokers start {node_id}",
}
"""Commands of `mock-kafka` by the operation that they use."""


def python_words(problem: Mapping[str, Any]) -> str:
    """Return what is wrong and what to do, in words of Python."""
    return _words(problem, "kafka.", PYTHON_CALLS, "control.ask({method!r}, {path!r})")


def command_words(problem: Mapping[str, Any]) -> str:
    """Return what is wrong and what to do, in words of the command line."""
    return _words(problem, "mock-kafka ", COMMANDS, "")


def timeout_words(problem: Mapping[str, Any]) -> str:
    """Return what did not happen, and the near misses with a line each."""
    near_misses = "".join(f"\n  {line}" for line in problem.get("nearest", ()))
    reason = problem.get("reason", problem["detail"])
    return f"{reason}; nearest:{near_misses}" if near_misses else str(reason)


def _words(problem: Mapping[str, Any], prefix: str, calls: Mapping[str, str], other: str) -> str:
    reason = problem.get("reason")
    if reason is None:  # of a port of another version
        return str(problem["detail"])
    place = (problem.get("at") or "").removeprefix("$").removeprefix(".")
    text = f"{place}: {reason}" if place else str(reason)
    remedy = problem.get("remedy")
    if remedy is None:
        return text
    call = calls.get(remedy["operation_id"], other).format(**{**remedy, **remedy["arguments"]})
    return f"{text}; {prefix}{call} {remedy['effect']}" if call else text
