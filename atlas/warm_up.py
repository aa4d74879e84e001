"""Each workload without a fault: what a client runs once before its first experiment is judged.

A JVM loads the classes of a client when they are first used, which takes seconds on a busy machine.
Users have that once in the life of a program, and `within_ms` would be about nothing else.
"""

from typing import Any

from atlas.situation import Expectation, Situation, Topic

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "produce_idle": {"idle_ms": 20},
    "admin": {"call": "describe_topic", "topic": "orders"},
    "process": {"output": "invoices"},
    "streams": {"output": "invoices"},
}
_CONFIG: dict[str, dict[str, Any]] = {
    # By default a member gets its partitions with its second heartbeat, after five seconds.
    kind: {
        f"group.{kind}.heartbeat.interval.ms": 200,
        f"group.{kind}.min.heartbeat.interval.ms": 200,
    }
    for kind in ("share", "streams")
}
_READING = {"consume", "group", "rebalance", "process", "share", "streams"}


def plain(workload: str, **fields: Any) -> Situation:
    """Return a situation without a fault, with the topics orders, which may be read, and invoices.

    Args:
        workload: the name of a workload.
        fields: of `Situation`, in place of those that this one has.
    """
    return Situation(
        id="PLAIN",
        title="nothing happens to the client",
        area="producer",
        workload=workload,
        **{
            "arguments": _ARGUMENTS.get(workload, {}),
            "config": _CONFIG.get(workload, {}),
            "topics": {"orders": Topic(), "invoices": Topic()},
            "records": {"orders": 4} if workload in _READING else {},
            "expect": Expectation(),
            **fields,
        },
    )
