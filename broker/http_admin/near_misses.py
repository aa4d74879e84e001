"""What came nearest to a request or to a rule that somebody waited for, and why it does not fit."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from broker.dispatch.turn_queue import TurnKind
from broker.faults import RuleState
from broker.http_admin.operation import Problem, operation
from broker.http_admin.requests import JournalQuery, journal_filter
from broker.http_admin.state import Admin
from broker.journal.journal import request_of, targets_of
from broker.journal.lines import Entry
from broker.journal.near_requests import comparison, conditions_of, near_requests, newest_requests
from broker.journal.rendering import JournalFilter
from broker.request.near_misses import Comparison, Difference, NearMiss, nearest
from protocol.pacing import may_pause, paced

TOPICS_SHOWN = 20


class DifferenceView(msgspec.Struct):
    """A condition that a request does not fit: the name of the field, and how it differs."""

    field: str
    text: str


class NearMissView(msgspec.Struct):
    """Some requests that differ from the conditions alike.

    `number` is that of the newest, `count` how many there are, and `held` how many of the
    conditions they fit. `text` says all of it in one line.
    """

    number: int
    count: int
    held: int
    differences: list[DifferenceView]
    text: str


class NearMissesView(msgspec.Struct):
    """The nearest requests, of the newest 1000, with the fewest differences first; at most five.

    `reasons` say why a rule cannot fire, or has not fired on requests that it matched.
    """

    reasons: list[str]
    near_misses: list[NearMissView]


@operation("GET", "/v1/requests/near-misses", tag="requests", turn_kind=TurnKind.READING)
@may_pause
def list_near_misses(admin: Admin, query: JournalQuery) -> NearMissesView:
    """List the requests that come nearest to a query, and the fields in which they differ.

    Requests that fit the query are left out. `bodies` has no effect.
    """
    return _view([], requests_near_filter(admin, journal_filter(query)))


@may_pause
def requests_near_filter(
    admin: Admin, line_filter: JournalFilter, *, has_succeeded: bool = False
) -> list[NearMiss]:
    """Return the requests that come nearest to a filter, as `near_requests` does."""
    lines = paced(reversed(admin.journal))
    return near_requests(lines, line_filter, admin.topic_name, has_succeeded=has_succeeded)


@may_pause
def near_misses_of_rule(admin: Admin, state: RuleState) -> NearMissesView:
    """Return why a rule does not fire, and the requests that come nearest to its conditions."""
    from broker.faults.near_requests import reasons  # noqa: PLC0415 - only if somebody asks

    return _view(reasons(state, admin.now_ms()), requests_near_rule(admin, state))


@may_pause
def requests_near_rule(admin: Admin, state: RuleState) -> list[NearMiss]:
    """Return the requests that come nearest to the conditions of a rule; none if it fired."""
    from broker.faults.near_requests import ComparedRequest, RuleConditions  # noqa: PLC0415

    if state.rule.matches_connections or state.rule.trigger.at_once:
        return []
    conditions = RuleConditions(state)

    def compared(entry: Entry) -> Comparison:
        context = entry.context
        targets = targets_of(entry).with_topic_names(admin.topic_name)
        request = ComparedRequest(context, targets, request_of(entry), admin.topic_name)
        found = conditions.differences(request)
        held = conditions.held(found)
        obstacle = None if found else conditions.obstacle(context)
        return comparison(entry, (*found, *([obstacle] if obstacle else ())), held)

    newest = newest_requests(paced(reversed(admin.journal)))
    return nearest(compared(entry) for entry in paced(newest))


@may_pause
def nothing_came(admin: Admin, query: JournalQuery, timeout_ms: int) -> Problem:
    """Return the problem that no request fits a query, with the nearest ones."""
    line_filter = journal_filter(query)
    given = conditions_of(line_filter).items()
    needed = ", ".join(f"{name}={value!r}" for name, value in given) or "any value"
    reason = f"no {query.kind or 'line'} with {needed} in {timeout_ms / 1000:g} s"
    if not any(isinstance(line, Entry) for line in paced(admin.journal)):
        reason += ", and no request at all"
    near_misses = requests_near_filter(admin, line_filter)
    return Problem(408, reason, nearest=list(map(str, near_misses)))


@dataclass(frozen=True, slots=True)
class RecordsWanted:
    """What somebody waited for: `count` records of a topic; there were `found`.

    None is found if there is no such topic.
    """

    topic: str
    partition: int | None
    count: int
    timeout_ms: int
    found: int | None


@may_pause
def too_few_records(admin: Admin, needed: RecordsWanted) -> Problem:
    """Return the problem that there are too few records, with the nearest Produce requests."""
    topic, partition, seconds = needed.topic, needed.partition, f"{needed.timeout_ms / 1000:g} s"
    where = f"topic {topic!r}" if partition is None else f"{topic!r}-{partition}"
    if needed.found is None:
        known = [one.name for one in paced(admin.cluster.topics.all()) if not one.is_internal]
        listed = ", ".join(sorted(known)[:TOPICS_SHOWN]) or "no topic yet"
        reason = f"topic {topic!r} did not exist after {seconds}; the cluster has {listed}"
    else:
        reason = f"{where} had {needed.found} of {needed.count} records in {seconds}"
    line_filter = JournalFilter(api="Produce", topic=topic, partition=partition)
    near_misses = requests_near_filter(admin, line_filter, has_succeeded=True)
    return Problem(408, reason, nearest=list(map(str, near_misses)))


def _view(reasons: list[str], near_misses: Sequence[NearMiss]) -> NearMissesView:
    return NearMissesView(reasons, list(map(_near_miss_view, near_misses)))


def _near_miss_view(miss: NearMiss) -> NearMissView:
    newest = miss.newest
    differences = [_difference_view(difference) for difference in newest.differences]
    return NearMissView(newest.number, miss.count, newest.held, differences, str(miss))


def _difference_view(difference: Difference) -> DifferenceView:
    return DifferenceView(difference.field, difference.text)
