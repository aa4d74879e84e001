"""The form of a line of the journal, for the OpenAPI document; `describe_line` makes the lines."""

from typing import Annotated, Any, Literal

import msgspec

from broker.http_admin.operation import NodeId
from broker.journal.lines import Outcome
from protocol.messages import API_NAMES

_UNSET = msgspec.UNSET
Optional = msgspec.UnsetType


def _one_of(names: list[str]) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema={"enum": names})


class DenialView(msgspec.Struct):
    """An operation that a request was not allowed to do, and the rule that decided, if any."""

    operation: str
    resource_type: str
    resource_name: str


class RequestView(msgspec.Struct):
    """A line of the journal: a request and its outcome, or what happened to a connection.

    The kind `connection` is a new connection that a rule refused or delayed, `disconnect` the end
    of a connection; both lack what only requests have. Times are ms of the cluster's clock, but
    `duration_us` is real time. `request` and `response` are the decoded messages with the names of
    Kafka's schemas in snake case, `errors` the names of all error codes in the response, or the
    number of one without a name. `fault` is what rules did, and `denials` what was not allowed.
    """

    kind: Literal["request", "connection", "disconnect"]
    number: int
    received_ms: int
    broker: NodeId
    client_host: str
    connection: int | Optional = _UNSET
    client_id: str | Optional | None = _UNSET
    user: str | Optional = _UNSET
    listener: str | Optional | None = _UNSET
    api: Annotated[str, _one_of(list(API_NAMES.values()))] | Optional = _UNSET
    version: int | Optional = _UNSET
    correlation_id: int | Optional = _UNSET
    outcome: Annotated[str, _one_of([one.value for one in Outcome])] | Optional = _UNSET
    close_reason: str | Optional | None = _UNSET
    reason: str | Optional = _UNSET
    """Why a connection ended."""
    peer: str | Optional = _UNSET
    """The `HOST:PORT` of a new connection."""
    delay_ms: int | Optional = _UNSET
    duration_us: int | Optional | None = _UNSET
    throttle_time_ms: int = 0
    muted: bool = False
    shadow_throttle_times_ms: dict[str, int] | Optional = _UNSET
    fault: str | Optional | None = _UNSET
    denials: list[DenialView] | Optional = _UNSET
    request_bytes: int | Optional = _UNSET
    response_bytes: int | Optional = _UNSET
    topics: list[str] = []
    groups: list[str] = []
    transactional_ids: list[str] = []
    errors: list[str] = []
    request: Any = _UNSET
    response: Any = _UNSET
    request_hex: str | Optional | None = _UNSET
    response_hex: str | Optional | None = _UNSET


LineView = Annotated[
    dict[str, Any], msgspec.Meta(extra_json_schema={"$ref": "#/components/schemas/RequestView"})
]
"""A line as a dict, which the document describes as a `RequestView`."""
