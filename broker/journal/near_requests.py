"""The requests of the journal that come nearest to a filter."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from itertools import islice
from typing import Any

from broker.journal.journal import errors_of, targets_of
from broker.journal.lines import Entry, Line, Outcome
from broker.journal.rendering import JournalFilter
from broker.request.near_misses import (
    REQUESTS_MAX,
    Comparison,
    Difference,
    NearMiss,
    nearest,
    refusal,
    was,
)
from protocol import json_view
from protocol.pacing import may_pause, paced
from protocol.request_targets import TopicNames

_KIND, _TOPIC, _PARTITION = "kind", "topic", "partition"


@may_pause
def newest_requests(lines: Iterable[Line]) -> list[Entry]:
    """Return the requests that are compared, newest first; `lines` are newest first, too."""
    return list(islice((line for line in lines if isinstance(line, Entry)), REQUESTS_MAX))


def conditions_of(line_filter: JournalFilter) -> dict[str, Any]:
    """Return the conditions of a filter on requests, by their names."""
    given = {declared.name: getattr(line_filter, declared.name) for declared in fields(line_filter)}
    defaults = {declared.name: declared.default for declared in fields(line_filter)}
    return {
        name: value for name, value in given.items() if value != defaults[name] and name != _KIND
    }


@may_pause
def near_requests(
    lines: Iterable[Line],
    line_filter: JournalFilter,
    topic_name: TopicNames,
    *,
    has_succeeded: bool = False,
) -> list[NearMiss]:
    """Return the requests that come nearest to a filter, without those that fit it.

    `lines` are those of the journal, newest first. There are none for other kinds of lines. With
    `has_succeeded` there is one more condition: the request has its response, without an error.
    """
    if line_filter.kind not in {None, "request"}:
        return []
    conditions = conditions_of(line_filter)
    single = {name: JournalFilter(**{name: value}) for name, value in conditions.items()}
    topic = conditions.get(_TOPIC)

    def compared(entry: Entry) -> Comparison:
        differing = [name for name, one in single.items() if not one.fits(entry, topic_name)]
        # The partition is one of the topic, if the request names the topic.
        if topic is not None and _PARTITION in single and not {_TOPIC, _PARTITION} & {*differing}:
            both = JournalFilter(topic=topic, partition=conditions[_PARTITION])
            differing += [] if both.fits(entry, topic_name) else [_PARTITION]
        within = topic if _TOPIC not in differing else None
        differences = tuple(_difference(name, entry, topic_name, within) for name in differing)
        held = len(conditions) - len(differences)
        if has_succeeded:
            failure = _failure(entry)
            held += failure is None
            differences += () if failure is None else (failure,)
        return comparison(entry, differences, held)

    return nearest(compared(entry) for entry in paced(newest_requests(lines)))


def comparison(entry: Entry, differences: tuple[Difference, ...], held: int) -> Comparison:
    """Return the comparison of a request that fits `held` conditions."""
    context = entry.kept_context
    refused = refusal(entry.context.fault)
    if refused is not None and differences and refused not in differences:
        differences += (refused,)
    return Comparison(
        entry.number,
        json_view.api_name(context.api_key),
        context.api_version,
        context.client_id,
        held,
        differences,
    )


def _difference(name: str, entry: Entry, topic_name: TopicNames, within: str | None) -> Difference:
    if name == "since":
        return Difference(name, "it came before since")
    if name == "since_ms":
        return was(name, entry.received_ms)
    if name == _PARTITION:
        return was(name, partitions_of(entry, topic_name, within))
    return was(name, _VALUES[name](entry, topic_name))


@may_pause
def _failure(entry: Entry) -> Difference | None:
    if errors := errors_of(entry):
        return was("error", sorted(errors))
    if entry.outcome in {Outcome.RESPONDED, Outcome.NO_RESPONSE}:
        return None
    return was("outcome", entry.outcome.value)


def partitions_of(entry: Entry, topic_name: TopicNames, topic: str | None) -> list[int]:
    """Return the partitions that a request names, of a topic or of all."""
    targets = targets_of(entry)
    return sorted(
        {
            index
            for name, index in targets.partitions
            if index is not None
            and (topic is None or topic == (name if isinstance(name, str) else topic_name(name)))
        }
    )


_VALUES: dict[str, Callable[[Entry, TopicNames], Any]] = {
    "api": lambda entry, _names: json_view.api_name(entry.kept_context.api_key),
    "topic": lambda entry, names: sorted(targets_of(entry).topic_names(names)),
    "group": lambda entry, _names: sorted(targets_of(entry).groups),
    "client_id": lambda entry, _names: entry.kept_context.client_id,
    "user": lambda entry, _names: entry.kept_context.principal,
    "broker": lambda entry, _names: entry.kept_context.broker_id,
    "connection": lambda entry, _names: entry.kept_context.connection_id,
    "error": lambda entry, _names: sorted(errors_of(entry)),
    "outcome": lambda entry, _names: entry.outcome.value,
    "fault": lambda entry, _names: entry.context.fault,
    "denied": lambda entry, _names: bool(entry.kept_context.denials),
}
"""What a request has where the attributes of a filter have a condition."""
