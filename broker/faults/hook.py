"""A function of the user's own that sees every request and may have a rule made for it alone."""

from collections.abc import Callable, Mapping
from typing import Any

from broker.faults.rule import FaultRule
from broker.faults.table import Hook
from broker.request.context import RequestContext
from protocol import json_view as readable

PlainHook = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
"""Gets a request as the journal shows it, and gives the fields of a rule, or None."""


def hook_of(function: PlainHook) -> Hook:
    """The hook that asks a function; which requests a rule is for, it needn't say."""

    def see(context: RequestContext, message: Any) -> FaultRule | None:
        origin = context.describe()
        told = function(
            {
                "number": 0,
                **origin,
                "outcome": "waiting",
                "request_bytes": context.size_bytes,
                "topics": sorted(map(str, readable.topics_of(message))),
                "groups": sorted(readable.groups_of(message)),
                "request": readable.as_plain(message, lambda _name: True),
            }
        )
        return None if told is None else FaultRule.from_json({"api": origin["api"], **told})

    return see
