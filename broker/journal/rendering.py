"""What people see of the journal: which of its lines they want, and each as plain values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from broker.config.broker_config import BROKER_KEYS
from broker.config.topic_keys import TOPIC_KEYS
from broker.journal.journal import (
    Arrival,
    Disconnect,
    Entry,
    Line,
    errors_of,
    request_of,
    response_of,
    subjects_of,
)
from protocol import json_view as readable

TopicNames = Callable[[UUID], str | None]
"""The name of a topic by its id; None when it is not known, or not any more."""


@dataclass(frozen=True, slots=True)
class JournalFilter:
    """What is set must fit; names of APIs and errors in any case and with or without `_`.

    `since` is the number of the last line already seen, `since_ms` a time of the broker's clock.
    `fault` is found anywhere in the words for the fault that was injected.
    A request that waits for its response has no error yet, and so doesn't fit one.
    """

    api: str | None = None
    topic: str | None = None
    group: str | None = None
    client_id: str | None = None
    user: str | None = None
    broker: int | None = None
    connection: int | None = None
    error: str | None = None
    outcome: str | None = None
    kind: str | None = None
    fault: str | None = None
    since: int = 0
    since_ms: int = 0

    def fits(self, line: Line, topic_name: TopicNames) -> bool:
        """Whether a line is wanted; nothing is decoded where other questions decide."""
        if line.number <= self.since:
            return False
        if isinstance(line, Disconnect):
            return self._fits_disconnect(line)
        if isinstance(line, Arrival):
            return self._fits_arrival(line)
        context = line.context
        return (
            self.kind in {None, "request"}
            and context.now_ms >= self.since_ms
            and (self.broker is None or context.broker_id == self.broker)
            and (self.connection is None or context.connection_id == self.connection)
            and (self.user is None or context.principal == self.user)
            and (self.client_id is None or context.client_id == self.client_id)
            and (self.outcome is None or line.outcome.value == self.outcome)
            and (self.fault is None or self.fault in (line.context.fault or ""))
            and (self.api is None or _same(self.api, readable.api_name(context.api_key)))
            and self._fits_subjects(line, topic_name)
        )

    @property
    def _asks_for_requests(self) -> bool:
        asked = (self.api, self.topic, self.group, self.client_id, self.error)
        return any(each is not None for each in asked)

    def _fits_arrival(self, line: Arrival) -> bool:
        return (
            self.kind in {None, "connection"}
            and not self._asks_for_requests
            and self.connection is None
            and self.user is None
            and line.time_ms >= self.since_ms
            and (self.broker is None or line.broker_id == self.broker)
            and (self.outcome is None or line.outcome.value == self.outcome)
            and (self.fault is None or self.fault in line.fault)
        )

    def _fits_disconnect(self, line: Disconnect) -> bool:
        return (
            self.kind in {None, "disconnect"}
            and not self._asks_for_requests
            and self.fault is None
            and self.outcome is None
            and line.time_ms >= self.since_ms
            and (self.broker is None or line.broker_id == self.broker)
            and (self.connection is None or line.connection_id == self.connection)
            and (self.user is None or line.principal == self.user)
        )

    def _fits_subjects(self, entry: Entry, topic_name: TopicNames) -> bool:
        error = self.error
        return (
            (self.topic is None or self.topic in _named(subjects_of(entry).topics, topic_name))
            and (self.group is None or self.group in subjects_of(entry).groups)
            and (error is None or any(_same(error, each) for each in errors_of(entry)))
        )


def describe_line(line: Line, topic_name: TopicNames, *, has_bodies: bool = True) -> dict[str, Any]:
    """A line as values that JSON can hold; `has_bodies` with the decoded messages."""
    if isinstance(line, Disconnect):
        return {
            "kind": "disconnect",
            "number": line.number,
            "received_ms": line.time_ms,
            "broker": line.broker_id,
            "connection": line.connection_id,
            "client_host": line.client_host,
            "user": line.principal,
            "reason": line.reason,
        }
    if isinstance(line, Arrival):
        return {
            "kind": "connection",
            "number": line.number,
            "received_ms": line.time_ms,
            "broker": line.broker_id,
            "client_host": line.peer.rpartition(":")[0] or line.peer,
            "peer": line.peer,
            "outcome": line.outcome.value,
            "delay_ms": line.delay_ms,
            "fault": line.fault,
        }
    context, subjects = line.context, subjects_of(line)
    plain: dict[str, Any] = {
        "kind": "request",
        "number": line.number,
        **context.describe(),
        "outcome": line.outcome.value,
        "close_reason": line.close_reason,
        "duration_us": line.duration_us,
        "throttle_time_ms": context.throttle_time_ms,
        "muted": context.muted_until_ms > context.now_ms,
        "shadow_throttle_times_ms": (
            {} if context.shadow is None else dict(context.shadow.throttle_times_ms)
        ),
        "fault": context.fault,
        "request_bytes": context.size_bytes,
        "response_bytes": len(line.response or b""),
        "topics": sorted(_named(subjects.topics, topic_name)),
        "groups": sorted(subjects.groups),
        "errors": sorted(errors_of(line)),
    }
    if has_bodies:
        plain["request"] = _body(request_of(line))
        plain["response"] = _body(response_of(line))
    return plain


def may_show_config(name: str) -> bool:
    """Whether the value of a configuration may be seen: it is known, and no secret."""
    key = BROKER_KEYS.get(name) or TOPIC_KEYS.get(name)
    return key is not None and not key.is_sensitive


def _body(message: Any) -> Any:
    if message is None or isinstance(message, str):
        return message
    return readable.as_plain(message, may_show_config)


def _named(topics: frozenset[str | UUID], topic_name: TopicNames) -> set[str]:
    return {each if isinstance(each, str) else topic_name(each) or str(each) for each in topics}


def _same(asked: str, name: str) -> bool:
    return asked.replace("_", "").lower() == name.replace("_", "").lower()
