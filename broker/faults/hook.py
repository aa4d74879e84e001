"""A user's function that gets every request and may return a rule for this request."""

from collections.abc import Callable, Mapping
from typing import Any

from broker.faults.actions import Hold
from broker.faults.rule import FaultRule
from broker.faults.table import Hook
from broker.request.context import RequestContext
from protocol import json_view
from protocol.request_targets import TopicNames, request_targets

PlainHook = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
"""Called with a request as the journal shows it; returns the fields of a rule, or None."""


def hook_of(function: PlainHook, topic_name: TopicNames) -> Hook:
    """Return the hook that calls a function; the API of the rule is that of the request."""

    def evaluate(context: RequestContext, message: Any) -> FaultRule | None:
        origin = context.describe()
        targets = request_targets(message)
        fields = function(
            {
                "number": 0,
                **origin,
                "outcome": "waiting",
                "request_bytes": context.size_bytes,
                "topics": sorted(targets.topic_names(topic_name)),
                "groups": sorted(targets.groups),
                "transactional_ids": sorted(targets.transactional_ids),
                "request": json_view.as_plain(message, lambda _name: True),
            }
        )
        if fields is None:
            return None
        rule = FaultRule.from_json({"api": origin["api"], **fields})
        if rule.has_action(Hold):
            raise ValueError("hold: nothing could release it; add a rule in place of the hook")
        return rule

    return evaluate
