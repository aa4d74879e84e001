"""Fetch outside of sessions while a fault rule needs all partitions of a request (KIP-227).

A Fetch in a session names only what has changed, and the cluster keeps the session. So a client
that begins one gets none, and one that has a session hears that it is not found: it then names all
its partitions in every request.
"""

from struct import Struct
from typing import TYPE_CHECKING

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_response
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker.faults.rule import FaultRule

SESSION_VERSION_MIN = 7
_NO_REPLICA_ID_MIN = 15
_SESSION = Struct(">ii")
"""The id and the epoch of a session."""
_BEGINNING = _SESSION.pack(0, 0)
_NO_SESSION = _SESSION.pack(0, -1)
_FINAL_EPOCH = -1


def needs_all_partitions(rules: "Iterable[FaultRule]") -> bool:
    """Return whether one of these rules depends on the partitions that a Fetch reads."""
    from broker.faults.actions import ChangeRecords, Error, PatchResponse  # noqa: PLC0415 - ADR 24

    for rule in rules:
        match = rule.match
        names = (match.topic, match.partition, match.topic_id, match.where)
        changes = any(map(rule.has_action, (ChangeRecords, Error, PatchResponse)))
        if match.api_key in {None, ApiKey.FETCH} and (changes or any(n is not None for n in names)):
            return True
    return False


def without_session(
    api_version: int, correlation_id: int, body: bytes
) -> tuple[bytes, bytes | None]:
    """Return the body of a Fetch outside of a session, or with it the response that ends one."""
    start = 13 if api_version >= _NO_REPLICA_ID_MIN else 17
    session = body[start : start + _SESSION.size]
    if api_version < SESSION_VERSION_MIN or len(session) < _SESSION.size:
        return body, None
    if session == _BEGINNING:
        return body[:start] + _NO_SESSION + body[start + _SESSION.size :], None
    session_id, epoch = _SESSION.unpack(session)
    if not session_id or epoch == _FINAL_EPOCH:
        return body, None
    ended = messages.FetchResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        session_id=0,
        responses=[],
    )
    return body, encode_response(correlation_id, ApiKey.FETCH, api_version, ended)
