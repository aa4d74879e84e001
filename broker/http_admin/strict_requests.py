"""Refuse the requests that a recording never had, and name the recorded one that comes nearest.

A request is recorded if requests of its API, version and user have named each topic, group,
transactional id and resource that it names. Offsets, records, ids that a cluster hands out and
settings do not count: another run has others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.faults.rule import FaultRule
from broker.http_admin.asked_requests import asked_of
from broker.http_admin.recorded_parts import AskedRequest
from broker.log import log
from broker.request.context import RequestContext
from broker.request.near_misses import NOT_RECORDED, Comparison, Difference, nearest, was
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from protocol.request_targets import TopicNames

_ALWAYS = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_AUTHENTICATE, ApiKey.SASL_HANDSHAKE})
"""What every connection begins with."""
_NAMED = ("topics", "groups", "transactional_ids", "resources")
_NOTED_MAX = 1000
"""So many different refusals are logged."""


@dataclass(slots=True)
class _Recorded:
    """What requests of one API, version and user have named."""

    topics: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    transactional_ids: set[str] = field(default_factory=set)
    resources: set[str] = field(default_factory=set)


class StrictRequests:
    """Decides for each request whether it was recorded; a hook of the fault rules."""

    def __init__(self, recorded: Sequence[AskedRequest], topic_name: TopicNames) -> None:
        """`recorded` are the `requests` of a recorded world."""
        self._entries = recorded
        self._topic_name = topic_name
        self._named: dict[tuple[str, int, str], _Recorded] = {}
        for entry in recorded:
            named = self._named.setdefault((entry.api, entry.version, entry.user), _Recorded())
            for name in _NAMED:
                getattr(named, name).update(getattr(entry, name))
        self._noted: set[str] = set()

    @may_pause
    def __call__(self, context: RequestContext, request: Any) -> FaultRule | None:
        """Return the rule that refuses a request, or None for a recorded one."""
        api_key = ApiKey(context.api_key)
        if api_key in _ALWAYS:
            return None
        user = f"User:{context.principal}"
        kind = asked_of(api_key, context.api_version, request, user, self._topic_name)
        unrecorded = self._unrecorded(kind)
        if unrecorded is None:
            return None
        text = f"{NOT_RECORDED}: {unrecorded}. {self._nearest_text(kind)}"
        self._log(context, text)
        error = error_of(kind, unrecorded).name
        fields: dict[str, Any] = {"name": text, "api": kind.api, "error": error}
        patch = message_patch(api_key, context.api_version, text)
        return FaultRule.from_json({**fields, "response": patch} if patch else fields)

    def _unrecorded(self, kind: AskedRequest) -> str | None:
        """Return what of a request was not recorded, or None."""
        named = self._named.get((kind.api, kind.version, kind.user))
        if named is None:
            return f"{kind.api} v{kind.version} of {kind.user}"
        for name in _NAMED:
            new = sorted(set(getattr(kind, name)) - getattr(named, name))
            if new:
                return f"{name.removesuffix('s').replace('_', ' ')} {', '.join(new)}"
        return None

    @may_pause
    def _nearest_text(self, kind: AskedRequest) -> str:
        """Return which recorded request comes nearest, and how it differs."""
        found = nearest(
            _comparison(number, entry, kind) for number, entry in enumerate(self._entries)
        )
        if not found:
            return "The record has no requests."
        near = found[0].newest
        how = ", ".join(difference.text for difference in near.differences)
        return f"The nearest one is {near.api} v{near.version}: {how}."

    def _log(self, context: RequestContext, text: str) -> None:
        key = f"{context.client_id} {text}"
        if key in self._noted or len(self._noted) >= _NOTED_MAX:
            return
        self._noted.add(key)
        log.warning("a request was refused", client_id=context.client_id, reason=text)


def error_of(kind: AskedRequest, unrecorded: str) -> ErrorCode:
    """Return the error of a refusal: one that clients do not retry.

    It is INVALID_TOPIC_EXCEPTION for topics, INVALID_GROUP_ID for groups, else INVALID_REQUEST.
    """
    if unrecorded.startswith("topic "):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if unrecorded.startswith("group ") and kind.groups:
        return ErrorCode.INVALID_GROUP_ID
    return ErrorCode.INVALID_REQUEST


def message_patch(api_key: ApiKey, version: int, text: str) -> dict[str, Any]:
    """Return a response's fields that have an error message, with this text; empty for none."""
    fields = messages.response_fields(api_key, version)
    return _with_messages(fields, text)


def _with_messages(fields: dict[str, Any], text: str) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for name, inner in fields.items():
        if name in {"error_message", "message"} and inner is None:
            patch[name] = text
        elif isinstance(inner, dict):
            found = _with_messages(inner, text)
            if found:
                patch[name] = found
    return patch


def _comparison(number: int, entry: AskedRequest, kind: AskedRequest) -> Comparison:
    differences: list[Difference] = []
    held = 0
    for name in ("api", "version", "user"):
        if getattr(entry, name) == getattr(kind, name):
            held += 1
        else:
            differences.append(was(name, getattr(entry, name)))
    for name in _NAMED:
        names: Iterable[str] = getattr(kind, name)
        missing = set(names) - set(getattr(entry, name))
        held += len(set(names)) - len(missing)
        if missing:
            differences.append(was(name, getattr(entry, name)))
    return Comparison(number, entry.api, entry.version, None, held, tuple(differences))
