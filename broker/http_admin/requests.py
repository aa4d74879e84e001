"""The journal over HTTP: the last requests and their responses."""

from collections.abc import Iterable
from dataclasses import fields
from itertools import islice
from typing import Annotated, Any, Literal, cast

import msgspec

from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.json_parts import encoded_elements
from broker.http_admin.operation import Count, Input, NodeId, operation
from broker.http_admin.state import Admin
from broker.http_admin.unknown_names import unknown_key_hint
from broker.journal.lines import Line
from broker.journal.rendering import REQUEST_FIELDS, JournalFilter, describe_line
from protocol.errors import ErrorCode, error_code_of
from protocol.messages import API_NAMES, api_key_of
from protocol.pacing import may_pause, paced, paced_range

LIST_MAX = 10_000
WAIT_MS_MAX = 600_000
EXPORT_LINES_MAX = 50
"""Lines that are encoded before they are sent."""


def _one_of(names: Iterable[str]) -> msgspec.Meta:
    """Return the schema of a name or a code; the names are also accepted in other spellings."""
    codes = {"pattern": "^[0-9]+$"}
    return msgspec.Meta(extra_json_schema={"anyOf": [{"enum": list(names)}, codes]})


def _some_of(names: Iterable[str]) -> msgspec.Meta:
    """Return the schema of names separated by commas."""
    name = f"({'|'.join(names)})"
    return msgspec.Meta(extra_json_schema={"pattern": f"^{name}(,{name})*$"})


class JournalQuery(Input, kw_only=True):
    """Which lines: all set values must fit. APIs and errors in any case, with or without `_`.

    `since` is the number of the last line already seen, `since_ms` a time of the broker's clock.
    """

    api: Annotated[str, _one_of(API_NAMES.values())] | None = None
    topic: str | None = None
    group: str | None = None
    client_id: str | None = None
    user: str | None = None
    broker: NodeId | None = None
    connection: Count | None = None
    error: Annotated[str, _one_of(ErrorCode.__members__)] | None = None
    outcome: (
        Literal["waiting", "held", "responded", "no_response", "closed", "refused", "delayed"]
        | None
    ) = None
    kind: Literal["request", "connection", "disconnect"] | None = None
    fault: str | None = None
    denied: bool | None = None
    """Whether the request was not allowed to do something."""
    since: Count = 0
    since_ms: Count = 0
    bodies: bool = True
    """Whether to include the decoded messages."""

    def __post_init__(self) -> None:
        # A misspelt name would match no request, and tests would pass by mistake.
        _check_api(self.api)
        _check_error(self.error)


class ListQuery(JournalQuery, kw_only=True):
    """The newest lines that fit, at most `limit`.

    `fields` are the fields of a request to list, separated by commas; it decides instead of
    `bodies`. A message is decoded only for a field that needs it.
    """

    limit: Annotated[int, msgspec.Meta(ge=1, le=LIST_MAX)] = 100
    fields: Annotated[str, _some_of(REQUEST_FIELDS)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.names or ():
            if name not in REQUEST_FIELDS:
                hint = unknown_key_hint(name, REQUEST_FIELDS)
                raise ValueError(f"fields: there is no {name!r}{hint}")

    @property
    def names(self) -> frozenset[str] | None:
        """The fields to list; None for those that `bodies` chooses."""
        return None if self.fields is None else frozenset(self.fields.split(","))


class WaitQuery(JournalQuery, kw_only=True):
    """How long to wait, in ms of real time."""

    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=WAIT_MS_MAX)] = 30_000


class JournalStatus(msgspec.Struct):
    """The size of the journal; use `last_number` as `since` to see only later lines."""

    is_enabled: bool
    lines: int
    bytes: int
    last_number: int


@operation("GET", "/v1/requests", tag="requests", turn_kind=TurnKind.READING)
@may_pause
def list_requests(admin: Admin, query: ListQuery) -> list[dict[str, Any]]:
    """List the newest requests, refused or delayed connections and disconnects that fit."""
    line_filter, names = journal_filter(query), query.names
    newest_first = paced(reversed(admin.journal))
    fitting = (line for line in newest_first if line_filter.fits(line, admin.topic_name))
    lines = list(islice(fitting, query.limit))[::-1]
    # Encoded: the views of all lines together would take much memory.
    encoded = encoded_elements(view(admin, line, query, names) for line in paced(lines))
    return cast("list[dict[str, Any]]", encoded)


@operation("GET", "/v1/requests/status", tag="requests")
def get_journal(admin: Admin) -> JournalStatus:
    """Return the size of the journal and the number of the newest line."""
    journal = admin.journal
    return JournalStatus(journal.is_enabled, len(journal), journal.byte_count, journal.last_number)


@operation(
    "DELETE",
    "/v1/requests",
    tag="requests",
    status=204,
    media_type=None,
    turn_kind=TurnKind.READING,
)
@may_pause
def clear_requests(admin: Admin) -> None:
    """Remove all lines; numbers go on."""
    removed = admin.journal.clear()
    for _ in paced_range(len(removed)):
        removed.pop()  # to free 10,000 requests takes longer than a turn


def journal_filter(query: JournalQuery) -> JournalFilter:
    """Return the filter of a query, whose attributes have the same names."""
    return JournalFilter(**{name: getattr(query, name) for name in _FILTER_FIELDS})


@may_pause
def view(
    admin: Admin, line: Line, query: JournalQuery, names: frozenset[str] | None = None
) -> dict[str, Any]:
    """Return a line as JSON values, with the decoded messages if the query asks for them.

    `names` are the fields of a request; None for all.
    """
    return describe_line(line, admin.topic_name, has_bodies=query.bodies, names=names)


_FILTER_FIELDS = tuple(field.name for field in fields(JournalFilter))


def _check_api(name: str | None) -> None:
    if name is not None and not name.isdecimal():  # codes without a name are shown as numbers
        try:
            api_key_of(name)
        except ValueError as error:
            raise ValueError(f"api: {error}") from None


def _check_error(name: str | None) -> None:
    if name is not None and not name.isdecimal():
        try:
            error_code_of(name)
        except ValueError as error:
            raise ValueError(f"error: {error}") from None
