"""The journal over HTTP: which requests went by, and what became of them."""

from itertools import islice
from typing import Annotated, Any, Literal

import msgspec

from broker.http_admin.operation import Count, Input, NodeId, operation
from broker.http_admin.state import Admin
from broker.journal.journal import Line
from broker.journal.rendering import JournalFilter, describe_line
from protocol.errors import ErrorCode
from protocol.messages import api_key_of
from protocol.suggestions import did_you_mean

LIST_MAX = 10_000
WAIT_MS_MAX = 600_000


class JournalQuery(Input, kw_only=True):
    """Which lines; what is set must fit. APIs and errors in any case, with or without `_`.

    `since` is the number of the last line already seen, `since_ms` a time of the broker's clock.
    """

    api: str | None = None
    topic: str | None = None
    group: str | None = None
    client_id: str | None = None
    user: str | None = None
    broker: NodeId | None = None
    connection: Count | None = None
    error: str | None = None
    outcome: (
        Literal["waiting", "responded", "no_response", "closed", "refused", "delayed"] | None
    ) = None
    kind: Literal["request", "connection", "disconnect"] | None = None
    fault: str | None = None
    since: Count = 0
    since_ms: Count = 0
    bodies: bool = True
    """Whether to bring the decoded messages."""

    def __post_init__(self) -> None:
        # A name with a slip in it would fit nothing, which is what many tests want to see.
        _check_api(self.api)
        _check_error(self.error)


class ListQuery(JournalQuery, kw_only=True):
    """As many of the newest lines that fit."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=LIST_MAX)] = 100


class WaitQuery(JournalQuery, kw_only=True):
    """How long to wait, in ms of the machine's time."""

    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=WAIT_MS_MAX)] = 30_000


class JournalStatus(msgspec.Struct):
    """How much is kept; `last_number` is a good `since` for what comes from now on."""

    is_enabled: bool
    lines: int
    bytes: int
    last_number: int


@operation("GET", "/v1/requests", tag="requests")
def list_requests(admin: Admin, query: ListQuery) -> list[dict[str, Any]]:
    """The newest requests, refused or delayed connections and ends of them that fit, in order."""
    wish = journal_filter(query)
    newest_first = reversed(admin.journal)
    fitting = (line for line in newest_first if wish.fits(line, admin.topic_name))
    return [view(admin, line, query) for line in islice(fitting, query.limit)][::-1]


@operation("GET", "/v1/requests/status", tag="requests")
def get_journal(admin: Admin) -> JournalStatus:
    """How much is kept, and the number of the newest line."""
    journal = admin.journal
    return JournalStatus(journal.is_enabled, len(journal), journal.byte_count, journal.last_number)


@operation("DELETE", "/v1/requests", tag="requests", status=204, media_type=None)
def clear_requests(admin: Admin) -> None:
    """Forget all lines; their numbers go on."""
    admin.journal.clear()


def journal_filter(query: JournalQuery) -> JournalFilter:
    """What the query asks for."""
    return JournalFilter(
        api=query.api,
        topic=query.topic,
        group=query.group,
        client_id=query.client_id,
        user=query.user,
        broker=query.broker,
        connection=query.connection,
        error=query.error,
        outcome=query.outcome,
        kind=query.kind,
        fault=query.fault,
        since=query.since,
        since_ms=query.since_ms,
    )


def view(admin: Admin, line: Line, query: JournalQuery) -> dict[str, Any]:
    """A line as the query wants it."""
    return describe_line(line, admin.topic_name, has_bodies=query.bodies)


def _check_api(name: str | None) -> None:
    if name is not None and not name.isdecimal():  # what has no name goes by its number
        try:
            api_key_of(name)
        except ValueError as error:
            raise ValueError(f"api: {error}") from None


def _check_error(name: str | None) -> None:
    if name is None or name.isdecimal():
        return
    if _letters(name) not in map(_letters, ErrorCode.__members__):
        raise ValueError(f"error: there is no {name}{did_you_mean(name, ErrorCode.__members__)}")


def _letters(name: str) -> str:
    return name.replace("_", "").lower()
