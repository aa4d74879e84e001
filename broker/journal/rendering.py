"""Render lines of the journal as JSON values, and filter them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from broker.authorization.description import denial_fields
from broker.config.public_keys import may_show_config
from broker.journal.journal import (
    errors_of,
    request_of,
    response_of,
    targets_of,
    unexplained,
)
from broker.journal.lines import Arrival, Disconnect, Entry, Line
from protocol import json_view
from protocol.pacing import may_pause
from protocol.request_targets import TopicNames


@dataclass(frozen=True, slots=True)
class JournalFilter:
    """Selects the lines that fit every attribute that is set.

    APIs and errors match in any case, with or without `_`. `since` is the number of the last line
    already seen, `since_ms` a time of the broker's clock. `fault` is a part of the description of
    the fault rules that fired. `denied` is whether a request was not allowed to do something. A
    request without a response yet has no error. With `topic` too, `partition` is one of that topic.
    """

    api: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    client_id: str | None = None
    user: str | None = None
    broker: int | None = None
    connection: int | None = None
    error: str | None = None
    outcome: str | None = None
    kind: str | None = None
    fault: str | None = None
    denied: bool | None = None
    since: int = 0
    since_ms: int = 0

    @may_pause
    def fits(self, line: Line, topic_name: TopicNames) -> bool:
        """Return whether a line fits; decodes it only if everything else does."""
        if line.number <= self.since:
            return False
        if isinstance(line, Disconnect):
            return self._fits_disconnect(line)
        if isinstance(line, Arrival):
            return self._fits_arrival(line)
        context = line.kept_context
        return (
            self.kind in {None, "request"}
            and line.received_ms >= self.since_ms
            and (self.broker is None or context.broker_id == self.broker)
            and (self.connection is None or context.connection_id == self.connection)
            and (self.user is None or context.principal == self.user)
            and (self.client_id is None or context.client_id == self.client_id)
            and (self.outcome is None or line.outcome.value == self.outcome)
            and (self.fault is None or self.fault in (line.context.fault or ""))
            and (self.denied is None or self.denied is bool(context.denials))
            and (self.api is None or _same(self.api, json_view.api_name(context.api_key)))
            and self._fits_messages(line, topic_name)
        )

    @property
    def _is_for_requests(self) -> bool:
        return any(
            value is not None
            for value in (
                self.api,
                self.topic,
                self.partition,
                self.group,
                self.client_id,
                self.error,
                self.denied,
            )
        )

    def _fits_arrival(self, line: Arrival) -> bool:
        return (
            self.kind in {None, "connection"}
            and not self._is_for_requests
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
            and not self._is_for_requests
            and self.fault is None
            and self.outcome is None
            and line.time_ms >= self.since_ms
            and (self.broker is None or line.broker_id == self.broker)
            and (self.connection is None or line.connection_id == self.connection)
            and (self.user is None or line.principal == self.user)
        )

    @may_pause
    def _fits_messages(self, entry: Entry, topic_name: TopicNames) -> bool:
        error = self.error
        return (
            (self.topic is None or self.topic in targets_of(entry).topic_names(topic_name))
            and (self.partition is None or self._fits_partition(entry, topic_name))
            and (self.group is None or self.group in targets_of(entry).groups)
            and (error is None or any(_same(error, name) for name in errors_of(entry)))
        )

    def _fits_partition(self, entry: Entry, topic_name: TopicNames) -> bool:
        targets = targets_of(entry)
        if self.topic is not None:
            targets = targets.with_topic_names(topic_name)
        return targets.has_partition(self.topic, self.partition)


@may_pause
def describe_line(
    line: Line,
    topic_name: TopicNames,
    *,
    has_bodies: bool = True,
    names: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return a line as JSON values; with the decoded messages if `has_bodies`.

    Of a request only `names` of `REQUEST_FIELDS`, if given: a message is decoded only if one of
    them depends on it.
    """
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
    chosen = (_WITH_BODIES if has_bodies else _WITHOUT_BODIES) if names is None else names
    context = line.context
    described: dict[str, Any] = {
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
        "denials": [denial_fields(denial) for denial in context.denials],
        "request_bytes": context.size_bytes,
        "response_bytes": len(line.response or b""),
    }
    if names is not None:
        described = {name: value for name, value in described.items() if name in names}
    decoded = {name: find(line, topic_name) for name, find in _DECODED.items() if name in chosen}
    return described | {name: decoded[name] for name in _WITH_BODIES if name in decoded}


_DECODED: dict[str, Callable[[Entry, TopicNames], Any]] = {
    # The messages come first: to decode one also finds the targets and errors in it.
    "request": lambda entry, _name: _body(entry, request_of(entry), entry.frame),
    "response": lambda entry, _name: _body(entry, response_of(entry), entry.response),
    "topics": lambda entry, name: sorted(targets_of(entry).topic_names(name)),
    "groups": lambda entry, _name: sorted(targets_of(entry).groups),
    "transactional_ids": lambda entry, _name: sorted(targets_of(entry).transactional_ids),
    "errors": lambda entry, _name: sorted(errors_of(entry)),
}
_WITHOUT_BODIES = ("topics", "groups", "transactional_ids", "errors")
_WITH_BODIES = (*_WITHOUT_BODIES, "request", "response")

REQUEST_FIELDS = (
    "kind",
    "number",
    "received_ms",
    "broker",
    "connection",
    "client_host",
    "client_id",
    "user",
    "listener",
    "api",
    "version",
    "correlation_id",
    "outcome",
    "close_reason",
    "duration_us",
    "throttle_time_ms",
    "muted",
    "shadow_throttle_times_ms",
    "fault",
    "denials",
    "request_bytes",
    "response_bytes",
    *_WITH_BODIES,
)
"""The fields of a described request, in order."""


def _body(entry: Entry, message: Any, frame: bytes | None) -> Any:
    if frame is None or isinstance(message, str):
        return message
    try:
        return json_view.as_plain(message, may_show_config)
    except Exception as error:  # noqa: BLE001 - one entry must not hide all others
        return unexplained(entry, frame, error)


def _same(given: str, name: str) -> bool:
    return given.replace("_", "").lower() == name.replace("_", "").lower()
