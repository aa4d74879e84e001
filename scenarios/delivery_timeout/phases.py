"""Where a record can be stuck, and how a broker brings it there."""

from typing import Any, NamedTuple


class Phase(NamedTuple):
    """One kind of trouble, which lasts until the end of the measurement.

    `is_topic_known` is whether a record was delivered before; `is_primed` whether one more is,
    after the trouble has begun. `records` are sent then, and measured; the report shows the outcome
    of the one with the index `judged`.
    """

    name: str
    title: str
    is_topic_known: bool = True
    is_primed: bool = False
    records: int = 3
    judged: int = 0


PHASES = (
    Phase("metadata", "no metadata: the topic stays unknown", is_topic_known=False),
    Phase("no leader", "the partition has lost its leader"),
    Phase("queued", "an earlier request is never answered, and one may be in flight", judged=2),
    Phase("in flight", "the request is never answered", records=1),
    Phase("cut", "every connection is cut after the append, before the response"),
    Phase("backoff", "every request is answered with NOT_ENOUGH_REPLICAS"),
    Phase("throttled", "the broker throttles for five times the deadline", is_primed=True),
)


def rules(phase: Phase, topic: str, client_id: str, deadline_ms: int) -> dict[str, Any]:
    """The fault rule that makes the trouble, for this client or its topic alone."""
    rule = dict(_RULES[phase.name])
    if phase.name == "throttled":
        rule["throttle_time_ms"] = 5 * deadline_ms
    if phase.name in {"metadata", "no leader"}:
        rule["topic"] = topic
    return rule if rule.get("at_once") else {"client_id": client_id, **rule}


_RULES: dict[str, dict[str, Any]] = {
    "metadata": {"api": "Metadata", "error": "UNKNOWN_TOPIC_OR_PARTITION"},
    "no leader": {"leader": "none", "at_once": True},
    "queued": {"api": "Produce", "hang": "before_response"},
    "in flight": {"api": "Produce", "hang": "before_response"},
    "cut": {"api": "Produce", "drop": "before_response"},
    "backoff": {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS"},
    "throttled": {"api": "Produce", "times": 1},
}
