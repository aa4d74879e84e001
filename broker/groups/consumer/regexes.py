"""Subscriptions by regular expression: RE2's syntax, and a match of the whole topic name.

Source: Kafka's `GroupMetadataManager.refreshRegularExpressions`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from protocol.pacing import may_pause, paced
from protocol.regular_expressions import full_match


class ResolvedRegex(NamedTuple):
    """The topics that an expression matched at a time, when there had been `created_count`."""

    topic_names: frozenset[str]
    created_count: int
    resolved_ms: int


@may_pause
def matching(regex: str, topic_names: Iterable[str]) -> frozenset[str]:
    """Return the names that a valid expression matches as a whole; it may pause."""
    return frozenset(name for name in paced(topic_names) if full_match(regex, name))
